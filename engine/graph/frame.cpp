#include "engine/graph/frame.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tapedeck::graph {
namespace {

/// Empty ones; a few, as functions call functions.
std::vector<std::vector<Tensor>>& spare_frames() {
  static thread_local std::vector<std::vector<Tensor>> spare;
  return spare;
}

constexpr std::size_t most_spare_frames = 8;
constexpr std::size_t most_spare_slots = 1 << 16;

}  // namespace

Layout::Layout(const Graph& graph, std::span<const FusedChain> chains) {
  for (const Node& node : graph.nodes) {
    NodeSlots step;
    step.first_result = slot_count;
    step.results = static_cast<std::uint32_t>(node.results.size());
    slot_count += step.results;
    step.first_input = static_cast<std::uint32_t>(input_slots.size());
    step.inputs = static_cast<std::uint32_t>(node.inputs.size());
    steps.push_back(step);
    for (const Value input : node.inputs) input_slots.push_back(slot_of(input));
  }
  for (const Value result : graph.results) result_slots.push_back(slot_of(result));

  constexpr std::uint32_t never = std::numeric_limits<std::uint32_t>::max();
  std::vector<std::uint32_t> runs_at(steps.size());
  std::iota(runs_at.begin(), runs_at.end(), 0U);
  for (const FusedChain& chain : chains)
    for (const std::int32_t node : chain.nodes)
      runs_at[static_cast<std::size_t>(node)] = static_cast<std::uint32_t>(chain.nodes.back());
  std::vector<std::uint32_t> last_reader(slot_count, never);
  const auto is_read = [&](std::uint32_t slot, std::uint32_t at) {
    last_reader[slot] = last_reader[slot] == never ? at : std::max(last_reader[slot], at);
  };
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const NodeSlots& step = steps[i];
    // What nothing reads goes at once.
    for (std::uint32_t result = 0; result < step.results; ++result)
      is_read(step.first_result + result, runs_at[i]);
    for (const std::uint32_t slot : inputs_of(step)) is_read(slot, runs_at[i]);
  }
  for (const std::uint32_t slot : result_slots) last_reader[slot] = never;
  std::vector<std::vector<std::uint32_t>> unread(steps.size());
  for (std::uint32_t slot = 0; slot < slot_count; ++slot)
    if (last_reader[slot] != never) unread[last_reader[slot]].push_back(slot);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    steps[i].first_unread = static_cast<std::uint32_t>(unread_slots.size());
    steps[i].unread = static_cast<std::uint32_t>(unread[i].size());
    unread_slots.insert(unread_slots.end(), unread[i].begin(), unread[i].end());
  }
}

Frame::Frame(std::size_t slot_count) {
  if (auto& spare = spare_frames(); !spare.empty()) {
    values_ = std::move(spare.back());
    spare.pop_back();
  }
  values_.resize(slot_count);
}

Frame::~Frame() {
  values_.clear();
  auto& spare = spare_frames();
  if (spare.size() < most_spare_frames && values_.capacity() <= most_spare_slots)
    spare.push_back(std::move(values_));
}

}  // namespace tapedeck::graph
