// Which element of the other operand a term of a bilinear op's gradient is multiplied with.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/debug/vjp/vjp_call.h"

namespace tapedeck::debug {

using Index = std::vector<std::int64_t>;

struct OperandPlace {
  std::size_t input = 0;  ///< the other operand
  Index index;
};

/// Of matmul, einsum, conv2d and depthwise_conv2d_native with two operands, and of PyTorch's products of
/// matrices and convolutions. `own`: the element of input `input` that the gradient goes to; `j`: the element
/// of the cotangent. Nothing for another op, or where there is none. It is a place that the caller checks:
/// the value there must be the term's factor.
std::optional<OperandPlace> operand_place(const VjpCall& call, std::size_t input, const Index& own,
                                          const Index& j);

}  // namespace tapedeck::debug
