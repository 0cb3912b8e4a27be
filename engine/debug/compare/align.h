// Aligns two sequences of ops: which op of one corresponds to which of the other. A pure function of the ops;
// values are not compared.
//
// Ops that are called alike (name, scope, nesting, direction, thread) may be paired; attributes, shapes and
// lines decide where several pairings are as short. A program's loop that makes more turns, an op that is
// missing or was put in, a cell whose lines moved: all of them leave the rest paired.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/record/cancel.h"

namespace tapedeck::debug {

/// What is compared of an op: hashes.
struct OpKey {
  std::uint64_t place = 0;                              ///< what paired ops share
  static constexpr std::uint32_t unknown = UINT32_MAX;  ///< alike, whatever the other side's are
  std::uint32_t attributes = 0, shapes = 0;
  std::uint32_t line = 0;
};

constexpr std::uint32_t no_op = UINT32_MAX;

/// Positions in the two sequences; no_op: only the other side has it.
struct Alignment {
  std::uint32_t left = no_op, right = no_op;
  bool paired() const { return left != no_op && right != no_op; }
  bool operator==(const Alignment&) const = default;
};

struct AlignLimits {
  /// Steps of the search for the shortest way, for all parts together: about 2 ns each. Where it would take
  /// more, the way is shortest only from stage to stage.
  std::uint64_t steps = 300'000'000;
};

/// Called now and then: the number of ops that are paired or left over by now, of both sides.
using AlignProgress = std::function<void(std::uint64_t done)>;

/// Every op of both sides once, in order. Between two pairs, ops of the left side alone come first.
/// Time and memory grow with the length alone, whatever the sequences are. Throws Cancelled.
std::vector<Alignment> align(std::span<const OpKey> left, std::span<const OpKey> right,
                             const CancelFlag* cancel = nullptr, const AlignProgress& progress = {},
                             const AlignLimits& limits = {});

}  // namespace tapedeck::debug
