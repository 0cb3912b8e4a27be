// The curves of both sides.
#pragma once

#include "engine/debug/compare/side.h"
#include "engine/protocol/compare.h"

namespace tapedeck::debug {

/// What the sides' records added to curves; curves of one name are adjacent, and where only one side has a
/// name, "cell 3: loss" and "cell 4: loss" do. Of one with more than `points` points the extremes of equal
/// parts.
std::vector<protocol::ComparedCurve> compare_curves(const Side& left, const Side& right, std::size_t points);

}  // namespace tapedeck::debug
