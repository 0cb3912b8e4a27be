// A tensor of the left side beside one of the right.
#pragma once

#include "engine/debug/compare/first_difference.h"

namespace tapedeck::debug {

/// The values of one question about a comparison, and what counts as a difference. Sets the comparison's
/// tolerance.
class ValuePairs {
 public:
  template <typename Request>  // with `relative` and `absolute`
  ValuePairs(const Comparison& comparison, const ComparedValues& values, const Request& request,
             const CancelFlag* cancel)
      : ValuePairs(comparison, values, Tolerance{request.relative, request.absolute}, cancel) {}
  ValuePairs(const Comparison& comparison, const ComparedValues& values, const Tolerance& tolerance,
             const CancelFlag* cancel);

  const Comparison& comparison() const { return comparison_; }
  const ComparedValues& values() const { return values_; }
  const Trace& trace(bool right) const;
  void check_cancelled() const { tapedeck::check_cancelled(cancel_); }
  /// Of two values; throws ValueError, Cancelled.
  ValueDifference compare(const Tensor& left, const Tensor& right) const;
  /// Both tensors (0: there is none), their texts, and how far they are apart; why that is not known in
  /// `problem`. The axes of a port's may have another order. Throws Cancelled.
  void fill(std::uint64_t left, std::uint64_t right, protocol::ComparedOperand& operand) const;

 private:
  const Comparison& comparison_;
  const ComparedValues& values_;
  const Tolerance tolerance_;
  const CancelFlag* const cancel_;
};

/// The op's own name of an input: "a", "inputs[2]".
std::string operand_name(const RecordView& record, std::size_t at);

/// Which of a port's inputs are the same, by place: the right one of each left one, by extents in any order;
/// then those that are left over. no_layer: none.
std::vector<std::pair<std::size_t, std::size_t>> paired_inputs(const Comparison& comparison,
                                                               const TensorIds& left, const TensorIds& right);

}  // namespace tapedeck::debug
