#include "engine/graph/outer_gradients.h"

#include <algorithm>
#include <atomic>
#include <utility>

namespace tapedeck::graph {
namespace {

constexpr std::size_t most_seen = 16;

}  // namespace

void OuterGradients::note(Seen seen) {
  const std::lock_guard lock(mutex_);
  const bool known = std::ranges::any_of(seen_, [&](const Seen& one) {
    return one.known == seen.known && one.alone == seen.alone && one.inputs == seen.inputs;
  });
  if (known || seen_.size() >= most_seen) return;
  seen.id = new_view_id();
  seen_.push_back(std::move(seen));
}

std::vector<OuterGradients::Seen> OuterGradients::all() const {
  const std::lock_guard lock(mutex_);
  return seen_;
}

void OuterGradients::keep(std::uint64_t id, std::shared_ptr<const TracedGraph> graph,
                          std::string why_played) {
  const std::lock_guard lock(mutex_);
  for (Seen& one : seen_) {
    if (one.id != id) continue;
    one.graph = std::move(graph);
    one.why_played = std::move(why_played);
  }
}

std::uint64_t new_view_id() {
  static std::atomic<std::uint64_t> newest{0};
  return ++newest;
}

}  // namespace tapedeck::graph
