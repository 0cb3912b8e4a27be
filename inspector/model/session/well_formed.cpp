#include "inspector/model/session/well_formed.h"

#include <algorithm>

namespace tapedeck::inspector {

namespace {

template <class First, class... Rest>
bool sameLength(const First& first, const Rest&... rest) {
  return ((rest.size() == first.size()) && ...);
}

}  // namespace

bool wellFormed(const protocol::ProfileTrack& track) {
  return std::ranges::all_of(track.lanes, [&](const protocol::ProfileLane& lane) {
    return sameLength(lane.starts, lane.ends, lane.busy, lane.records, lane.counts, lane.names) &&
           std::ranges::all_of(lane.names, [&](std::uint64_t name) { return name < track.names.size(); });
  });
}

bool wellFormed(const protocol::ProfileFlame& flame) {
  for (std::size_t i = 1; i < flame.nodes.size(); ++i)
    if (flame.nodes[i].parent >= i) return false;
  return true;
}

bool wellFormed(const protocol::ProfileSteps& steps) {
  return sameLength(steps.starts, steps.ends, steps.durations, steps.python, steps.records, steps.numbers) &&
         std::ranges::all_of(steps.slowest, [&](std::uint64_t place) { return place < steps.starts.size(); });
}

bool wellFormed(const protocol::MemoryCurve& curve) {
  return sameLength(curve.records, curve.variables, curve.tapes, curve.program, curve.recorder);
}

bool wellFormed(const protocol::HealthCurve& curve) {
  return sameLength(curve.steps, curve.values, curve.records);
}

}  // namespace tapedeck::inspector
