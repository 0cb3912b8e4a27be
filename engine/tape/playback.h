// Runs a tape backwards.
#pragma once

#include "engine/tape/tape_state.h"

namespace tapedeck::detail {

/// The arguments of Tape::gradient.
struct GradientRequest {
  std::span<const Tensor> targets;
  std::span<const Tape::Source> sources;
  std::span<const Tensor> output_gradients;
  Unconnected unconnected = Unconnected::none;
  std::vector<Tape::RowGradient>* rows = nullptr;  ///< one per source; nullptr: not wanted
  /// Of each source: a gradient to add to, undefined for none; empty: none at all.
  std::span<const Tensor> sums = {};
};

/// Throws FailedPreconditionError where the tape, which is not persistent, was played before.
void check_not_used_up(const Tape::State& tape);

/// See Tape::gradient. The caller keeps the state alive.
Tensors play_back(Tape::State& tape, const GradientRequest& request);

}  // namespace tapedeck::detail
