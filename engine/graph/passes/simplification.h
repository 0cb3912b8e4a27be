// Calls that give their operand's very bits.
#pragma once

#include "engine/graph/passes/passes.h"

namespace tapedeck::graph {

/// A call whose result has the bits of an earlier value is merged into that: identities, reshapes and casts
/// to what is there, permutations that undo each other, a second negation, functions like abs that change
/// nothing when they are called again, and x · 1, x / 1, x − 0 and x + (−0), for whatever x (NaN, −0), unless
/// subnormal numbers are flushed. Results of the graph stay tensors of their own. What only takes the shape
/// of its operand (ones_like) becomes a constant, where it is small: the operand need not be there.
Passed simplify(const Graph& graph);

}  // namespace tapedeck::graph
