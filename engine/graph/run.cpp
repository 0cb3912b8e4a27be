#include "engine/graph/run.h"

#include <algorithm>
#include <optional>

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/calls.h"
#include "engine/graph/control.h"
#include "engine/graph/fused_loops.h"
#include "engine/graph/gradient_graph.h"
#include "engine/graph/outer_gradients.h"
#include "engine/graph/run_log.h"
#include "engine/graph/schedule.h"
#include "engine/graph/specializations.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/core/tracer.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/error.h"
#include "engine/tensor/interrupt.h"
#include "engine/tensor/reuse.h"

namespace tapedeck::graph {
namespace {

thread_local std::uint32_t failed_location = 0;

}  // namespace

std::uint32_t take_failed_location() {
  return std::exchange(failed_location, 0);
}

bool is_unattended() {
  const detail::ThreadState& thread = detail::thread_state;
  const bool is_observed = detail::observer.load(std::memory_order_acquire) && current_observer();
  return !is_observed && thread.detours == 0 && gpu_count() == 0;
}

Executable::Executable(Graph graph, Use use)
    : graph_(std::move(graph)),
      chains_(use == Use::run ? fused_chains(graph_) : std::vector<FusedChain>()),
      layout_(graph_, chains_) {
  for (const Node& node : graph_.nodes) {
    nested_.emplace_back();
    for (const auto& inner : node.graphs)
      nested_.back().push_back(std::make_shared<const Executable>(*inner, use));
  }
  for (const Node& node : graph_.nodes) careful_.push_back(is_open(graph_, node));
  if (use == Use::traced_again) return;
  schedule_ = std::make_unique<const Schedule>(graph_, layout_, chains_);
  if (!chains_.empty()) fused_ = std::make_unique<const FusedLoops>(graph_, layout_, chains_);
  gradients_ = std::make_unique<GradientGraphs>(graph_);
  plays_tapes_ = uses_tapes(graph_);
  const auto parameters =
      std::span<const Node>(graph_.nodes).first(graph_.arguments + graph_.captured.size());
  if (std::ranges::any_of(parameters, [](const Node& node) { return !node.unknown.empty(); }))
    specializations_ = std::make_unique<Specializations>(*this);
}

Executable::~Executable() = default;

double Executable::seconds() const {
  return schedule_->seconds();
}

namespace {

bool fits_shape(const Tensor& tensor, const Node& node, std::size_t result) {
  return is_compatible(tensor.shape(), unknown_of(tensor), node.results[result].shape,
                       node.unknown.empty() ? UnknownShape{} : node.unknown[result]);
}

}  // namespace

void Executable::check(std::span<const Tensor> arguments) const {
  const std::size_t wanted = graph_.arguments + graph_.captured.size();
  if (arguments.size() != wanted)
    fail<InvalidArgumentError>(graph_.name, ": takes ", wanted, " tensors, got ", arguments.size());
  for (std::size_t i = 0; i < wanted; ++i) {
    if (graph_.has_gaps && !arguments[i]) continue;
    const Node& parameter = graph_.nodes[i];
    const TensorSpec& spec = parameter.results[0];
    if (!arguments[i]) fail<InvalidArgumentError>(graph_.name, ": ", parameter.name, " is undefined");
    if (arguments[i].is_symbolic() && !current_tracer())
      fail<InvalidArgumentError>(graph_.name, ": ", parameter.name,
                                 " belongs to the trace of a graph function, which has ended");
    const bool fits = parameter.unknown.empty() && !arguments[i].is_symbolic()
                          ? arguments[i].shape() == spec.shape
                          : fits_shape(arguments[i], parameter, 0);
    if (arguments[i].dtype() != spec.dtype || !fits)
      fail<InvalidArgumentError>(graph_.name, ": ", parameter.name, " is ", to_string(spec_of(arguments[i])),
                                 "; it was traced for ",
                                 to_string(graph_.value_spec({static_cast<std::int32_t>(i), 0})));
  }
}

/// The rest of the graph relies on what the trace said of these results.
void Executable::check_results(std::size_t number, std::span<const Tensor> results) const {
  const Node& node = graph_.nodes[number];
  if (results.size() != node.results.size())
    fail<InvalidArgumentError>(node.op ? node.op->name : graph_.name, ": has ", results.size(),
                               " results in this run; the traced function has ", node.results.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].dtype() == node.results[i].dtype && fits_shape(results[i], node, i)) continue;
    const Value value{static_cast<std::int32_t>(number), static_cast<std::int32_t>(i)};
    const std::string what = !node.name.empty() ? node.name : node.op ? node.op->name : graph_.name;
    fail<InvalidArgumentError>(what, ": a result is ", to_string(spec_of(results[i])),
                               " in this run, which the traced function has as ",
                               to_string(graph_.value_spec(value)));
  }
}

/// What lasts as long as one run.
struct Executable::Run {
  Run(std::size_t slots, const Options& options) : values(slots), one_call(options.one_call) {
    draws.set_outer(options.outer);
  }

  /// Whether each op goes its whole way: somebody wants to see it, or its way is not the plain one.
  bool needs_run_op() const {
    const detail::ThreadState& thread = detail::thread_state;
    return !is_unattended() || (!one_call && thread.recording != 0 && thread.quiet == 0);
  }

  Frame values;
  ReusableTensor unread;  ///< the last of the values that nothing reads any more
  const bool one_call;
  std::vector<std::unique_ptr<Tape>> tapes;
  Draws draws;
  PartFollower parts;
  std::optional<RunningGraph> log;  ///< where an observer or a tracer listens
  std::vector<bool> waits;          ///< by chain: whether its nodes so far wait for the last one

  Tape& tape(const TapeUse& use) {
    const auto number = static_cast<std::size_t>(use.tape);
    if (tapes.size() <= number) tapes.resize(number + 1);
    if (!tapes[number]) tapes[number] = std::make_unique<Tape>(use.persistent, use.watch_accessed_variables);
    return *tapes[number];
  }
};

namespace {

/// `careful`: what is unknown of shapes asks for the checks.
Tensors run_op_node(const Node& node, std::span<const Tensor> inputs, const Attributes& attributes,
                    bool needs_run_op, bool careful, ReusableTensor& unread) {
  if (!needs_run_op && careful) return run_op(*node.op, inputs, attributes);
  if (!needs_run_op) {
    const ReusableTensor::Offer offer(unread);
    return tapedeck::detail::compute_checked({*node.op, inputs, attributes, node.results, {}});
  }
  const LocationScope location({node.location, node.call});
  set_last_place(reinterpret_cast<std::uintptr_t>(&node));  // where a pass of its line may begin again
  const WholeScope scope(node.scope);
  if (!node.device) return run_op(*node.op, inputs, attributes);
  const DeviceScope device(node.device);
  return run_op(*node.op, inputs, attributes);
}

/// Zeros in place of a part of a gradient that no call on the tape gave.
Tensor zeros_of_gradient(const Node& node, std::size_t result, const Tape::Source& source) {
  const TensorSpec& spec = node.results[result];
  const bool is_whole = node.tape->parts[result].second == TapeUse::Part::whole;
  if (node.unknown.empty() || !node.unknown[result]) return ops::zeros(spec.shape, spec.dtype);
  if (is_whole) return ops::zeros_like(source.variable ? source.variable->peek() : source.tensor, spec.dtype);
  Shape none = spec.shape;
  none[0] = 0;  // of no rows
  return ops::zeros(none, spec.dtype);
}

Tensors gradient_of(Tape& tape, const Node& node, std::span<const Tensor> inputs) {
  const TapeUse& use = *node.tape;
  const auto count = static_cast<std::size_t>(use.targets);
  const std::span<const Tensor> targets = inputs.first(count);
  Tensors weights(count);
  std::size_t next = count;
  for (std::size_t i = 0; i < count; ++i)
    if (use.weighted[i]) weights[i] = inputs[next++];
  std::vector<Tape::Source> sources;
  for (const auto& variable : use.sources)
    sources.push_back(variable ? Tape::Source{{}, variable} : Tape::Source{inputs[next++], {}});
  std::vector<Tape::RowGradient> rows(sources.size());
  const LocationScope location({node.location, node.call});
  const WholeScope scope(node.scope);
  const bool rows_wanted =
      std::ranges::any_of(use.parts, [](const auto& part) { return part.second != TapeUse::Part::whole; });
  const Tensors gradients = rows_wanted ? tape.gradient(targets, sources, weights, use.unconnected, rows)
                                        : tape.gradient(targets, sources, weights, use.unconnected);
  Tensors results;
  for (std::size_t i = 0; i < use.parts.size(); ++i) {
    const auto& [source, part] = use.parts[i];
    const auto at = static_cast<std::size_t>(source);
    Tensor found = part == TapeUse::Part::whole    ? gradients[at]
                   : part == TapeUse::Part::values ? rows[at].values
                                                   : rows[at].indices;
    // What ran may have gathered rows alone, which the trace could not see.
    if (!found && part == TapeUse::Part::whole && rows[at].values)
      found = ops::scatter_nd(ops::reshape(rows[at].indices, {rows[at].indices.count(), 1}), rows[at].values,
                              node.results[i].shape);
    // Connected as far as the trace could see; what ran did not use it.
    if (!found) found = zeros_of_gradient(node, i, sources[at]);
    results.push_back(std::move(found));
  }
  return results;
}

/// Where the graph becomes part of one that is being traced: what set_shape said of a value holds there, too.
void narrow_again(const Node& node, std::span<const Tensor> results) {
  auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
  if (!tracer || node.name != set_shape_name) return;
  const LocationScope location({node.location, node.call});
  const WholeScope scope(node.scope);
  tracer->narrow(results[0], node.results[0].shape, node.unknown.empty() ? UnknownShape{} : node.unknown[0]);
}

std::vector<ValueSpec> specs_of_results(const Node& node) {
  std::vector<ValueSpec> specs;
  for (std::size_t i = 0; i < node.results.size(); ++i)
    specs.push_back({node.results[i].dtype, node.results[i].shape,
                     node.unknown.empty() ? UnknownShape{} : node.unknown[i]});
  return specs;
}

/// With a record around its ops where an observer listens.
Tensors run_array(const Node& node, std::span<const Tensor> inputs) {
  if (!current_observer()) return node.host->function(inputs);
  return in_part(
      node, [&] { return node.host->name; }, inputs, [&] { return node.host->function(inputs); });
}

Tensors run_host(const Node& node, std::span<const Tensor> inputs) {
  const LocationScope location({node.location, node.call});
  std::optional<WholeScope> scope;
  if (is_array_call(node)) scope.emplace(node.scope);
  std::optional<DeviceScope> device;  // of the ops that the function calls
  if (node.device) device.emplace(node.device);
  if (current_tracer()) {
    const auto* tracer = dynamic_cast<const GraphTracer*>(current_tracer());
    const bool owns = node.host->owning && !(tracer && tracer->shares_owner());
    return host_call(owns ? node.host->owning() : *node.host, specs_of_results(node), inputs);
  }
  Tensors results = is_array_call(node) ? run_array(node, inputs) : node.host->function(inputs);
  if (results.size() != node.results.size())
    fail<InvalidArgumentError>(node.host->name, ": gave ", results.size(), " tensors; the graph has ",
                               node.results.size());
  const std::vector<ValueSpec> specs = specs_of_results(node);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const ValueSpec& spec = specs[i];
    if (results[i].dtype() != spec.dtype || !fits_shape(results[i], node, i))
      fail<InvalidArgumentError>(node.host->name, ": result ", i, " is ", to_string(spec_of(results[i])),
                                 "; the graph has ", to_string(spec));
  }
  return results;
}

/// What the node gives where gradients that it reads are absent; nothing where all are there, or where it
/// chooses among them.
/// What a node has that is called filled_name.
Tensor filled_cotangent(const Node& node, std::span<const Tensor> inputs) {
  if (auto* tracer = dynamic_cast<GraphTracer*>(current_tracer())) {
    Tensors all(inputs.begin(), inputs.end());
    if (!all[0]) all[0] = tracer->absent({node.results[0].dtype, node.results[0].shape});
    return tracer->filled(all)[0];
  }
  if (inputs[0] || std::ranges::none_of(inputs, [](const Tensor& input) { return bool(input); }))
    return inputs[0];
  return ops::zeros(node.results[0].shape, node.results[0].dtype);
}

std::optional<Tensors> results_of_gaps(const Node& node, std::span<const Tensor> inputs) {
  if (node.name == filled_name) return Tensors(1, filled_cotangent(node, inputs));
  const bool reads_all =
      node.kind != NodeKind::branch && node.kind != NodeKind::loop && node.kind != NodeKind::unwind;
  if (!reads_all || std::ranges::all_of(inputs, [](const Tensor& input) { return bool(input); }))
    return std::nullopt;
  if (node.name == sum_name) return Tensors(1, inputs[0] ? inputs[0] : inputs[1]);
  return Tensors(node.results.size());
}

/// Where the graph becomes part of one that is being traced: a sum of gradients is one there, too.
void add_gradients_again(std::span<const Tensor> inputs, std::span<const Tensor> results) {
  if (auto* tracer = dynamic_cast<GraphTracer*>(current_tracer()))
    tracer->adds_gradients(results[0], inputs[0], inputs[1]);
}

}  // namespace

Tensors Executable::run_node(std::size_t number, std::span<const Tensor> inputs, Run& run) const {
  const Node& node = graph_.nodes[number];
  switch (node.kind) {
    case NodeKind::parameter:
      break;  // given
    case NodeKind::constant:
      return Tensors(1, node.constant);
    case NodeKind::read: {
      const LocationScope location({node.location, node.call});
      const WholeScope scope(node.scope);
      return Tensors(1, node.variable->read());
    }
    case NodeKind::assign: {
      const LocationScope location({node.location, node.call});
      const WholeScope scope(node.scope);
      Variable(*node.variable).assign(inputs[0]);
      break;
    }
    case NodeKind::op:
      if (node.draws || !node.late.empty())
        return run_op_node(node, inputs.first(operand_count(node)),
                           run.draws.drawn(node, static_cast<std::int32_t>(number), inputs),
                           run.needs_run_op(), careful_[number], run.unread);
      return run_op_node(node, inputs, node.attributes, run.needs_run_op(), careful_[number], run.unread);
    case NodeKind::branch:
    case NodeKind::loop:
    case NodeKind::unwind: {
      std::optional<StopRecording> stopped;
      if (run.one_call) stopped.emplace();
      if (node.kind == NodeKind::branch) return run_branch(number, inputs);
      return node.kind == NodeKind::loop ? run_loop(number, inputs) : run_unwind(number, inputs);
    }
    case NodeKind::absent:
      if (auto* tracer = dynamic_cast<GraphTracer*>(current_tracer()))
        return Tensors(1, tracer->absent(graph_.value_spec({static_cast<std::int32_t>(number), 0})));
      return Tensors(1);
    case NodeKind::custom:
      return run_custom(number, inputs);
    case NodeKind::host:
      return run_host(node, inputs);
    case NodeKind::tape_start:
      run.tape(*node.tape).start();
      break;
    case NodeKind::tape_stop:
      run.tape(*node.tape).stop();
      break;
    case NodeKind::tape_watch:
      if (node.variable)
        run.tape(*node.tape).watch(*node.variable);
      else
        run.tape(*node.tape).watch(inputs[0]);
      break;
    case NodeKind::gradient:
      return gradient_of(run.tape(*node.tape), node, inputs);
  }
  return {};
}

Tensors Executable::call(std::span<const Tensor> arguments) const {
  failed_location = 0;  // of an earlier failure that was not asked for: in a playback
  if (!current_observer() && !current_tracer()) return (*this)(arguments);
  check(arguments);
  return in_call(graph_, signature_of(graph_), arguments, [&] { return (*this)(arguments); });
}

void Executable::run_step(std::size_t number, Run& run) const {
  constexpr std::size_t steps_between_checks = 64;
  const NodeSlots& step = layout_.steps[number];
  try {
    if (number % steps_between_checks == 0) check_interrupt();
    const BorrowedInputs inputs(run.values, layout_.inputs_of(step));
    if (run.log) run.log->begin(number);
    if (runs_something(graph_.nodes[number])) run.parts.follow(graph_.nodes[number].part.get());
    std::optional<Tensors> found;
    if (graph_.has_gaps) found = results_of_gaps(graph_.nodes[number], inputs);
    Tensors results = found ? std::move(*found) : run_node(number, inputs, run);
    if (graph_.nodes[number].name == sum_name) add_gradients_again(inputs, results);
    if (careful_[number]) {
      check_results(number, results);
      narrow_again(graph_.nodes[number], results);
    }
    for (std::size_t result = 0; result < results.size(); ++result) {
      const auto slot = step.first_result + static_cast<std::uint32_t>(result);
      if (run.log) run.log->set(slot, results[result]);
      run.values[slot] = std::move(results[result]);
    }
  } catch (...) {
    run.parts.fail();
    if (failed_location == 0) failed_location = graph_.nodes[number].location;  // of the innermost graph
    throw;
  }
  for (const std::uint32_t slot : layout_.unread_behind(step)) run.unread.keep(run.values[slot]);
}

void Executable::run_group(std::size_t begin, std::size_t end, Run& run) const {
  for (std::size_t i = begin; i < end; ++i)
    if (graph_.nodes[i].kind != NodeKind::op)  // constants, variables' values
      run.values[layout_.steps[i].first_result] = run_node(i, {}, run)[0];
  try {
    schedule_->run_group(begin, run.values);
  } catch (const FailedNode& failed) {
    if (failed_location == 0) failed_location = graph_.nodes[failed.node].location;
    std::rethrow_exception(failed.error);
  }
}

/// Of a chain: its nodes wait for the last one, unless an observer is there at the first one.
void Executable::run_fused_step(std::size_t number, Run& run) const {
  const std::uint32_t chain = fused_->chain_of(number);
  const std::span<const std::int32_t> nodes = fused_->nodes_of(chain);
  if (run.waits.empty()) run.waits.resize(fused_->size());
  if (number == static_cast<std::size_t>(nodes.front())) run.waits[chain] = !run.needs_run_op();
  if (!run.waits[chain]) return run_step(number, run);
  if (number != static_cast<std::size_t>(nodes.back())) return;
  bool is_done = false;
  try {
    check_interrupt();
    is_done = !run.needs_run_op() && fused_->run(chain, run.values);
  } catch (...) {
    if (failed_location == 0) failed_location = graph_.nodes[number].location;
    throw;
  }
  if (!is_done) {
    for (const std::int32_t node : nodes) run_step(static_cast<std::size_t>(node), run);
    return;
  }
  for (const std::uint32_t slot : layout_.unread_behind(layout_.steps[number]))
    run.unread.keep(run.values[slot]);
}

void Executable::run_steps(Run& run) const {
  for (std::size_t i = graph_.arguments + graph_.captured.size(); i < layout_.steps.size();) {
    if (fused_ && fused_->chain_of(i) != FusedLoops::none) {
      run_fused_step(i++, run);
      continue;
    }
    if (const std::size_t end = schedule_ ? schedule_->end_of_group(i) : i;
        end > i && !graph_.has_gaps && !run.needs_run_op()) {
      run_group(i, end, run);
      i = end;
    } else {
      run_step(i++, run);
    }
  }
}

void Executable::take_argument(std::size_t parameter, Tensor argument, Run& run) const {
  const std::uint32_t slot = layout_.steps[parameter].first_result;
  if (run.log) run.log->set(slot, argument);
  run.values[slot] = std::move(argument);
}

void Executable::begin_log(Run& run) const {
  const std::shared_ptr<const NameIndex> index = name_index();
  run.log.emplace(index);
  run.parts.find_values([index, &run](std::uint64_t id) {
    const auto slot = index->slot_of.find(id);
    return slot == index->slot_of.end() ? Tensor() : run.values[slot->second];
  });
}

std::shared_ptr<const NameIndex> Executable::name_index() const {
  std::call_once(names_once_, [this] { names_ = std::make_shared<const NameIndex>(graph_, layout_); });
  return names_;
}

Tensors Executable::results_of(const Run& run) const {
  Tensors results;
  for (const std::uint32_t slot : layout_.result_slots) results.push_back(run.values[slot]);
  return results;
}

Tensors Executable::run(std::span<const Tensor> arguments, const Options& options) const {
  check(arguments);
  Run run(layout_.slot_count, options);
  if (current_observer() || current_tracer()) begin_log(run);
  for (std::size_t i = 0; i < arguments.size(); ++i) take_argument(i, arguments[i], run);
  run_steps(run);
  if (options.own) {
    run.draws.set_outer(nullptr);
    *options.own = std::move(run.draws);
  }
  return results_of(run);
}

std::optional<Tensors> Executable::run_taped(std::span<const Tensor> arguments, const Draws* outer) const {
  const detail::ThreadState& thread = detail::thread_state;
  if (thread.recording == 0 || thread.quiet != 0) return std::nullopt;
  if (!is_unattended()) {
    if (!outer_gradients_ || !current_observer()) return std::nullopt;
    check(arguments);
    gradients_->note_tapes(arguments, *outer_gradients_);
    return std::nullopt;
  }
  check(arguments);
  return gradients_->run_taped(arguments, outer, outer_gradients_.get());
}

std::optional<Tensors> Executable::run_specialized(std::span<const Tensor> arguments,
                                                   const Draws* outer) const {
  if (!specializations_ || outer || !is_unattended()) return std::nullopt;
  const detail::ThreadState& thread = detail::thread_state;
  const bool is_recorded = thread.recording != 0 && thread.quiet == 0;
  if (!plays_tapes_ && !is_recorded) return std::nullopt;
  check(arguments);
  const std::shared_ptr<const Executable> known = specializations_->of(arguments, is_recorded);
  if (!known) return std::nullopt;
  return (*known)(arguments);
}

Tensors Executable::operator()(std::span<const Tensor> arguments, const Draws* outer) const {
  if (std::optional<Tensors> results = run_specialized(arguments, outer)) return std::move(*results);
  if (std::optional<Tensors> results = run_taped(arguments, outer)) return std::move(*results);
  return run(arguments, {outer});
}

Tensors Executable::run_owned(Tensors arguments, const Draws* outer) const {
  if (std::optional<Tensors> results = run_specialized(arguments, outer)) return std::move(*results);
  if (std::optional<Tensors> results = run_taped(arguments, outer)) return std::move(*results);
  check(arguments);
  Run run(layout_.slot_count, {outer});
  if (current_observer() || current_tracer()) begin_log(run);
  for (std::size_t i = 0; i < arguments.size(); ++i) take_argument(i, std::move(arguments[i]), run);
  run_steps(run);
  return results_of(run);
}

}  // namespace tapedeck::graph
