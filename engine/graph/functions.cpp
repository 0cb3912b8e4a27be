#include "engine/graph/functions.h"

#include <algorithm>

#include "engine/graph/gradient_graph.h"
#include "engine/graph/run.h"
#include "engine/tensor/error.h"

namespace tapedeck::graph {
namespace {

/// Entries go when the host language collects them, on any thread.
struct FunctionRegistry {
  std::mutex mutex;
  std::vector<std::weak_ptr<FunctionEntry>> entries;
};

FunctionRegistry& function_registry() {
  static auto* one = new FunctionRegistry;  // functions may outlive the program's statics
  return *one;
}

}  // namespace

TracedGraph::TracedGraph(Graph graph)
    : id(new_view_id()), traced(std::move(graph)), passes(run_passes(traced)) {}

FunctionEntry::FunctionEntry(std::string named, std::uint32_t defined, std::vector<std::uint32_t> lines)
    : id(new_view_id()), name(std::move(named)), location(defined), code_lines(std::move(lines)) {}

void FunctionEntry::add(const std::shared_ptr<TracedGraph>& trace, TraceNote note) {
  const std::lock_guard lock(mutex_);
  std::erase_if(traces_, [](const Kept& kept) { return kept.trace.expired(); });
  traces_.push_back({trace, std::move(note)});
}

std::vector<FunctionEntry::Made> FunctionEntry::traces() const {
  const std::lock_guard lock(mutex_);
  std::vector<Made> alive;
  for (const Kept& kept : traces_)
    if (auto trace = kept.trace.lock()) alive.push_back({std::move(trace), kept.note});
  return alive;
}

std::shared_ptr<FunctionEntry> new_function_entry(std::string name, std::uint32_t location,
                                                  std::vector<std::uint32_t> code_lines) {
  auto entry = std::make_shared<FunctionEntry>(std::move(name), location, std::move(code_lines));
  const std::lock_guard lock(function_registry().mutex);
  std::erase_if(function_registry().entries, [](const auto& known) { return known.expired(); });
  function_registry().entries.push_back(entry);
  return entry;
}

std::vector<std::shared_ptr<FunctionEntry>> traced_functions() {
  const std::lock_guard lock(function_registry().mutex);
  std::vector<std::shared_ptr<FunctionEntry>> alive;
  for (const auto& known : function_registry().entries)
    if (auto entry = known.lock()) alive.push_back(std::move(entry));
  return alive;
}

std::shared_ptr<const TracedGraph> find_trace(std::uint64_t id) {
  for (const auto& entry : traced_functions())
    for (const FunctionEntry::Made& made : entry->traces())
      if (made.trace->id == id) return made.trace;
  return nullptr;
}

std::optional<FoundGradient> find_gradient(std::uint64_t id) {
  for (const auto& entry : traced_functions())
    for (const FunctionEntry::Made& made : entry->traces())
      for (OuterGradients::Seen& seen : made.trace->gradients->all())
        if (seen.id == id) return FoundGradient{made.trace, std::move(seen)};
  return std::nullopt;
}

OuterGradients::Seen traced_gradient(const FoundGradient& found) {
  OuterGradients::Seen seen = found.seen;
  if (seen.graph || !seen.why_played.empty()) return seen;
  const TracedGraph& of = *found.of;
  try {
    // What runs under a tape; the executable itself is the program's, and may go meanwhile.
    const Graph graph = merges(of.passes) ? unmerged(of.traced) : of.running();
    seen.graph =
        std::make_shared<const TracedGraph>(GradientGraphs(graph).traced_gradient(seen.known, seen.alone));
  } catch (const Interrupted&) {
    throw;
  } catch (const Error& error) {
    take_failed_location();
    seen.why_played = error.what();
  }
  of.gradients->keep(seen.id, seen.graph, seen.why_played);
  return seen;
}

std::uint64_t count_nodes(const Graph& graph) {
  std::uint64_t count = 0;
  for (const Node& node : graph.nodes) {
    count += node.kind != NodeKind::parameter;
    for (const auto& inner : node.graphs) count += count_nodes(*inner);
  }
  return count;
}

}  // namespace tapedeck::graph
