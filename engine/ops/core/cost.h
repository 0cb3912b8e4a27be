// The minimum cost of a call of an op: the rules that registry rows name, and how a call's cost is computed.
//
// A multiplication and an addition are two operations; a function of one element (exp, a comparison, a root)
// is one, as in TensorFlow's profiler (tensorflow/python/profiler/internal/flops_registry.py). Bytes are
// those that must cross the memory bus once: each input read, each output written. Products of matrices and
// decompositions: G. H. Golub, C. F. Van Loan, "Matrix Computations", 4th edition, 2013, tables 5.5.1, 8.6.1
// and the algorithms named at each; matrix functions: N. J. Higham, "Functions of Matrices", 2008; fast
// Fourier transforms: 5·n·log₂ n, as FFTW's benchmarks count them.
#pragma once

#include <string_view>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// The call's cost by its op's rule; without a rule, one operation per element of the largest operand. Always
/// finite and not negative.
OpCost cost_of(const CostContext& call);

namespace cost {

double count(const TensorSpec& spec);
double bytes(const TensorSpec& spec);
double traffic(const CostContext& call);  ///< bytes of all inputs and outputs
/// 4 for complex products, which are four real ones; else 1.
double real_products(const TensorSpec& spec);

/// The attribute of that name; nullptr if the op or the call has none.
const Attribute* attribute(const CostContext& call, AttributeName name);
bool flag(const CostContext& call, AttributeName name);
std::int64_t integer(const CostContext& call, AttributeName name, std::int64_t fallback);

/// A batch of matrices: the last two axes, and how many.
struct Stack {
  double rows = 0, columns = 0, matrices = 0;
};
Stack stack(const TensorSpec& spec);

// ---- rules
template <int operations>
OpCost per_output(const CostContext& c) {
  return {operations * (c.outputs.empty() ? 0 : count(c.outputs[0])), traffic(c)};
}
template <int operations, int input = 0>
OpCost per_input(const CostContext& c) {
  return {operations * (c.inputs.size() <= input ? 0 : count(c.inputs[input])), traffic(c)};
}
/// Moves elements.
OpCost moves(const CostContext& call);
/// Reads only as much of the first input as it outputs (gather).
OpCost picks(const CostContext& call);
/// The result is a view of the input.
OpCost view(const CostContext& call);
/// Sums of several tensors.
OpCost sums_all(const CostContext& call);
/// One operation for each element of each input.
OpCost per_all_inputs(const CostContext& call);

}  // namespace cost
}  // namespace tapedeck
