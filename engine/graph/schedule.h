// Which nodes of a graph run side by side.
//
// A kernel shares its own work among the engine's threads where it is large enough. Nodes that are too small
// for that and do not depend on each other run side by side, each on one thread: in groups of adjacent nodes
// without effects, where the estimated gain (engine/ops/core/cost.h) is worth waking threads. Kernels give
// the same bits on any number of threads, so results do not depend on it.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "engine/graph/frame.h"
#include "engine/graph/graph.h"

namespace tapedeck::graph {

/// The first node, in the graph's order, of those that failed.
struct FailedNode {
  std::size_t node = 0;
  std::exception_ptr error;
};

class Schedule {
 public:
  /// Nodes of chains are in no group: each chain shares its own work among threads.
  Schedule(const Graph& graph, const Layout& layout, std::span<const FusedChain> chains = {});

  /// The end of the group that begins with the node; 0 where none does, or the engine has one thread.
  std::size_t end_of_group(std::size_t node) const;
  /// Runs the ops of a group; what has no inputs (constants, variables' values) must be in the frame. Without
  /// the host's lock. Throws FailedNode, and Interrupted; the frame's values are then incomplete.
  void run_group(std::size_t begin, Frame& values) const;
  /// Of all nodes one behind the other, at the least.
  double seconds() const { return seconds_; }

 private:
  struct Group {
    std::size_t begin = 0, end = 0;
    std::uint32_t width = 1;               ///< threads that are worth waking
    std::vector<std::uint32_t> waits_for;  ///< by node from `begin`: how many nodes of the group
    std::vector<std::vector<std::uint32_t>> successors;  ///< by node: those that wait for it
    std::vector<std::vector<std::uint32_t>> reads;       ///< by node: places in `unread`
    std::vector<std::uint32_t> unread;                   ///< slots that are unread behind the group
    std::vector<std::uint32_t> readers;                  ///< of each of these
  };
  class Work;

  void add_group(std::size_t begin, std::size_t end, const std::vector<double>& seconds);

  const Graph& graph_;
  const Layout& layout_;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> group_at_;  ///< by node: 1 + the number of the group that begins there; 0: none
  double seconds_ = 0;
};

}  // namespace tapedeck::graph
