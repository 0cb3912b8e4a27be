// Where two aligned runs first differ in their values.
#pragma once

#include <functional>

#include "engine/debug/compare/comparison.h"

namespace tapedeck::debug {

/// Functions that return the values of both sides; each throws ValueError and Cancelled.
struct ComparedValues {
  using Find = std::function<Tensor(std::uint64_t tensor)>;
  Find left, right;
  /// Of a branch beside its original: whether the tensor may be another one. Empty: any may.
  std::function<bool(std::uint64_t tensor)> may_differ;
};

/// Bisects over the paired ops: at each place a few of them, ever farther apart, because some agree whatever
/// happened before (shapes, constants, batches). From the one that is found it goes back along the data, from
/// results that differ to an input that differs and to what made that, until an op's inputs agree, or nothing
/// recorded made the input. Looks at some ten rows for each halving, and one for each step back. Then it
/// compares what comes in before that row: data, constants, variables from before, results of ops that are
/// not paired. The first of these that differs is the answer. Throws Cancelled.
protocol::FirstDifference first_difference(const Comparison& comparison, const ComparedValues& values,
                                           const protocol::FindFirstDifference& request,
                                           const CancelFlag* cancel, const Jobs::Report& report);

/// The operands of a row side by side; a lost value has its reason.
protocol::ComparedOperands compare_operands(const Comparison& comparison, const ComparedValues& values,
                                            const protocol::CompareOperands& request,
                                            const CancelFlag* cancel);

}  // namespace tapedeck::debug
