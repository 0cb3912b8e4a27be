#include "engine/debug/past_change.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

[[noreturn]] void refuse_change(const std::string& reason) {
  throw BadRequest("make_branch: " + reason);
}

double only_number(const protocol::PastChange& change) {
  if (change.numbers.size() != 1)
    refuse_change("this change takes one number, " + std::to_string(change.numbers.size()) + " were given");
  return change.numbers[0];
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}

/// "[1, 2]", "(1, 2)", "3", "[]".
std::optional<std::vector<std::int64_t>> whole_numbers(std::string text) {
  if (text.empty()) return std::nullopt;
  std::erase_if(text, [](char c) { return c == ' ' || c == '[' || c == ']' || c == '(' || c == ')'; });
  if (text.ends_with(',')) text.pop_back();  // a tuple of one: (3,)
  std::vector<std::int64_t> numbers;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    const auto number = number_in<std::int64_t>(std::string_view(text).substr(at, comma - at));
    if (!number) return std::nullopt;
    numbers.push_back(*number);
    at = comma + 1;
  }
  return numbers;
}

std::string unquoted(const std::string& text) {
  const bool quoted =
      text.size() >= 2 && (text.front() == '\'' || text.front() == '"') && text.back() == text.front();
  return quoted ? text.substr(1, text.size() - 2) : text;
}

template <class Value>
std::optional<Attribute> attribute_in(std::optional<Value> value) {
  return value ? std::optional<Attribute>(std::move(*value)) : std::nullopt;
}

std::optional<Attribute> parsed(AttributeKind kind, const std::string& text) {
  switch (kind) {
    case AttributeKind::boolean:
      return text == "True" || text == "False" ? std::optional<Attribute>(text == "True") : std::nullopt;
    case AttributeKind::integer:
      return attribute_in(number_in<std::int64_t>(text));
    case AttributeKind::real:
      return attribute_in(number_in<double>(text));
    case AttributeKind::dtype: {
      const std::string name = unquoted(text);
      return attribute_in(dtype_from_name(name.starts_with("tf.")      ? name.substr(3)
                                          : name.starts_with("torch.") ? name.substr(6)
                                                                       : name));
    }
    case AttributeKind::integers:
    case AttributeKind::shape:
      return attribute_in(whole_numbers(text));
    case AttributeKind::text:
      break;
  }
  return Attribute(unquoted(text));
}

const char* expected(AttributeKind kind) {
  switch (kind) {
    case AttributeKind::boolean:
      return "True or False";
    case AttributeKind::integer:
      return "an integer";
    case AttributeKind::real:
      return "a number";
    case AttributeKind::dtype:
      return "a dtype, such as float32";
    case AttributeKind::integers:
    case AttributeKind::shape:
      return "integers, such as [2, 3]";
    case AttributeKind::text:
      break;
  }
  return "a text";
}

RecordView op_at(const Recorder& recorder, std::uint64_t number) {
  RecordView record;
  if (number == 0 || number > recorder.trace().newest() ||
      !recorder.trace().read(static_cast<std::uint32_t>(number), record) || !record.head.op ||
      record.head.kind != EventKind::op)
    refuse_change("there is no op " + std::to_string(number));
  return record;
}

void set_attribute(const RecordView& record, const std::string& name, const std::string& text,
                   Change& change) {
  const std::vector<AttributeSpec>& specs = record.head.op->attributes;
  const auto found = std::ranges::find(specs, name, &AttributeSpec::name);
  const auto at = static_cast<std::size_t>(found - specs.begin());
  if (at >= std::min(specs.size(), record.head.attributes.size()))
    refuse_change(record.name() + " has no attribute '" + name + "'");
  const auto is_none = [](const Attribute& value) { return std::holds_alternative<std::monostate>(value); };
  change.attribute = at;
  if (text == "None" && (is_none(record.head.attributes[at]) || is_none(found->fallback))) return;
  const AttributeKind kind = kind_of(*record.head.op, at, text);
  const auto value = text == "None" ? std::nullopt : parsed(kind, text);
  if (!value)
    refuse_change("'" + text + "' is not a valid value for the attribute " + name + " of " + record.name() +
                  ", which takes " + expected(kind));
  change.setting = *value;
}

void check_number(double number, DType dtype, const std::string& of) {
  if (is_differentiable(dtype)) return;  // of a complex number the real part
  if (dtype == DType::string) refuse_change(of + " has dtype string, which has no numeric value");
  const auto [lowest, highest] =
      dtype == DType::bool_ ? std::pair<std::int64_t, std::int64_t>{0, 1} : integer_limits(dtype);
  if (number == std::trunc(number) && number >= static_cast<double>(lowest) &&
      number <= static_cast<double>(highest))
    return;
  refuse_change(short_number(number) + " is not a valid value for " + of);
}

Tensor tensor_of(const RecordedSpec& spec, const std::vector<double>& numbers) {
  const auto count = static_cast<std::size_t>(element_count(spec.shape));
  if (numbers.size() != 1 && numbers.size() != count)
    refuse_change("a tensor of shape " + to_string(spec.shape) + " takes " + std::to_string(count) +
                  " numbers, or one for all, " + std::to_string(numbers.size()) + " were given");
  const std::vector<double> all = numbers.size() == count ? numbers : std::vector<double>(count, numbers[0]);
  return ops::cast(Tensor::from_values<double>(all, spec.shape), spec.dtype);
}

Change change_of_tensor(const Recorder& recorder, const protocol::PastChange& asked) {
  Change change;
  const std::uint64_t tensor = asked.tensor.value_or(0);
  change.tensor = tensor;
  const TensorOrigin origin = recorder.trace().tensors().get(tensor);
  if (!origin.known()) refuse_change("no record mentions a tensor " + std::to_string(tensor));
  const RecordedSpec spec = spec_of(origin.spec());
  for (const double number : asked.numbers) check_number(number, spec.dtype, tensor_text(recorder, tensor));
  if (asked.kind == protocol::ChangeKind::value) {
    change.value = tensor_of(spec, asked.numbers);
    return change;
  }
  change.kind = Change::Kind::element;
  change.place = place_of(spec.shape, asked.element.value_or(std::vector<std::int64_t>()));
  change.number = only_number(asked);
  return change;
}

}  // namespace

// Of PyTorch's op only the schema knows: "int[2]?".
AttributeKind kind_of(const OpDef& op, std::size_t attribute, const std::string& text) {
  const ForeignOp* foreign = foreign_of(op);
  if (!foreign) return op.attributes[attribute].kind;
  for (const ForeignValue& argument : foreign->arguments) {
    if (argument.is_tensor || argument.place != attribute) continue;
    const std::string type = argument.type.substr(0, argument.type.find_first_of("?["));
    const bool is_list = argument.type.find('[') != std::string::npos;
    if (type == "int" || type == "SymInt") return is_list ? AttributeKind::integers : AttributeKind::integer;
    if (type == "bool" && !is_list) return AttributeKind::boolean;
    if (type == "float" && !is_list) return AttributeKind::real;
    if (type == "ScalarType") return AttributeKind::dtype;
    if (type == "Scalar" && !is_list)
      return text == "True" || text == "False" ? AttributeKind::boolean
             : number_in<std::int64_t>(text)   ? AttributeKind::integer
                                               : AttributeKind::real;
  }
  return AttributeKind::text;
}

Change change_of(const Recorder& recorder, const protocol::PastChange& asked) {
  using protocol::ChangeKind;
  if (asked.kind == ChangeKind::value || asked.kind == ChangeKind::element)
    return change_of_tensor(recorder, asked);
  Change change;
  const RecordView record = op_at(recorder, asked.record.value_or(0));
  change.record = record.number;
  change.kind = Change::Kind::instead;
  if (asked.kind == ChangeKind::attribute) {
    change.kind = Change::Kind::attribute;
    set_attribute(record, asked.attribute.value_or(""), asked.text.value_or(""), change);
    return change;
  }
  if (asked.result) change.result = static_cast<std::size_t>(*asked.result);
  if (asked.kind == ChangeKind::zero) {
    change.instead = Instead::zero;
  } else if (asked.kind == ChangeKind::scale || asked.kind == ChangeKind::clip) {
    change.instead = asked.kind == ChangeKind::scale ? Instead::scale : Instead::clip;
    change.amount = only_number(asked);
    if (asked.kind == ChangeKind::clip && !(change.amount >= 0))
      refuse_change("a result is clipped to plus and minus a number of at least 0, not to " +
                    short_number(change.amount));
  }
  return change;
}

}  // namespace tapedeck::debug
