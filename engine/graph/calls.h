// Records of what graphs run: calls of functions, branches, loops, and gradients that a trace made.
//
// A function that is called while another one is traced becomes a part of that one's graph. Its nodes keep
// the call that they come from, so that a run begins and ends a record around them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/ops/core/observer.h"

namespace tapedeck::graph {

/// What nodes were traced in, beside branches and loops. Immutable once its last node is traced.
struct Part {
  std::shared_ptr<const Part> around;  ///< nullptr: the function itself
  std::string name;                    ///< "g(x: float32 (3,))", "gradient", "VJP of tanh, line 8"
  std::uint32_t location = 0, scope = 0;
  bool is_call = true;     ///< of another function; else a tape's gradient, or a VJP of that
  bool backward = false;   ///< what it runs are gradients
  std::uint32_t call = 0;  ///< what the program wrote at the location
  /// Ids of the trace's tensors; 0: undefined, or not known. Of a VJP: cotangents and gradients.
  std::vector<std::uint64_t> inputs = {}, results = {};
  const OpDef* vjp_of = nullptr;  ///< of an op's VJP
  std::uint64_t forward = 0;      ///< VJP: a result of the op's call
  Attributes attributes = {};     ///< VJP: of the op's call
  std::vector<bool> wanted = {};  ///< VJP: which inputs' gradients
};
std::vector<std::uint64_t> ids_of(std::span<const Tensor> tensors);

/// What this thread traces now; nullptr: the function itself.
const std::shared_ptr<const Part>& traced_part();
/// While it lives, traced_part() is this one.
class TracedPartScope {
 public:
  explicit TracedPartScope(std::shared_ptr<const Part> part);
  ~TracedPartScope();
  TracedPartScope(const TracedPartScope&) = delete;

 private:
  std::shared_ptr<const Part> before_;
};

/// "f(x: float32 (3,))".
std::string signature_of(const Graph& graph);

/// Runs a call of the function, with a record around it where an observer listens; inside a trace the nodes
/// that it adds belong to the call. The arguments were checked.
Tensors in_call(const Graph& graph, const std::string& signature, std::span<const Tensor> arguments,
                const std::function<Tensors()>& run);

/// Runs a part of a call that `node` made, with a record around it where an observer listens. `name`: asked
/// for only then.
Tensors in_part(const Node& node, const std::function<std::string()>& name, std::span<const Tensor> inputs,
                const std::function<Tensors()>& run);

/// "if line 7: true", "loop line 5".
std::string branch_name(const Node& node, bool is_true);
std::string loop_name(const Node& node);
/// "iteration 3"; the numbers of very long loops share one name, for names are never forgotten.
std::string iteration_name(std::uint64_t number);

/// Whether the predicate of that branch or loop holds. An observer gets it as a value that the program reads
/// there: What if? names decisions that a change would turn.
bool decides(const Node& node, const Tensor& predicate);

/// Whether a run of the node can show: values that are given, and tapes, belong to no part.
inline bool runs_something(const Node& node) {
  return node.kind == NodeKind::op || node.kind == NodeKind::branch || node.kind == NodeKind::loop ||
         node.kind == NodeKind::unwind || node.kind == NodeKind::custom || node.kind == NodeKind::host ||
         node.kind == NodeKind::gradient || node.kind == NodeKind::assign;
}

/// Begins and ends the parts that a run's nodes come from, in the order in which the nodes run.
class PartFollower {
 public:
  /// The value that the run has, or had, of the trace's tensor with that id; undefined where it has none.
  using FindValue = std::function<Tensor(std::uint64_t)>;
  PartFollower();
  /// Ends what is open.
  ~PartFollower();
  PartFollower(const PartFollower&) = delete;
  /// The next node comes from that part; nullptr: from the function itself.
  void follow(const Part* part) {
    if (part != current_ && attends_) [[unlikely]]
      change_to(part);
  }
  /// So that records of parts have their inputs and results.
  void find_values(FindValue find) { find_ = std::move(find); }
  /// In a handler: what is open fails with the exception that is being handled.
  void fail();

 private:
  struct Open {
    const Part* part = nullptr;
    Observer* observer = nullptr;
    std::uint64_t record = 0;
    std::shared_ptr<Part> again;  ///< in the graph that this one becomes part of
    std::unique_ptr<TracedPartScope> traced;
  };
  void change_to(const Part* part);
  void begin(const Part& part);
  void end(const char* error);
  Tensors values_of(const std::vector<std::uint64_t>& ids) const;

  const Part* const base_;  ///< where the graph around this one is
  const Part* current_;     ///< the innermost open one
  const bool attends_;
  std::vector<Open> open_;
  FindValue find_;
};

}  // namespace tapedeck::graph
