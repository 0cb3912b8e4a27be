// Which gradients the tapes around calls of a traced function have of its graph, for views.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace tapedeck::graph {

class TracedGraph;

/// Of one trace. Thread-safe.
class OuterGradients {
 public:
  struct Seen {
    std::uint64_t id = 0;     ///< among those of traces (new_view_id)
    std::vector<bool> known;  ///< of each input of the graph whether a tape has it (gradient_graph.h)
    bool alone = false;       ///< a single tape records
    std::string inputs;       ///< names of those that a tape has: "x, w"
    std::string why_played;   ///< why a tape always plays the VJPs one by one; empty: not known of a reason
    std::shared_ptr<const TracedGraph> graph;  ///< once it was asked for
  };
  /// A tape has a call of the graph. The first 16 kinds of calls are kept.
  void note(Seen seen);
  std::vector<Seen> all() const;
  /// What came of the first request for the graph.
  void keep(std::uint64_t id, std::shared_ptr<const TracedGraph> graph, std::string why_played);

 private:
  mutable std::mutex mutex_;
  std::vector<Seen> seen_;
};

/// Traces and gradients by which views ask for graphs: never 0.
std::uint64_t new_view_id();

}  // namespace tapedeck::graph
