// Which nodes a fused loop can compute, and how.
#pragma once

#include <optional>
#include <vector>

#include "engine/cpu/loops/fused.h"
#include "engine/graph/graph.h"

namespace tapedeck::graph {

/// How a node is computed in a fused loop, element by element.
struct FusedOp {
  enum class Kind : std::uint8_t {
    call,       ///< of one function
    add_all,    ///< the sum of all inputs, from the first to the last
    passed_on,  ///< the input, under another shape at most
    reduction
  };
  Kind kind = Kind::call;
  cpu::FusedCall call;              ///< without its values
  std::optional<double> parameter;  ///< the call's last operand, of an attribute
  kernels::Reduction reduction{};
  bool divides = false;  ///< reduction: by the number of elements, as means do
  std::int64_t row = 0;  ///< reduction: so many consecutive elements
};

/// Nothing where a fused loop would not do what the op does with these inputs, bit for bit.
std::optional<FusedOp> fused_op(const Graph& graph, const Node& node);

/// The order of an operand's elements in a tensor of `shape`: element i of that is i / inner % extent of the
/// operand.
struct Repetition {
  std::int64_t inner = 1, extent = 1;
};
/// Nothing where they are in another order. `strides`: the operand's along the axes of `shape`, 0 where it is
/// repeated.
std::optional<Repetition> repetition_of(const Shape& shape, const Strides& strides);

/// The same shape's strides where the operand is row-major.
Strides row_major_strides(const Shape& operand, const Shape& shape);

}  // namespace tapedeck::graph
