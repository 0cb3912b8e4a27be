// A graph of unknown extents as it is where all shapes are known.
//
// VJPs read shapes, so only a graph of known shapes has its gradients as graphs: those of a tape around it,
// and those of tapes inside it, which each run would play otherwise. Both are traced anew for the shapes of
// the arguments.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/graph/run.h"

namespace tapedeck::graph {

/// Those of one graph. Safe from several threads.
class Specializations {
 public:
  /// The executable must stay there.
  explicit Specializations(const Executable& general) : general_(general) {}

  /// The graph for arguments of these shapes. Nothing where the trace fails, as a run will, or where shapes
  /// stay unknown; and, after the first few, for shapes that come for the first time: where each call has
  /// shapes of its own, traces would take longer than they save.
  /// `is_taped`: whether tapes around the run record it.
  std::shared_ptr<const Executable> of(std::span<const Tensor> arguments, bool is_taped);

 private:
  using Shapes = std::vector<std::int64_t>;  ///< whether it is taped; of each argument: rank, extents
  struct Entry {
    std::shared_ptr<const Executable> executable;
    bool traced = false;
    std::uint64_t last_use = 0;
  };
  std::shared_ptr<const Executable> traced(std::span<const Tensor> arguments, bool is_taped) const;
  void make_room();

  const Executable& general_;
  std::mutex mutex_;
  std::map<Shapes, Entry> entries_;
  std::uint64_t uses_ = 0;
};

/// Whether shapes of the graph's values, or of those of graphs inside it, are unknown.
bool has_unknown_shapes(const Graph& graph);

}  // namespace tapedeck::graph
