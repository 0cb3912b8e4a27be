// The gradient graph of a taped graph: its nodes are played backwards on symbolic tensors.
#include <algorithm>

#include "engine/graph/forward_trace.h"
#include "engine/graph/passes/passes.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tape/playback.h"

namespace tapedeck::graph {
namespace {

/// A tape that the tracers do not know: it is played while the gradient is traced.
class TraceTape {
 public:
  TraceTape() : state_(std::make_shared<Tape::State>(false, false)) {
    state_->started = true;
    tapedeck::detail::TapeStack::of_this_thread().push(state_);
  }
  ~TraceTape() { stop(); }
  TraceTape(const TraceTape&) = delete;

  void stop() {
    if (tapedeck::detail::TapeStack* stack = state_->stack.load()) stack->remove(*state_);
  }
  Tape::State& state() { return *state_; }

 private:
  const std::shared_ptr<Tape::State> state_;
};

}  // namespace

TapedGraph::Gradient::Gradient(Graph graph, std::size_t gradients)
    : executable(std::move(graph)), places(gradients, not_there) {}

TapedGraph::Arrival TapedGraph::Gradient::arrival(std::size_t place) const {
  if (places[place] == not_there) return Arrival::none;
  const std::vector<bool>& lacking = executable.graph().may_lack;
  return !lacking.empty() && lacking[places[place]] ? Arrival::maybe : Arrival::always;
}

Tensors TapedGraph::Gradient::run(const tapedeck::detail::SummingRequest& request, Tensors& kept_values,
                                  const Draws& draws) const {
  Tensors arguments;
  for (const Tensor& cotangent : request.cotangents)
    if (cotangent) arguments.push_back(cotangent);
  for (const Tensor& sum : request.sums)
    if (sum) arguments.push_back(sum);
  for (const std::size_t place : kept) {
    const TensorSpec& spec = executable.graph().nodes[arguments.size()].results[0];
    arguments.push_back(place == not_there ? ops::zeros(spec.shape, spec.dtype) : kept_values[place]);
  }
  if (request.is_last) kept_values.clear();
  const Tensors results = executable.run_owned(std::move(arguments), &draws);
  Tensors gradients;
  for (const std::size_t place : places) gradients.push_back(place == not_there ? Tensor() : results[place]);
  return gradients;
}

TapedGraph::ForwardTrace::ForwardTrace(const TapedGraph& taped)
    : taped_(taped), layout_(taped.graph_), symbols_(layout_.slot_count), tracer_(taped.graph_.name) {}

const Tensor& TapedGraph::ForwardTrace::symbol(Value value) {
  Tensor& symbol = symbols_[layout_.slot_of(value)];
  if (symbol) return symbol;
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(value.node)];
  const bool is_input = std::ranges::find(taped_.inputs_, value) != taped_.inputs_.end();
  if (node.kind == NodeKind::constant && !is_input)
    symbol = node.constant;
  else
    symbol = tracer_.parameter("v" + std::to_string(value.node), taped_.graph_.value_spec(value));
  values_[symbol.id()] = value;
  return symbol;
}

void TapedGraph::ForwardTrace::run(Tape::State& tape) {
  for (const Value input : taped_.inputs_) tape.watch(symbol(input));
  for (std::size_t i = 0; i < taped_.graph_.nodes.size(); ++i) {
    if (!taped_.takes_part_[i]) continue;
    const auto number = static_cast<std::int32_t>(i);
    switch (taped_.graph_.nodes[i].kind) {
      case NodeKind::op:
        run_op_node(number);
        break;
      case NodeKind::custom:
        run_custom(number);
        break;
      default:
        run_control(number);
    }
  }
}

void TapedGraph::ForwardTrace::run_op_node(std::int32_t number) {
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  Tensors inputs;
  for (const Value input : node.inputs) inputs.push_back(symbol(input));
  const Attributes attributes = node.draws ? drawn(node, number, inputs) : node.attributes;
  const LocationScope location({node.location, node.call});
  const WholeScope scope(node.scope);
  const Tensors results = run_op(*node.op, inputs, attributes);
  for (std::size_t k = 0; k < results.size(); ++k) {
    const Value value{number, static_cast<std::int32_t>(k)};
    symbols_[layout_.slot_of(value)] = results[k];
    values_[results[k].id()] = value;
  }
  if (node.draws && !results.empty()) drawing_nodes_.emplace(tracer_.number_of(results[0]), number);
}

/// The function's own gradient takes the place of those of its ops.
void TapedGraph::ForwardTrace::run_custom(std::int32_t number) {
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  const OwnGradient& own = *node.own_gradient;
  const std::vector<Value> values = *inputs_of_custom(taped_.graph_, node);
  Tensors inputs, outputs, read;
  for (const Value value : values) inputs.push_back(symbol(value));
  for (std::size_t i = 0; i < own.outputs; ++i)
    outputs.push_back(symbol({number, static_cast<std::int32_t>(i)}));
  for (std::size_t i = own.inputs + own.outputs; i < node.inputs.size(); ++i)
    read.push_back(symbol(node.inputs[i]));
  auto graph = std::make_shared<const Executable>(*node.graphs[0]);
  const CustomVjp vjp = [own = node.own_gradient, graph = std::move(graph), outputs,
                         read](std::span<const Tensor> cotangents) {
    Tensors arguments;
    for (std::size_t i = 0; i < outputs.size(); ++i)
      arguments.push_back(cotangents[i] ? cotangents[i] : ops::zeros_like(outputs[i]));
    arguments.insert(arguments.end(), read.begin(), read.end());
    const Tensors found = (*graph)(arguments);
    Tensors gradients;
    std::size_t next = 0;
    for (const bool there : own->given) gradients.push_back(there ? found[next++] : Tensor());
    return gradients;
  };
  static const Attributes none;
  auto call =
      std::make_shared<const tapedeck::detail::CustomCall>(tapedeck::detail::CustomCall{own.name, vjp});
  tapedeck::detail::TapeStack::of_this_thread().write({nullptr, std::move(call), inputs, none, outputs, 0});
}

Attributes TapedGraph::ForwardTrace::drawn(const Node& node, std::int32_t number,
                                           std::span<const Tensor> inputs) {
  if (const auto first = draws_.find(node.draw_of); first != draws_.end()) return first->second;
  std::vector<Attribute> values;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) values.push_back(node.attributes[i]);
  resolve_random(*node.op, values, inputs);
  return draws_[number] = Attributes(std::move(values));
}

std::unique_ptr<TapedGraph::Gradient> TapedGraph::trace(const Request& request,
                                                        std::optional<Graph>* as_traced) const {
  const UnobservedScope unobserved;  // the debugger's own code may play a tape, too
  const StopRecording stopped;
  ForwardTrace forward(*this);
  TraceTape tape;
  {
    const TracerScope scope(&forward.tracer());
    forward.run(tape.state());
  }
  tape.stop();

  GraphTracer tracer("gradient of " + graph_.name, &forward.tracer());
  tracer.allow_outer_draws();
  tracer.share_owner();
  if (!controls_.empty()) tracer.allow_gaps();  // a branch's sides keep what the other one does not
  const auto parameter = [&](const char* name, std::size_t number, Value of, Arrival arrival) {
    if (arrival == Arrival::none) return Tensor();
    Tensor gradient = tracer.parameter(name + std::to_string(number), graph_.value_spec(of));
    if (arrival == Arrival::maybe) tracer.lacks(gradient);
    return gradient;
  };
  Tensors targets, cotangents, sums;
  std::vector<Tape::Source> sources;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < request.cotangents.size(); ++i) {
    Tensor cotangent = parameter("d", i, outputs_[i], request.cotangents[i]);
    if (!cotangent) continue;
    targets.push_back(forward.symbol(outputs_[i]));
    cotangents.push_back(std::move(cotangent));
  }
  std::map<Value, Tensor> arrived;
  for (std::size_t i = 0; i < inputs_.size(); ++i)
    if (Tensor sum = parameter("sum", i, inputs_[i], request.sums[i])) arrived[inputs_[i]] = std::move(sum);
  {
    const TracerScope scope(&tracer);
    forward.move_passed(arrived);
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const auto found = arrived.find(inputs_[i]);
    const Tensor sum = found == arrived.end() ? Tensor() : found->second;
    if (found != arrived.end()) arrived.erase(found);
    if (!request.wanted[i]) continue;
    wanted.push_back(i);
    sources.push_back({forward.symbol(inputs_[i]), {}});
    sums.push_back(sum);
  }
  for (const auto& [value, sum] : arrived) {  // of results that an input is: before all that reads them
    targets.insert(targets.begin(), forward.symbol(value));
    cotangents.insert(cotangents.begin(), sum);
  }
  for (std::size_t i = 0; i < request.sources.size(); ++i) {
    if (!request.sources[i]) continue;
    wanted.push_back(inputs_.size() + i);
    sources.push_back({forward.symbol(outputs_[i]), {}});
    sums.push_back({});
  }
  const Tensors gradients = [&] {
    const TracerScope scope(&tracer);
    return tapedeck::detail::play_back(tape.state(),
                                       {targets, sources, cotangents, Unconnected::none, nullptr, sums});
  }();

  std::vector<std::size_t> places(inputs_.size() + request.sources.size(), Gradient::not_there);
  Tensors results;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    places[wanted[i]] = results.size();
    results.push_back(gradients[i]);
  }
  return made_gradient(tracer.finish(results), forward, std::move(places), request.is_taped, as_traced);
}

std::unique_ptr<TapedGraph::Gradient> TapedGraph::made_gradient(Graph graph, const ForwardTrace& forward,
                                                                std::vector<std::size_t> places,
                                                                bool is_taped,
                                                                std::optional<Graph>* as_traced) const {
  graph.watched_up_to = graph_.watched_up_to;
  for (Node& node : graph.nodes) {
    const auto outer = outer_draw_of(node);
    if (!outer) continue;
    if (nested_)
      fail<UnimplementedError>(node.op->name,
                               ": a gradient that draws again what an iteration or a branch drew");
    node.draw_of = outer_draw(forward.drawing_node(*outer));
  }
  std::vector<std::size_t> kept;
  for (const Tensor& captured : graph.captured) {
    const auto found = std::ranges::find(kept_, forward.value_of(captured));
    kept.push_back(found == kept_.end() ? Gradient::not_there
                                        : static_cast<std::size_t>(found - kept_.begin()));
  }
  if (as_traced) *as_traced = graph;
  // A tape adds up what each node gives, in the order of eager code: so nodes that it sees are not merged.
  auto made = std::make_unique<Gradient>(is_taped ? unmerged(graph) : run_passes(graph).back().passed.graph,
                                         places.size());
  made->places = std::move(places);
  made->kept = std::move(kept);
  return made;
}

std::shared_ptr<const TapedGraph::Gradient> TapedGraph::traced(const Request& request) {
  // Inside a FloatingScope a gradient has other dtypes.
  if ((tapedeck::detail::thread_state.detours & ~tapedeck::detail::tracing_detour) != 0)
    return trace(request);
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = gradients_.find(request); known != gradients_.end()) return known->second;
  }
  std::shared_ptr<const Gradient> made = trace(request);
  const std::lock_guard lock(mutex_);
  return gradients_.emplace(request, std::move(made)).first->second;  // another thread's, if that was first
}

Tensors TapedGraph::gradient(const tapedeck::detail::SummingRequest& request, Tensors& kept,
                             const Draws& draws) {
  const auto arrivals = [](std::span<const Tensor> tensors) {
    std::vector<Arrival> all;
    for (const Tensor& tensor : tensors) all.push_back(tensor ? Arrival::always : Arrival::none);
    return all;
  };
  const tapedeck::detail::ThreadState& thread = tapedeck::detail::thread_state;
  const Request key{arrivals(request.cotangents),
                    arrivals(request.sums),
                    {request.wanted.begin(), request.wanted.end()},
                    {request.is_source.begin(), request.is_source.end()},
                    current_tracer() || (thread.recording != 0 && thread.quiet == 0)};
  return traced(key)->run(request, kept, draws);
}

}  // namespace tapedeck::graph
