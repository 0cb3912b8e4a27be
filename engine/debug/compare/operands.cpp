// The operands of a row side by side.
#include <algorithm>

#include "engine/debug/compare/difference_text.h"
#include "engine/debug/describe.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/record/replay/replay.h"
#include "engine/tensor/strings.h"

namespace tapedeck::debug {
namespace {

using protocol::Agreement;
using protocol::ComparedOperand;

constexpr std::int64_t most_shown = 64;

std::string operand_name(const RecordView& record, std::size_t at) {
  if (record.head.kind == EventKind::vjp) return "gradient " + std::to_string(at + 1);
  if (!record.head.op || record.head.kind != EventKind::op || record.head.op->inputs.empty())
    return "input " + std::to_string(at + 1);
  const auto& inputs = record.head.op->inputs;
  const std::size_t place = std::min(at, inputs.size() - 1);
  if (!inputs[place].variadic) return inputs[place].name;
  return inputs[place].name + "[" + std::to_string(at - place) + "]";
}

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
      : comparison_(comparison),
        values_(values),
        tolerance_{request.relative, request.absolute},
        cancel_(cancel) {
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
    for (std::size_t i = 0; i < std::max(left_.inputs.size(), right_.inputs.size()); ++i)
      add(operand_name(named, i), false, at(left_.inputs, i), at(right_.inputs, i));
    Agreement results = has_left && has_right ? Agreement::agree : Agreement::unknown;
    for (std::size_t i = 0; i < std::max(left_.outputs.size(), right_.outputs.size()); ++i) {
      add(result_name(named, i), true, at(left_.outputs, i), at(right_.outputs, i));
      const Agreement one = answer_.operands.back().values;
      if (results == Agreement::agree || one == Agreement::differ) results = one;
    }
    comparison_.set_tolerance(tolerance_);
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
    check_cancelled(cancel_);
    ComparedOperand& operand = answer_.operands.emplace_back();
    operand.role = std::move(role);
    operand.result = result;
    if (left) operand.left = tensor_info(*comparison_.left().recorder, left, true);
    if (right) operand.right = tensor_info(*comparison_.right().recorder, right, true);
    const Tensor l = value(values_.left, left, operand), r = value(values_.right, right, operand);
    if (l) operand.left_text = protocol::if_there(text_of(l));
    if (r) operand.right_text = protocol::if_there(text_of(r));
    if (left == 0 && right == 0) operand.values = Agreement::agree;  // a gradient that is None on both
    if (l && r) measure(l, r, operand);
  }

  Tensor value(const ComparedValues::Find& find, std::uint64_t id, ComparedOperand& operand) const {
    if (id == 0) return {};
    try {
      return find(id);
    } catch (const ValueError& error) {
      operand.problem = error.what();
      return {};
    }
  }

  static std::string text_of(const Tensor& tensor) {
    return tensor.count() <= most_shown ? format_values(tensor, static_cast<int>(most_shown)) : std::string();
  }

  void measure(const Tensor& left, const Tensor& right, ComparedOperand& operand) const {
    const ValueDifference found = compare_values(left, right, tolerance_, cancel_);
    operand.values = found.differs() ? Agreement::differ : Agreement::agree;
    if (!found.comparable) {
      operand.problem = "The shapes or dtypes differ, so elements cannot be compared.";
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

  const Comparison& comparison_;
  const ComparedValues& values_;
  const Tolerance tolerance_;
  const CancelFlag* const cancel_;
  Comparison::Row row_;
  RecordView left_, right_;
  protocol::ComparedOperands answer_;
};

}  // namespace

protocol::ComparedOperands compare_operands(const Comparison& comparison, const ComparedValues& values,
                                            const protocol::CompareOperands& request,
                                            const CancelFlag* cancel) {
  return Operands(comparison, values, request, cancel).run();
}

}  // namespace tapedeck::debug
