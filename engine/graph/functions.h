// The functions of this process that were traced, for views: the traces of each, and why they were made. What
// is read here needs no lock of the host language and runs none of its code.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/outer_gradients.h"
#include "engine/graph/passes/passes.h"
#include "engine/protocol/graph_functions.h"

namespace tapedeck::graph {

/// A traced graph, and what each pass made of it. Immutable but for the counts and gradients.
class TracedGraph {
 public:
  explicit TracedGraph(Graph graph);
  const std::uint64_t id;  ///< in this process, never 0
  const Graph traced;
  const std::vector<NamedPassed> passes;
  std::atomic<std::uint64_t> calls{0};    ///< that ran it
  std::atomic<std::uint64_t> inlined{0};  ///< how often it became part of another graph, kept or not
  const std::shared_ptr<OuterGradients> gradients = std::make_shared<OuterGradients>();

  /// 0: as it was traced; n: after the nth pass.
  const Graph& stage(std::size_t number) const {
    return number == 0 ? traced : passes[number - 1].passed.graph;
  }
  const Graph& running() const { return stage(passes.size()); }
};

/// Why and where a trace was made.
struct TraceNote {
  std::string signature;
  std::vector<protocol::TraceReason> reasons;
  std::uint64_t after = 0;     ///< the newest record then; 0: none
  std::uint32_t location = 0;  ///< of the call (record/trace/source_location.h); 0: unknown
};

/// A function, for as long as the host language has it. It keeps no trace alive.
class FunctionEntry {
 public:
  FunctionEntry(std::string name, std::uint32_t location, std::vector<std::uint32_t> code_lines = {});
  const std::uint64_t id;  ///< in this process, never 0
  const std::string name;
  const std::uint32_t location;                 ///< of its first line
  const std::vector<std::uint32_t> code_lines;  ///< of its file or cell that have code of it, sorted

  void add(const std::shared_ptr<TracedGraph>& trace, TraceNote note);
  struct Made {
    std::shared_ptr<const TracedGraph> trace;
    TraceNote note;
  };
  /// Those that are alive, in the order in which they were made.
  std::vector<Made> traces() const;

 private:
  struct Kept {
    std::weak_ptr<const TracedGraph> trace;
    TraceNote note;
  };
  mutable std::mutex mutex_;
  std::vector<Kept> traces_;
};

/// Makes one that traced_functions() knows while it is alive.
std::shared_ptr<FunctionEntry> new_function_entry(std::string name, std::uint32_t location,
                                                  std::vector<std::uint32_t> code_lines = {});
/// Those that are alive, in the order in which they were made.
std::vector<std::shared_ptr<FunctionEntry>> traced_functions();
/// nullptr where it is not alive, or of no function that is.
std::shared_ptr<const TracedGraph> find_trace(std::uint64_t id);

/// A gradient of a trace that is alive.
struct FoundGradient {
  std::shared_ptr<const TracedGraph> of;
  OuterGradients::Seen seen;
};
std::optional<FoundGradient> find_gradient(std::uint64_t id);
/// With its graph, which is traced when it is first asked for, on any thread; or with the reason why a tape
/// always plays the VJPs instead.
OuterGradients::Seen traced_gradient(const FoundGradient& found);

/// The graph's nodes without its parameters, with those of branches and loops.
std::uint64_t count_nodes(const Graph& graph);

}  // namespace tapedeck::graph
