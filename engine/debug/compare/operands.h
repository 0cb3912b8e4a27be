// A tensor of the left side beside one of the right.
#pragma once

#include "engine/debug/compare/first_difference.h"

namespace tapedeck::debug {

/// Both tensors (0: there is none), their texts, and how far they are apart; why that is not known in
/// `problem`. The axes of a port's may have another order. Throws Cancelled.
void fill_operand(const Comparison& comparison, const ComparedValues& values, std::uint64_t left,
                  std::uint64_t right, const Tolerance& tolerance, const CancelFlag* cancel,
                  protocol::ComparedOperand& operand);

/// Which of a port's inputs are the same, by place: the right one of each left one, by extents in any order;
/// then those that are left over. no_layer: none.
std::vector<std::pair<std::size_t, std::size_t>> paired_inputs(const Comparison& comparison,
                                                               const TensorIds& left, const TensorIds& right);

}  // namespace tapedeck::debug
