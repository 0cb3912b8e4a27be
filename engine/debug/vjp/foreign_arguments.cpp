#include "engine/debug/vjp/foreign_arguments.h"

#include <algorithm>

#include "engine/ops/core/ops.h"

namespace tapedeck::debug {
ForeignArguments::ForeignArguments(const ForeignOp& op, const Attributes& attributes,
                                   std::span<const Tensor> inputs, std::span<const Tensor> outputs)
    : op_(op), attributes_(attributes), inputs_(inputs), outputs_(outputs) {}

const ForeignValue* ForeignArguments::find(std::string_view name) const {
  const auto found = std::ranges::find(op_.arguments, name, &ForeignValue::name);
  return found == op_.arguments.end() ? nullptr : &*found;
}

std::pair<std::size_t, std::size_t> ForeignArguments::places(const ForeignValue& wanted) const {
  std::size_t at = 0, list = 0;
  for (const ForeignValue& argument : op_.arguments) {
    if (!argument.is_tensor) continue;
    std::size_t count = 1;
    if (argument.is_list) {
      const std::size_t place = op_.row->attributes.size() + 1 + list++;
      const auto* length =
          place < attributes_.size() ? std::get_if<std::int64_t>(&attributes_[place]) : nullptr;
      if (!length) throw NoFormula{"the length of its list " + argument.name + " is not known"};
      count = static_cast<std::size_t>(std::max<std::int64_t>(*length, 0));
    }
    if (at + count > inputs_.size()) throw NoFormula{"it has other inputs than its schema says"};
    if (&argument == &wanted) return {at, count};
    at += count;
  }
  throw NoFormula{"it has no tensor " + wanted.name};
}

bool ForeignArguments::takes_tensor(std::string_view name) const {
  const ForeignValue* argument = find(name);
  return argument && argument->is_tensor;
}

bool ForeignArguments::is_none(std::string_view name) const {
  const ForeignValue* argument = find(name);
  if (!argument) return true;
  if (!argument->is_tensor) return std::holds_alternative<std::monostate>(attribute(name));
  const auto [first, count] = places(*argument);
  return count == 0 || (!argument->is_list && !inputs_[first]);
}

const Tensor& ForeignArguments::tensor(std::string_view name) const {
  const ForeignValue* argument = find(name);
  if (!argument || !argument->is_tensor || argument->is_list)
    throw NoFormula{"it has no tensor " + std::string(name)};
  const Tensor& found = inputs_[places(*argument).first];
  if (!found) throw NoFormula{"it ran without " + std::string(name) + ", or its value is lost"};
  return found;
}

Tensors ForeignArguments::tensors(std::string_view name) const {
  const ForeignValue* argument = find(name);
  if (!argument || !argument->is_list) throw NoFormula{"it has no list " + std::string(name)};
  const auto [first, count] = places(*argument);
  Tensors list;
  for (std::size_t i = 0; i < count; ++i) list.push_back(inputs_[first + i]);
  return list;
}

Tensor ForeignArguments::operand(std::string_view name) const {
  const ForeignValue* argument = find(name);
  if (argument && !argument->is_tensor) return Tensor::scalar(number(name), dtype());
  const Tensor& found = tensor(name);
  return found.dtype() == dtype() ? found : ops::cast(found, dtype());
}

const Attribute& ForeignArguments::attribute(std::string_view name) const {
  const ForeignValue* argument = find(name);
  if (!argument || argument->is_tensor || argument->place >= attributes_.size())
    throw NoFormula{"it has no argument " + std::string(name)};
  return attributes_[argument->place];
}

double ForeignArguments::number(std::string_view name) const {
  const Attribute& value = attribute(name);
  if (const auto* real = std::get_if<double>(&value)) return *real;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? 1 : 0;
  throw NoFormula{"its " + std::string(name) + " = " + to_string(value) + " is not a number"};
}

double ForeignArguments::number_or(std::string_view name, double other) const {
  return is_none(name) ? other : number(name);
}

std::int64_t ForeignArguments::integer(std::string_view name) const {
  const Attribute& value = attribute(name);
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole;
  throw NoFormula{"its " + std::string(name) + " = " + to_string(value) + " is not an integer"};
}

std::int64_t ForeignArguments::integer_or(std::string_view name, std::int64_t other) const {
  return is_none(name) ? other : integer(name);
}

std::vector<std::int64_t> ForeignArguments::integers(std::string_view name) const {
  if (is_none(name)) return {};
  const Attribute& value = attribute(name);
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return *list;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return {*whole};
  throw NoFormula{"its " + std::string(name) + " = " + to_string(value) + " is not a list of integers"};
}

bool ForeignArguments::flag(std::string_view name) const {
  const Attribute& value = attribute(name);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  throw NoFormula{"its " + std::string(name) + " = " + to_string(value) + " is not True or False"};
}

bool ForeignArguments::flag_or(std::string_view name, bool other) const {
  return is_none(name) ? other : flag(name);
}

std::string ForeignArguments::text_or(std::string_view name, const std::string& other) const {
  if (is_none(name)) return other;
  const auto* text = std::get_if<std::string>(&attribute(name));
  return text ? *text : other;
}

const Tensor& ForeignArguments::output(std::size_t place) const {
  if (place >= outputs_.size() || !outputs_[place])
    throw NoFormula{"its result " + std::to_string(place) + " is lost"};
  return outputs_[place];
}

std::int64_t ForeignArguments::axis_of(std::int64_t axis, int rank) {
  const std::int64_t found = axis < 0 ? axis + std::max(rank, 1) : axis;
  if (found < 0 || found >= std::max(rank, 1))
    throw NoFormula{"its axis " + std::to_string(axis) + " is none of " + std::to_string(rank)};
  return found;
}

}  // namespace tapedeck::debug
