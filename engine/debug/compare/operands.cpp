// The operands of a row side by side.
#include "engine/debug/compare/operands.h"

#include <algorithm>

#include "engine/debug/compare/difference_text.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/describe.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/tensor/strings.h"

namespace tapedeck::debug {
namespace {

using protocol::Agreement;
using protocol::ComparedOperand;

constexpr std::int64_t most_shown = 64;

std::string result_name(const RecordView& record, std::size_t at) {
  if (record.head.op && record.head.kind == EventKind::op && at < record.head.op->results.fields.size())
    return record.head.op->results.fields[at];
  return record.outputs.size() == 1 ? "result" : "result " + std::to_string(at + 1);
}

std::string text_at(const Tensor& tensor, std::int64_t place) {
  if (tensor.dtype() == DType::string)
    return bytes_literal(strings_of(tensor)[static_cast<std::size_t>(place)], 40);
  if (tensor.count() == 1) return preview(tensor);
  return has_partial_support(tensor.dtype()) ? std::string() : element_text(tensor, place);
}

class Operands {
 public:
  Operands(const Comparison& comparison, const ComparedValues& values,
           const protocol::CompareOperands& request, const CancelFlag* cancel)
      : pairs_(comparison, values, request, cancel), comparison_(comparison) {
    answer_.comparison = request.comparison;
    answer_.row = request.row;
    if (request.row >= comparison.rows().size())
      throw BadRequest("compare_operands: there is no row " + std::to_string(request.row) + ", there are " +
                       std::to_string(comparison.rows().size()));
    row_ = comparison.rows()[request.row];
  }

  protocol::ComparedOperands run() {
    const bool has_left = row_.left && comparison_.left().recorder->trace().read(row_.left, left_);
    const bool has_right = row_.right && comparison_.right().recorder->trace().read(row_.right, right_);
    if (!has_left && !has_right) return std::move(answer_);
    const RecordView& named = has_left ? left_ : right_;
    if (comparison_.port() && has_left && has_right) {
      for (const auto& [l, r] : paired_inputs(comparison_, left_.inputs, right_.inputs))
        add(l == no_layer ? operand_name(right_, r) : operand_name(left_, l), false, at(left_.inputs, l),
            at(right_.inputs, r));
    } else {
      for (std::size_t i = 0; i < std::max(left_.inputs.size(), right_.inputs.size()); ++i)
        add(operand_name(named, i), false, at(left_.inputs, i), at(right_.inputs, i));
    }
    Agreement results = has_left && has_right ? Agreement::agree : Agreement::unknown;
    for (std::size_t i = 0; i < std::max(left_.outputs.size(), right_.outputs.size()); ++i) {
      add(result_name(named, i), true, at(left_.outputs, i), at(right_.outputs, i));
      const Agreement one = answer_.operands.back().values;
      if (results == Agreement::agree || one == Agreement::differ) results = one;
    }
    if (has_left && has_right && !left_.outputs.empty())
      comparison_.note(static_cast<std::size_t>(answer_.row), results);
    answer_.attributes = DifferenceText(comparison_, {}).attributes(row_);
    return std::move(answer_);
  }

 private:
  static std::uint64_t at(const TensorIds& ids, std::size_t place) {
    return place < ids.size() ? ids[place] : 0;
  }

  void add(std::string role, bool result, std::uint64_t left, std::uint64_t right) {
    pairs_.check_cancelled();
    ComparedOperand& operand = answer_.operands.emplace_back();
    operand.role = std::move(role);
    operand.result = result;
    pairs_.fill(left, right, operand);
  }

  const ValuePairs pairs_;
  const Comparison& comparison_;
  Comparison::Row row_;
  RecordView left_, right_;
  protocol::ComparedOperands answer_;
};

Tensor value_of(const ComparedValues::Find& find, std::uint64_t id, ComparedOperand& operand) {
  if (id == 0) return {};
  try {
    return find(id);
  } catch (const ValueError& error) {
    operand.problem = error.what();
    return {};
  }
}

std::string text_of(const Tensor& tensor) {
  return tensor.count() <= most_shown ? format_values(tensor, static_cast<int>(most_shown)) : std::string();
}

void note_difference(const Tensor& left, const Tensor& right, const ValueDifference& found,
                     ComparedOperand& operand) {
  operand.values = found.differs() ? Agreement::differ : Agreement::agree;
  if (!found.comparable) {
    operand.problem = left.shape() == right.shape()
                          ? "One side is text and the other numbers, so elements cannot be compared."
                          : "The shapes differ, so elements cannot be compared: " + to_string(left.shape()) +
                                " | " + to_string(right.shape()) + ".";
    return;
  }
  operand.count = found.count;
  operand.differing = found.differing;
  operand.max_absolute = found.max_absolute;
  operand.max_relative = found.max_relative;
  if (found.place < 0) return;
  operand.element = index_of(left.shape(), found.place);
  operand.left_value = protocol::if_there(text_at(left, found.place));
  operand.right_value = protocol::if_there(text_at(right, found.place));
}

}  // namespace

std::string operand_name(const RecordView& record, std::size_t at) {
  if (record.head.kind == EventKind::vjp) return "gradient " + std::to_string(at + 1);
  if (!record.head.op || record.head.kind != EventKind::op || record.head.op->inputs.empty())
    return "input " + std::to_string(at + 1);
  const auto& inputs = record.head.op->inputs;
  const std::size_t place = std::min(at, inputs.size() - 1);
  if (!inputs[place].variadic) return inputs[place].name;
  return inputs[place].name + "[" + std::to_string(at - place) + "]";
}

ValuePairs::ValuePairs(const Comparison& comparison, const ComparedValues& values, const Tolerance& tolerance,
                       const CancelFlag* cancel)
    : comparison_(comparison), values_(values), tolerance_(tolerance), cancel_(cancel) {
  comparison.set_tolerance(tolerance);
}

const Trace& ValuePairs::trace(bool right) const {
  return (right ? comparison_.right() : comparison_.left()).recorder->trace();
}

ValueDifference ValuePairs::compare(const Tensor& left, const Tensor& right) const {
  return compare_values(left, right, tolerance_, cancel_);
}

void ValuePairs::fill(std::uint64_t left, std::uint64_t right, ComparedOperand& operand) const {
  if (left) operand.left = tensor_info(*comparison_.left().recorder, left, true);
  if (right) operand.right = tensor_info(*comparison_.right().recorder, right, true);
  const Tensor l = value_of(values_.left, left, operand), r = value_of(values_.right, right, operand);
  if (l) operand.left_text = protocol::if_there(text_of(l));
  if (r) operand.right_text = protocol::if_there(text_of(r));
  if (left == 0 && right == 0) operand.values = Agreement::agree;  // a gradient that is None on both
  if (!l || !r) return;
  if (comparison_.contents(left, right) != Contents::written) {
    operand.problem = "Memory that was not written, or not all of it, has no value that could be compared.";
    return;
  }
  if (!comparison_.port()) return note_difference(l, r, compare(l, r), operand);
  const bool any_axes = comparison_.port()->other_orders(left, right);
  const LaidOutDifference found =
      compare_layouts(l, r, tolerance_, any_axes ? EqualShapes::any_axes : EqualShapes::same_axes, cancel_);
  const std::string agreeing = found.agreeing.text();
  operand.layout = protocol::if_there(agreeing.empty() ? found.layout.text() : "equal " + agreeing);
  note_difference(found.left, r, found.values, operand);
}

std::vector<std::pair<std::size_t, std::size_t>> paired_inputs(const Comparison& comparison,
                                                               const TensorIds& left,
                                                               const TensorIds& right) {
  const auto extents = [](const Side& side, std::uint64_t id) {
    const std::uint32_t spec = id ? side.recorder->trace().tensors().get(id).spec() : 0;
    return spec ? unordered_extents(spec_of(spec).shape) : std::vector<std::int64_t>{-1};
  };
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  std::vector<bool> taken(right.size());
  for (std::size_t l = 0; l < left.size(); ++l) {
    const auto wanted = extents(comparison.left(), left[l]);
    std::size_t found = no_layer;
    for (std::size_t r = 0; r < right.size() && found == no_layer; ++r)
      if (!taken[r] && extents(comparison.right(), right[r]) == wanted) found = r;
    if (found != no_layer) taken[found] = true;
    pairs.emplace_back(l, found);
  }
  for (std::size_t r = 0; r < right.size(); ++r)
    if (!taken[r]) pairs.emplace_back(no_layer, r);
  return pairs;
}

protocol::ComparedOperands compare_operands(const Comparison& comparison, const ComparedValues& values,
                                            const protocol::CompareOperands& request,
                                            const CancelFlag* cancel) {
  return Operands(comparison, values, request, cancel).run();
}

}  // namespace tapedeck::debug
