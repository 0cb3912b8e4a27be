#include "engine/graph/tracer.h"

#include <algorithm>
#include <atomic>

#include "engine/graph/calls.h"
#include "engine/graph/control.h"
#include "engine/graph/run_log.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::graph {
namespace {

/// Of a random op that takes its place from a sequence: without the place that it had while it was traced.
Attributes without_place(const OpDef& op, const Attributes& attributes) {
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < attributes.size(); ++i) values.push_back(attributes[i]);
  values[op.place_of("key")] = std::monostate{};
  values[op.place_of("counter")] = std::monostate{};
  return Attributes(std::move(values));
}

/// The number that a draw has while it is traced; nothing for other ops, and where the place is given.
std::optional<std::int64_t> traced_draw(const OpContext& context) {
  const auto place = context.op.find_place("counter");
  const auto* counter = place ? std::get_if<std::int64_t>(&context.attributes[*place]) : nullptr;
  return counter && *counter < drawn_when_run / 2 ? std::optional(*counter) : std::nullopt;
}

std::string described(const Tensor& tensor) {
  return std::string(dtype_name(tensor.dtype())) + " tensor of shape " + shape_text(tensor);
}

std::uint64_t next_number() {
  static std::atomic<std::uint64_t> newest{0};
  return newest.fetch_add(1, std::memory_order_relaxed) + 1;
}

}  // namespace

GraphTracer::GraphTracer(std::string name, GraphTracer* around) : around_(around), number_(next_number()) {
  graph_.name = std::move(name);
  graph_.has_gaps = around && around->graph_.has_gaps;
  graph_.watched_up_to = detail::newest_tensor_id();
  if (around)
    locate_ = around->locate_;
  else
    forget_marks();
}

CallSite GraphTracer::call_site() const {
  const CallSite captured = capture_call_site();
  return captured.location == 0 && locate_ ? CallSite{locate_(), 0} : captured;
}

Tensor GraphTracer::parameter(const std::string& name, const ValueSpec& spec) {
  Node node;
  node.kind = NodeKind::parameter;
  node.name = name;
  set_results(node, {&spec, 1});
  ++graph_.arguments;
  return results_of(add(std::move(node), {}))[0];
}

std::int32_t GraphTracer::add(Node node, std::span<const Tensor> inputs) {
  const std::string_view what = node.op ? std::string_view(node.op->name) : std::string_view(graph_.name);
  for (const Tensor& input : inputs) node.inputs.push_back(value_of(input, what));
  const CallSite site = call_site();
  node.location = site.location;
  node.call = site.call;
  node.scope = current_scope();
  node.device = device_scope();
  node.part = traced_part();
  const bool runs = node.kind != NodeKind::parameter && node.kind != NodeKind::constant;
  if (runs && !node.names) node.names = names_here();
  graph_.nodes.push_back(std::move(node));
  return static_cast<std::int32_t>(graph_.nodes.size()) - 1;
}

/// `worlds`: of each result, where they follow from those of the inputs.
Tensors GraphTracer::results_of(std::int32_t number, const std::vector<Worlds>* worlds) {
  Tensors results;
  Node& node = graph_.nodes[static_cast<std::size_t>(number)];
  for (std::size_t i = 0; i < node.results.size(); ++i) {
    TensorSpec& spec = node.results[i];
    const Value value{number, static_cast<std::int32_t>(i)};
    const UnknownShape unknown = node.unknown.empty() ? UnknownShape{} : node.unknown[i];
    if (unknown) {
      const Worlds& own = worlds_[value] = worlds ? (*worlds)[i] : new_worlds(spec.shape, unknown);
      spec.shape = **std::ranges::find_if(own, [](const auto& shape) { return shape.has_value(); });
      open_up_to_ = graph_.nodes.size();
    }
    results.push_back(symbolic_tensor(spec.dtype, spec.shape, unknown));
    values_[results[i].id()] = value;
    node.symbols.emplace_back(results[i].id(), value.result);
  }
  const auto place = static_cast<std::size_t>(number);
  if (tensors_.size() <= place) tensors_.resize(place + 1);
  tensors_[place] = results;
  return results;
}

bool GraphTracer::knows(const Tensor& tensor) const {
  return values_.contains(tensor.id()) || (around_ && around_->knows(tensor));
}

Tensor GraphTracer::tensor_at(Value value) const {
  const auto number = static_cast<std::size_t>(value.node);
  if (graph_.nodes[number].kind == NodeKind::constant) return graph_.nodes[number].constant;
  const auto result = static_cast<std::size_t>(value.result);
  return number < tensors_.size() && result < tensors_[number].size() ? tensors_[number][result] : Tensor();
}

Value GraphTracer::value_of(const Tensor& tensor, std::string_view what) {
  if (const auto known = values_.find(tensor.id()); known != values_.end()) return known->second;
  return tensor.is_symbolic() ? captured(tensor, what) : constant_of(tensor);
}

Value GraphTracer::constant_of(const Tensor& tensor) {
  Node node;
  node.kind = NodeKind::constant;
  node.constant = tensor;
  node.results.push_back({tensor.dtype(), tensor.shape()});
  return values_[tensor.id()] = {add(std::move(node), {}), 0};
}

Value GraphTracer::captured(const Tensor& tensor, std::string_view what) {
  if (guessing_ && !(around_ && around_->knows(tensor))) return {};
  if ((!around_ || !around_->knows(tensor)) && is_in_program_graph())
    fail<InvalidArgumentError>(
        what, ": a ", described(tensor),
        " must be from the same graph as what is built here; it belongs to another one");
  if (!around_ || !around_->knows(tensor))
    fail<InvalidArgumentError>(
        what, ": a ", described(tensor),
        " belongs to the trace of another graph function, which has ended; return it from that function "
        "to use it outside");
  Node node;
  node.kind = NodeKind::parameter;
  node.name = "captured" + std::to_string(captures_.size());
  const ValueSpec spec = graph::spec_of(tensor);
  set_results(node, {&spec, 1});
  node.symbols.emplace_back(tensor.id(), 0);
  captures_.push_back(std::move(node));
  graph_.has_gaps = graph_.has_gaps || around_->may_lack(tensor);
  graph_.captured.push_back(tensor);
  // Its number is known when the number of arguments is: finish() puts it there.
  return values_[tensor.id()] = {-1 - static_cast<std::int32_t>(captures_.size()), 0};
}

Tensors GraphTracer::call(const OpContext& context) {
  if (context.op.shape_of_values)
    fail<UnimplementedError>(
        context.op.name,
        ": the shape of its result depends on values, which a graph function does not have "
        "while it is traced");
  Node node;
  node.kind = NodeKind::op;
  node.op = &context.op;
  node.results.assign(context.outputs.begin(), context.outputs.end());
  return add_call(std::move(node), context, context.inputs, nullptr);
}

/// `inputs`: those of the call, and behind them what gives numbers of its attributes.
Tensors GraphTracer::add_call(Node&& node, const OpContext& context, std::span<const Tensor> inputs,
                              const std::vector<Worlds>* worlds) {
  node.draws = traced_draw(context).has_value();
  node.draw_of = node.draws ? draw_of(context) : -1;
  node.attributes = node.draws ? without_place(context.op, context.attributes) : context.attributes;
  const bool is_first = node.draws && node.draw_of == -1;
  const std::int32_t number = add(std::move(node), inputs);
  if (is_first) draws_[*traced_draw(context)] = number;
  if (worlds) open_up_to_ = graph_.nodes.size();
  const Tensors results = results_of(number, worlds);
  if (std::ranges::any_of(inputs, [&](const Tensor& input) { return may_lack(input); }))
    for (const Tensor& result : results) lacks(result);
  return results;
}

bool GraphTracer::may_lack(const Tensor& tensor) const {
  return lacking_.contains(tensor.id()) || (around_ && around_->may_lack(tensor));
}

void GraphTracer::lacks(const Tensor& tensor) {
  lacking_.insert(tensor.id());
  graph_.has_gaps = true;
}

Tensor GraphTracer::absent(const ValueSpec& spec) {
  Node node;
  node.kind = NodeKind::absent;
  set_results(node, {&spec, 1});
  Tensor gradient = results_of(add(std::move(node), {}))[0];
  lacks(gradient);
  return gradient;
}

void GraphTracer::adds_gradients(const Tensor& sum, const Tensor& one, const Tensor& other) {
  const bool lacks_one = may_lack(one), lacks_other = may_lack(other);
  const auto found = values_.find(sum.id());
  if (!(lacks_one || lacks_other) || found == values_.end()) return;
  Node& node = graph_.nodes[static_cast<std::size_t>(found->second.node)];
  if (node.kind != NodeKind::op || node.op->name != "add") return;
  node.name = sum_name;
  if (!(lacks_one && lacks_other)) lacking_.erase(sum.id());
}

Tensors GraphTracer::filled(std::span<const Tensor> cotangents) {
  static const OpDef* const identity = Registry::instance().find("identity");
  Tensors filled(cotangents.begin(), cotangents.end()), there;
  for (const Tensor& cotangent : cotangents)
    if (cotangent) there.push_back(cotangent);
  const auto lacking = std::ranges::count_if(there, [&](const Tensor& each) { return may_lack(each); });
  if (there.size() < 2 || lacking == 0) return filled;
  const bool all_may_lack = lacking == std::ssize(there);
  for (Tensor& cotangent : filled) {
    if (!cotangent || !may_lack(cotangent)) continue;
    Node node;
    node.kind = NodeKind::op;
    node.op = identity;
    node.name = filled_name;
    const ValueSpec spec = graph::spec_of(cotangent);
    set_results(node, {&spec, 1});
    Tensors inputs{cotangent};
    for (const Tensor& other : there)
      if (!other.same_body(cotangent)) inputs.push_back(other);
    cotangent = results_of(add(std::move(node), inputs))[0];
    if (all_may_lack) lacks(cotangent);
  }
  return filled;
}

/// The node that drew what this call draws again; -1 where it draws for the first time.
std::int32_t GraphTracer::draw_of(const OpContext& context) {
  const std::int64_t draw = *traced_draw(context);
  if (const auto known = draws_.find(draw); known != draws_.end()) return known->second;
  if (outer_draws_allowed_)
    if (const auto known = around_->draws_.find(draw); known != around_->draws_.end())
      return outer_draw(known->second);
  for (const GraphTracer* outer = around_; outer; outer = outer->around_)
    if (outer->draws_.contains(draw))
      fail<UnimplementedError>(context.op.name,
                               ": a gradient that draws again what the graph function around it drew");
  return -1;
}

Tensor GraphTracer::read(const Variable& variable) {
  if (const auto known = variables_.find(variable.id()); known != variables_.end()) return known->second;
  Node node;
  node.kind = NodeKind::read;
  node.variable = variable;
  const ValueSpec spec = graph::spec_of(variable);
  set_results(node, {&spec, 1});
  return variables_[variable.id()] = results_of(add(std::move(node), {}))[0];
}

void GraphTracer::assign(const Variable& variable, const Tensor& value) {
  Node node;
  node.kind = NodeKind::assign;
  node.variable = variable;
  add(std::move(node), {&value, 1});
  // What reads it now reads a tensor of its own: no gradient flows from there to what was assigned.
  variables_.erase(variable.id());
}

Tensors GraphTracer::add_control(Node node, std::span<const Tensor> inputs) {
  Tensors results = results_of(add(std::move(node), inputs));
  variables_.clear();  // it may have assigned to any
  return results;
}

void GraphTracer::add_own_gradient(OwnGradient own, std::span<const Tensor> inputs,
                                   std::span<const Tensor> outputs, const CustomVjp& vjp) {
  own.inputs = inputs.size();
  own.outputs = outputs.size();
  own.given.clear();
  own.error.clear();
  Node node;
  node.kind = NodeKind::custom;
  Tensors all(inputs.begin(), inputs.end());
  all.insert(all.end(), outputs.begin(), outputs.end());
  GraphTracer inner("gradient of " + own.name, this);
  Tensors cotangents;
  std::vector<ValueSpec> specs;
  for (const Tensor& output : outputs) {
    specs.push_back(graph::spec_of(output));
    cotangents.push_back(inner.parameter("d" + std::to_string(cotangents.size()), specs.back()));
  }
  set_results(node, specs);
  try {
    Tensors gradients;
    {
      const StopRecording stopped;
      const TracerScope scope(&inner);
      gradients = vjp(cotangents);
    }
    Tensors defined;
    for (const Tensor& gradient : gradients) {
      own.given.push_back(static_cast<bool>(gradient));
      if (gradient) defined.push_back(gradient);
    }
    auto graph = std::make_shared<const Graph>(inner.finish(defined));
    all.insert(all.end(), graph->captured.begin(), graph->captured.end());
    node.graphs.push_back(std::move(graph));
  } catch (const Error& error) {  // it matters where the gradient is asked for
    own.error = error.what();
  }
  node.own_gradient = std::make_shared<const OwnGradient>(std::move(own));
  std::vector<Worlds> worlds;
  for (const Tensor& output : outputs) worlds.push_back(worlds_of(output));
  const std::int32_t number = add(std::move(node), all);
  // What reads an output from here on reads the node's.
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const Value value = values_[outputs[i].id()] = {number, static_cast<std::int32_t>(i)};
    if (unknown_of(outputs[i])) worlds_[value] = worlds[i];
  }
  tensors_.resize(static_cast<std::size_t>(number) + 1);
  tensors_.back().assign(outputs.begin(), outputs.end());
}

void GraphTracer::playback_begins(std::span<const Tensor> targets) {
  const CallSite site = call_site();
  Part part{traced_part(), "gradient", site.location, current_scope(), false, true, site.call};
  part.inputs = ids_of(targets);
  begin_part(std::move(part));
}

void GraphTracer::vjp_begins(const TracedVjp& vjp) {
  const Tensor output = vjp.outputs.empty() ? Tensor() : vjp.outputs[0];
  const CallSite site = call_site();
  Part part{traced_part(), "VJP of " + std::string(vjp.name), site.location, current_scope(), false, true,
            site.call};
  part.inputs = ids_of(vjp.cotangents);
  part.vjp_of = vjp.op;
  part.forward = output ? output.id() : 0;
  part.attributes = vjp.attributes;
  part.wanted.assign(vjp.wanted.begin(), vjp.wanted.end());
  // As the recorder has it: a VJP belongs to the scope of its op.
  if (const Node* forward = node_of(output)) {
    part.scope = forward->scope;
    if (const std::uint32_t line = location_of(forward->location).line; line != 0)
      part.name += ", line " + std::to_string(line);
  }
  begin_part(std::move(part));
}

void GraphTracer::part_ends(std::span<const Tensor> results) {
  parts_.back()->part->results = ids_of(results);
  parts_.pop_back();
}

void GraphTracer::begin_part(Part part) {
  const std::uint32_t scope = part.scope;
  parts_.push_back(std::make_unique<OpenPart>(std::make_shared<Part>(std::move(part)), scope));
}

/// Of this function or of one around it; nullptr: it is not known.
const Node* GraphTracer::node_of(const Tensor& tensor) const {
  const auto known = values_.find(tensor.id());
  if (known == values_.end()) return around_ ? around_->node_of(tensor) : nullptr;
  const auto number = static_cast<std::size_t>(known->second.node);
  return known->second.node >= 0 && number < graph_.nodes.size() ? &graph_.nodes[number] : nullptr;
}

Graph GraphTracer::finish(std::span<const Tensor> results) {
  if (std::ranges::any_of(results, [&](const Tensor& result) { return result && may_lack(result); }))
    for (const Tensor& result : results) graph_.may_lack.push_back(may_lack(result));
  graph_.has_gaps = graph_.has_gaps || !graph_.may_lack.empty();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i]) fail<InvalidArgumentError>(graph_.name, ": result ", i, " is undefined");
    graph_.results.push_back(value_of(results[i], graph_.name));
  }
  const auto arguments = static_cast<std::int32_t>(graph_.arguments);
  const auto count = static_cast<std::int32_t>(captures_.size());
  const auto moved = [&](Value& value) {
    if (value.node < -1)
      value.node = arguments - value.node - 2;
    else if (value.node >= arguments)
      value.node += count;
  };
  for (Node& node : graph_.nodes) {
    for (Value& input : node.inputs) moved(input);
    if (node.draw_of >= 0) node.draw_of += count;
  }
  for (Value& result : graph_.results) moved(result);
  graph_.nodes.insert(graph_.nodes.begin() + arguments, captures_.begin(), captures_.end());
  drop_unused_tapes();
  return std::move(graph_);
}

Graph trace(const std::string& name, std::span<const TensorSpec> arguments,
            const std::function<Tensors(std::span<const Tensor>)>& function) {
  std::vector<ValueSpec> specs;
  for (const TensorSpec& spec : arguments) specs.push_back({spec.dtype, spec.shape});
  return trace_open(name, specs, function);
}

Graph trace_open(const std::string& name, std::span<const ValueSpec> arguments,
                 const std::function<Tensors(std::span<const Tensor>)>& function) {
  GraphTracer tracer(name, dynamic_cast<GraphTracer*>(current_tracer()));
  Tensors parameters;
  for (std::size_t i = 0; i < arguments.size(); ++i)
    parameters.push_back(tracer.parameter("x" + std::to_string(i), arguments[i]));
  Tensors results;
  {
    const StopRecording stopped;  // tapes that are active now see the calls of the function, not its trace
    const TracerScope scope(&tracer);
    results = function(parameters);
  }
  return tracer.finish(results);
}

}  // namespace tapedeck::graph
