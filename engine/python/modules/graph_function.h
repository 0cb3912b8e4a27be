// A traced function as Python has it.
#pragma once

#include <memory>
#include <vector>

#include "engine/graph/functions.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/run.h"
#include "engine/ops/core/thread_state.h"
#include "engine/ops/core/tracer.h"

namespace tapedeck::python {

/// A traced function; its graph keeps variables and captured tensors alive.
struct GraphFunction {
  std::shared_ptr<graph::TracedGraph> trace;  ///< views read it, too
  const graph::Graph& traced;
  const std::vector<graph::NamedPassed>& passes;
  graph::Executable executable;

  explicit GraphFunction(graph::Graph graph)
      : trace(std::make_shared<graph::TracedGraph>(std::move(graph))),
        traced(trace->traced),
        passes(trace->passes),
        executable(trace->running()) {
    executable.note_gradients(trace->gradients);
  }

  /// What runs here. Where tapes record, or the call becomes part of another trace, it is the graph whose
  /// nodes were not merged: a gradient adds up what each of them gives, in the order of eager code, to the
  /// bit. With Python's lock, which folding constants may give up for a while: so another thread may make it,
  /// too, and no mutex is held.
  const graph::Executable& here() const {
    const detail::ThreadState& thread = detail::thread_state;
    if (!is_tracing() && (thread.recording == 0 || thread.quiet != 0)) return executable;
    if (!merges_) return executable;
    if (!unmerged_) {
      auto made = std::make_unique<graph::Executable>(graph::unmerged(traced));
      made->note_gradients(trace->gradients);
      if (!unmerged_) unmerged_ = std::move(made);
    }
    return *unmerged_;
  }

 private:
  const bool merges_ = graph::merges(passes);
  mutable std::unique_ptr<graph::Executable> unmerged_;
};

}  // namespace tapedeck::python
