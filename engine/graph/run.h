// Runs graphs.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "engine/graph/draws.h"
#include "engine/graph/frame.h"
#include "engine/graph/graph.h"

namespace tapedeck::graph {

class FusedLoops;
class GradientGraphs;
class OuterGradients;
class Schedule;
class Specializations;
struct NameIndex;

/// A graph with what running it needs to know beforehand. Immutable; may run on several threads at once.
class Executable {
 public:
  /// `traced_again`: runs only while a graph is traced that gets all of its nodes. So what the graph says of
  /// its results need not be true.
  enum class Use : std::uint8_t { run, traced_again };
  explicit Executable(Graph graph, Use use = Use::run);
  ~Executable();

  /// The results for these arguments, those of the graph's `captured` behind them. Bit for bit what the same
  /// ops give when the program calls them one by one.
  ///
  /// Where an observer listens, each node goes through run_op, under the location and scope in which it was
  /// traced: it is recorded, may stop at the gate, and is differentiated as any op. Otherwise nodes run
  /// without their checks, chains of elementwise ones as one loop (passes/fusion.h), independent ones side by
  /// side where that pays (schedule.h), and a value is dropped behind its last reader. For the tapes of this
  /// thread such a run is one call, whose gradient is a graph, too, unless some gradient depends on what runs
  /// (gradient_graph.h). Where shapes are unknown and gradients are wanted, of tapes around the run or inside
  /// it, the graph for the arguments' shapes runs (specializations.h).
  ///
  /// Errors: InvalidArgumentError where number, dtype or shape of the arguments are not the parameters'; what
  /// the ops throw.
  /// `outer`: what the run drew of the graph whose gradient this one is.
  Tensors operator()(std::span<const Tensor> arguments, const Draws* outer = nullptr) const;

  /// The same as a call of the function: where an observer listens, with a record around it. Inside a trace
  /// the nodes are marked as the call's.
  Tensors call(std::span<const Tensor> arguments) const;

  const Graph& graph() const { return graph_; }
  /// From now on views see there what tapes around its runs have of it. Before the first run.
  void note_gradients(std::shared_ptr<OuterGradients> notes) { outer_gradients_ = std::move(notes); }

  struct Options {
    const Draws* outer = nullptr;  ///< as operator()'s
    Draws* own = nullptr;          ///< gets what this run draws
    /// Tapes watch the variables that are read, and get no node: the caller writes the run as one call.
    bool one_call = false;
  };
  /// As operator(), but without `one_call` tapes get each node as a call of its own.
  Tensors run(std::span<const Tensor> arguments, const Options& options) const;
  /// As operator(). An argument goes behind its last reader, unless tapes get the run as one call.
  Tensors run_owned(Tensors arguments, const Draws* outer = nullptr) const;
  /// How long a run takes at the least, as far as it can be estimated (engine/ops/core/cost.h).
  double seconds() const;

 private:
  void check(std::span<const Tensor> arguments) const;
  void check_results(std::size_t number, std::span<const Tensor> results) const;
  struct Run;
  std::optional<Tensors> run_taped(std::span<const Tensor> arguments, const Draws* outer) const;
  std::optional<Tensors> run_specialized(std::span<const Tensor> arguments, const Draws* outer) const;
  void run_steps(Run& run) const;
  Tensors results_of(const Run& run) const;
  void take_argument(std::size_t parameter, Tensor argument, Run& run) const;
  void begin_log(Run& run) const;
  std::shared_ptr<const NameIndex> name_index() const;
  void run_step(std::size_t number, Run& run) const;
  void run_fused_step(std::size_t number, Run& run) const;
  void run_group(std::size_t begin, std::size_t end, Run& run) const;
  Tensors run_node(std::size_t number, std::span<const Tensor> inputs, Run& run) const;
  Tensors run_branch(std::size_t number, std::span<const Tensor> inputs) const;
  Tensors run_unwind(std::size_t number, std::span<const Tensor> inputs) const;
  Tensors run_custom(std::size_t number, std::span<const Tensor> inputs) const;
  Tensors run_loop(std::size_t number, std::span<const Tensor> inputs) const;

  Graph graph_;
  std::vector<std::vector<std::shared_ptr<const Executable>>> nested_;  ///< of each node: its graphs
  std::vector<bool> careful_;  ///< of each node: whether shapes are unknown that it reads or gives
  const std::vector<FusedChain> chains_;
  Layout layout_;
  std::unique_ptr<const FusedLoops> fused_;           ///< nullptr: there are no chains
  std::unique_ptr<const Schedule> schedule_;          ///< nullptr where it is traced again
  std::unique_ptr<GradientGraphs> gradients_;         ///< nullptr where it is traced again
  std::shared_ptr<OuterGradients> outer_gradients_;   ///< nullptr: no view asks
  bool plays_tapes_ = false;                          ///< that it makes itself
  std::unique_ptr<Specializations> specializations_;  ///< nullptr: all shapes are known
  mutable std::once_flag names_once_;
  mutable std::shared_ptr<const NameIndex> names_;  ///< made when a debugger or a trace first needs it
};

/// Whether nothing but the results of this thread's ops is wanted: no observer listens, nothing is traced,
/// and their way is the plain one.
bool is_unattended();

/// Where the node came from that made a run of this thread fail (record/trace/source_location.h); 0: unknown.
/// Asked again, it is 0.
std::uint32_t take_failed_location();

}  // namespace tapedeck::graph
