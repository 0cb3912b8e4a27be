#include "engine/graph/functions.h"

#include <algorithm>

namespace tapedeck::graph {
namespace {

std::uint64_t next_id() {
  static std::atomic<std::uint64_t> newest{0};
  return ++newest;
}

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

TracedGraph::TracedGraph(Graph graph) : id(next_id()), traced(std::move(graph)), passes(run_passes(traced)) {}

FunctionEntry::FunctionEntry(std::string named, std::uint32_t defined, std::vector<std::uint32_t> lines)
    : id(next_id()), name(std::move(named)), location(defined), code_lines(std::move(lines)) {}

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

std::uint64_t count_nodes(const Graph& graph) {
  std::uint64_t count = 0;
  for (const Node& node : graph.nodes) {
    count += node.kind != NodeKind::parameter;
    for (const auto& inner : node.graphs) count += count_nodes(*inner);
  }
  return count;
}

}  // namespace tapedeck::graph
