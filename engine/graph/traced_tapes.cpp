// Tapes that a function makes and plays while it is traced, or that its runs play.
#include <algorithm>
#include <numeric>

#include "engine/graph/control.h"
#include "engine/graph/passes/passes.h"
#include "engine/graph/tracer.h"

namespace tapedeck::graph {

void GraphTracer::add_tape_node(NodeKind kind, TapeUse use, std::optional<Variable> variable,
                                std::span<const Tensor> inputs) {
  Node node;
  node.kind = kind;
  node.tape = std::make_shared<const TapeUse>(std::move(use));
  node.variable = std::move(variable);
  add(std::move(node), inputs);
}

std::int32_t GraphTracer::tape_of(std::uint64_t id, const char* what) const {
  for (std::size_t i = tapes_.size(); i-- > 0;)
    if (tapes_[i].id == id) return static_cast<std::int32_t>(i);
  fail<FailedPreconditionError>(
      what,
      ": the tape was started outside of the graph function that is being traced, whose "
      "calls it records as they run; do so outside of the function, or start a tape in it");
}

void GraphTracer::tape_started(std::uint64_t tape, bool persistent, bool watch_accessed_variables) {
  if (guessing_) return;
  TapeUse use;
  use.tape = static_cast<std::int32_t>(tapes_.size());
  use.persistent = persistent;
  use.watch_accessed_variables = watch_accessed_variables;
  tapes_.push_back({tape, graph_.nodes.size(), false});
  add_tape_node(NodeKind::tape_start, std::move(use), {}, {});
}

void GraphTracer::tape_stopped(std::uint64_t tape) {
  if (guessing_) return;
  TapeUse use;
  use.tape = tape_of(tape, "stop");
  add_tape_node(NodeKind::tape_stop, std::move(use), {}, {});
}

void GraphTracer::tape_watches(std::uint64_t tape, const Tensor& tensor) {
  if (guessing_) return;
  TapeUse use;
  use.tape = tape_of(tape, "watch");
  add_tape_node(NodeKind::tape_watch, std::move(use), {}, {&tensor, 1});
}

void GraphTracer::tape_watches(std::uint64_t tape, const Variable& variable) {
  if (guessing_) return;
  TapeUse use;
  use.tape = tape_of(tape, "watch");
  add_tape_node(NodeKind::tape_watch, std::move(use), variable, {});
}

void GraphTracer::tape_paused(std::uint64_t tape) {
  if (guessing_) return;
  TapeUse use;
  use.tape = tape_of(tape, "stop_recording");
  add_tape_node(NodeKind::tape_stop, std::move(use), {}, {});
}

void GraphTracer::tape_resumed(std::uint64_t tape, bool persistent, bool watch_accessed_variables) {
  if (guessing_) return;
  TapeUse use;
  use.tape = tape_of(tape, "start");
  use.persistent = persistent;
  use.watch_accessed_variables = watch_accessed_variables;
  add_tape_node(NodeKind::tape_start, std::move(use), {}, {});
}

/// The graph has another tape from here on.
void GraphTracer::tape_reset(std::uint64_t tape, bool is_active, bool persistent,
                             bool watch_accessed_variables) {
  if (guessing_) return;
  tape_of(tape, "reset");
  if (!is_active) return;  // it has nothing to record; its next start is another tape's
  tape_stopped(tape);
  tape_started(tape, persistent, watch_accessed_variables);
}

void GraphTracer::tape_plays_often(std::uint64_t tape) {
  if (guessing_) return;
  for (Node& node : graph_.nodes) {
    if (node.kind != NodeKind::tape_start || node.tape->tape != tape_of(tape, "gradient")) continue;
    TapeUse use = *node.tape;
    use.persistent = true;
    node.tape = std::make_shared<const TapeUse>(std::move(use));
  }
}

/// Whether what is on the tape is known only when the graph runs.
bool GraphTracer::runs_decide_since(std::int32_t tape) const {
  const std::size_t first_node = tapes_[static_cast<std::size_t>(tape)].first_node;
  if (open_up_to_ > first_node) return true;  // VJPs read shapes
  const auto first = graph_.nodes.begin() + static_cast<std::ptrdiff_t>(first_node);
  return std::any_of(first, graph_.nodes.end(), [](const Node& node) {
    return node.kind == NodeKind::branch || node.kind == NodeKind::loop || node.kind == NodeKind::gradient ||
           (node.kind == NodeKind::host && node.host->differentiable);
  });
}

Tensors GraphTracer::gradient(const Tape::GradientCall& call, const std::function<Tensors()>& play) {
  if (guessing_) return play();
  return runs_decide_since(tape_of(call.tape, "gradient")) ? gradient_of_runs(call, play) : play();
}

/// Each run plays the tape.
Tensors GraphTracer::gradient_of_runs(const Tape::GradientCall& call, const std::function<Tensors()>& play) {
  Tensors gradients = tried_gradients(call, play);

  TapeUse use;
  use.tape = tape_of(call.tape, "gradient");
  use.targets = static_cast<std::int32_t>(call.targets.size());
  use.unconnected = call.unconnected;
  Tensors inputs(call.targets.begin(), call.targets.end());
  for (std::size_t i = 0; i < call.targets.size(); ++i) {
    use.weighted.push_back(i < call.output_gradients.size() && call.output_gradients[i]);
    if (use.weighted.back()) inputs.push_back(call.output_gradients[i]);
  }
  for (const Tape::Source& source : call.sources) {
    use.sources.push_back(source.variable);
    if (!source.variable) inputs.push_back(source.tensor);
  }
  Node node;
  node.kind = NodeKind::gradient;
  Tensors parts;
  std::vector<ValueSpec> specs;
  const auto add_part = [&](std::size_t source, TapeUse::Part part, const Tensor& tensor) {
    use.parts.emplace_back(static_cast<std::int32_t>(source), part);
    specs.push_back(graph::spec_of(tensor));
    parts.push_back(tensor);
  };
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i]) add_part(i, TapeUse::Part::whole, gradients[i]);
    if (!call.rows || !(*call.rows)[i].values) continue;
    add_part(i, TapeUse::Part::values, (*call.rows)[i].values);
    add_part(i, TapeUse::Part::indices, (*call.rows)[i].indices);
  }
  const std::vector<std::pair<std::int32_t, TapeUse::Part>> places = use.parts;
  OwnTape& tape = tapes_[static_cast<std::size_t>(use.tape)];
  tape.played_by_runs = true;
  node.tape = std::make_shared<const TapeUse>(std::move(use));
  set_results(node, specs);
  Tensors results = results_of(add(std::move(node), inputs));
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto source = static_cast<std::size_t>(places[i].first);
    // Tapes around this one, which are played to see what is connected, know the tensor of the trial.
    const Value value = values_[parts[i].id()] = values_[results[i].id()];
    tensors_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.result)] = parts[i];
    graph_.nodes[static_cast<std::size_t>(value.node)].symbols.emplace_back(parts[i].id(), value.result);
    Tensor& place = places[i].second == TapeUse::Part::whole    ? gradients[source]
                    : places[i].second == TapeUse::Part::values ? (*call.rows)[source].values
                                                                : (*call.rows)[source].indices;
    place = parts[i];
  }
  return gradients;
}

void GraphTracer::drop_nodes_from(std::size_t first, std::size_t first_capture) {
  graph_.nodes.resize(first);
  if (tensors_.size() > first) tensors_.resize(first);
  captures_.resize(first_capture);
  graph_.captured.resize(first_capture);
  const auto is_gone = [&](Value value) {
    return value.node >= static_cast<std::int32_t>(first) ||
           value.node < -1 - static_cast<std::int32_t>(first_capture);
  };
  std::erase_if(values_, [&](const auto& entry) { return is_gone(entry.second); });
  std::erase_if(computed_, [&](const auto& entry) { return is_gone(entry.first); });
  std::erase_if(worlds_, [&](const auto& entry) { return is_gone(entry.first); });
  std::erase_if(draws_, [&](const auto& entry) { return entry.second >= static_cast<std::int32_t>(first); });
  std::erase_if(variables_, [&](const auto& entry) { return !values_.contains(entry.second.id()); });
}

/// Those that were played while they were traced have no part in a run.
void GraphTracer::drop_unused_tapes() {
  std::vector<bool> stays;
  for (const Node& node : graph_.nodes)
    stays.push_back(!node.tape || tapes_[static_cast<std::size_t>(node.tape->tape)].played_by_runs);
  std::vector<std::int32_t> itself(graph_.nodes.size());
  std::iota(itself.begin(), itself.end(), 0);
  if (std::find(stays.begin(), stays.end(), false) != stays.end()) graph_ = rebuilt(graph_, stays, itself);
}

}  // namespace tapedeck::graph
