// What made the tensors of two aligned runs.
#pragma once

#include "engine/debug/compare/comparison.h"

namespace tapedeck::debug {

/// A tensor of the left side and the one that has its place on the right.
struct IdPair {
  std::uint64_t left = 0, right = 0;
  auto operator<=>(const IdPair&) const = default;
};

/// The records that made both, also through the assignment to a variable; 0: none.
IdPair origins(const Comparison& comparison, const IdPair& tensors);

/// The row whose ops made both; nothing: data, a variable from before the runs, or ops that are not paired.
std::optional<std::size_t> common_row(const Comparison& comparison, const IdPair& records);

}  // namespace tapedeck::debug
