// Which tensors the runs of graphs had for the values of their traces: what the names of a traced function
// held at a record of a run, past or present.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/graph/frame.h"
#include "engine/graph/graph.h"
#include "engine/graph/names.h"

namespace tapedeck::graph {

/// Of a graph that runs. Immutable.
struct NameIndex {
  NameIndex(const Graph& graph, const Layout& layout);
  std::vector<Names> names;                                  ///< by node
  std::unordered_map<std::uint64_t, std::uint32_t> slot_of;  ///< by the id of the trace's symbolic tensor
  std::vector<std::uint32_t> nodes;  ///< by slot: the op's node; no_op: no op gives it
  static constexpr std::uint32_t no_op = UINT32_MAX;
  std::uint32_t slot_count = 0;
};

/// One run of a graph. Its thread writes it, others read it: guarded by one mutex of all.
struct LoggedRun {
  std::shared_ptr<const NameIndex> index;
  std::shared_ptr<const LoggedRun> around;  ///< of the graph one of whose nodes runs this one
  bool traces = false;                      ///< its nodes become part of another graph
  Names caller;                             ///< traces: those around the call
  std::uint16_t thread = 0;                 ///< in records
  std::uint64_t before = 0;                 ///< the thread's newest record when it began
  std::uint64_t after = UINT64_MAX;         ///< and when it ended
  std::vector<std::uint64_t> tensors;       ///< ids by slot; 0: not computed so far
  struct Step {
    std::uint32_t node = 0;
    std::uint64_t before = 0;  ///< the thread's newest record when it began
  };
  std::vector<Step> steps;
};

/// While it lives, this thread runs that graph. To be made only where an observer or a tracer listens.
class RunningGraph {
 public:
  explicit RunningGraph(std::shared_ptr<const NameIndex> index);
  ~RunningGraph();
  RunningGraph(const RunningGraph&) = delete;
  void begin(std::size_t node);
  void set(std::uint32_t slot, const Tensor& tensor);
  /// The innermost one of this thread; nullptr: none.
  static RunningGraph* innermost();
  /// Where this run's nodes become part of another graph: the names of the node that runs, with that graph's
  /// tensors.
  Names names_in_trace();
  bool traces() const { return run_->traces; }
  /// The record of the op that gave the value of the trace's tensor with that id in this run or one around
  /// it; 0: it made none.
  std::uint64_t record_of(std::uint64_t symbol) const;

 private:
  const std::shared_ptr<LoggedRun> run_;
  RunningGraph* const before_;
  std::unordered_map<const NamesFrame*, Names> mapped_;
};

/// What the program's names hold now, for a node that is traced; where another graph becomes part of the one
/// that is traced, those of its node.
Names names_here();

/// The names of the node that ran when a thread made that record, with the ids of this run's tensors; those
/// that the run did not compute have 0. Nothing where the record is not of a run, or the run is not known any
/// longer: of the oldest ones nothing is kept. `running`: and where the run has ended.
std::optional<Names> names_at(std::uint64_t record, std::uint16_t thread, bool running = false);
/// Forgets what has ended: where a recorder goes, whose records are meant.
void forget_runs();

}  // namespace tapedeck::graph
