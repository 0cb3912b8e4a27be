#include "engine/graph/specializations.h"

#include <algorithm>

#include "engine/graph/passes/passes.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/observer.h"

namespace tapedeck::graph {
namespace {

constexpr std::size_t traced_at_once = 8;
constexpr std::size_t most_entries = 32;

bool repeats_outer_draws(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) { return outer_draw_of(node).has_value(); });
}

}  // namespace

bool has_unknown_shapes(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    return is_open(graph, node) ||
           std::ranges::any_of(node.graphs, [](const auto& inner) { return has_unknown_shapes(*inner); });
  });
}

std::shared_ptr<const Executable> Specializations::of(std::span<const Tensor> arguments, bool is_taped) {
  Shapes shapes{is_taped};
  for (const Tensor& argument : arguments) {
    shapes.push_back(argument.rank());
    for (int axis = 0; axis < argument.rank(); ++axis) shapes.push_back(argument.dim(axis));
  }
  {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = entries_.try_emplace(shapes);
    found->second.last_use = ++uses_;
    if (found->second.traced) return found->second.executable;
    if (is_new && entries_.size() > traced_at_once) {
      make_room();
      return nullptr;
    }
  }
  // Without the lock: a trace may wait for the host's.
  std::shared_ptr<const Executable> made = traced(arguments, is_taped);
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[shapes];
  if (!entry.traced) entry = {std::move(made), true, ++uses_};
  return entry.executable;
}

/// What was not used for the longest time goes.
void Specializations::make_room() {
  if (entries_.size() <= most_entries) return;
  entries_.erase(
      std::ranges::min_element(entries_, {}, [](const auto& entry) { return entry.second.last_use; }));
}

std::shared_ptr<const Executable> Specializations::traced(std::span<const Tensor> arguments,
                                                          bool is_taped) const {
  const Graph& graph = general_.graph();
  if (repeats_outer_draws(graph)) return nullptr;
  const UnobservedScope unobserved;
  const StopRecording stopped;
  GraphTracer tracer(graph.name);
  tracer.share_owner();
  Tensors parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    parameters.push_back(tracer.parameter(graph.nodes[i].name, {arguments[i].dtype(), arguments[i].shape()}));
  try {
    Tensors results;
    {
      const TracerScope scope(&tracer);
      results = general_.run(parameters, {});
    }
    Graph known = tracer.finish(results);
    known.watched_up_to = graph.watched_up_to;
    // A tape adds up what each node gives, in the order of eager code: so nodes that it sees are not merged.
    known = is_taped ? unmerged(known) : run_passes(known).back().passed.graph;
    if (has_unknown_shapes(known)) return nullptr;
    return std::make_shared<const Executable>(std::move(known));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error&) {  // the run says so, after what comes before
    take_failed_location();
    return nullptr;
  }
}

}  // namespace tapedeck::graph
