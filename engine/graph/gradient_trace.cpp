// The gradient graph of a taped graph: its nodes are played backwards on symbolic tensors.
#include <algorithm>
#include <unordered_map>

#include "engine/graph/passes/passes.h"
#include "engine/graph/taped_graph.h"
#include "engine/graph/tracer.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"
#include "engine/tape/playback.h"

namespace tapedeck::graph {
namespace {

constexpr std::size_t not_there = SIZE_MAX;

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

std::vector<bool> defined(std::span<const Tensor> tensors) {
  std::vector<bool> flags;
  for (const Tensor& tensor : tensors) flags.push_back(static_cast<bool>(tensor));
  return flags;
}

}  // namespace

struct TapedGraph::Gradient {
  Gradient(Graph graph, std::size_t gradients) : executable(std::move(graph)), places(gradients, not_there) {}

  Executable executable;
  std::vector<std::size_t> places;  ///< of each input's and each output's gradient among the results
  /// Of each tensor of the forward run: its place among those that were kept; not_there: its shape alone is
  /// read.
  std::vector<std::size_t> kept;

  Tensors run(const tapedeck::detail::SummingRequest& request, Tensors& kept_values,
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
    for (const std::size_t place : places)
      gradients.push_back(place == not_there ? Tensor() : results[place]);
    return gradients;
  }
};

/// The nodes that a tape has, on symbolic tensors.
class TapedGraph::ForwardTrace {
 public:
  explicit ForwardTrace(const TapedGraph& taped)
      : taped_(taped), layout_(taped.graph_), symbols_(layout_.slot_count), tracer_(taped.graph_.name) {}

  GraphTracer& tracer() { return tracer_; }

  const Tensor& symbol(Value value) {
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

  /// Under a tape and a TracerScope.
  void run(Tape::State& tape) {
    for (const Value input : taped_.inputs_) tape.watch(symbol(input));
    for (std::size_t i = 0; i < taped_.graph_.nodes.size(); ++i)
      if (taped_.takes_part_[i]) run_node(static_cast<std::int32_t>(i));
  }

  /// The value whose symbol that is.
  Value value_of(const Tensor& symbol) const { return values_.at(symbol.id()); }
  /// The node of the graph that drew what this node of the trace draws.
  std::int32_t drawing_node(std::int32_t traced) const { return drawing_nodes_.at(traced); }

 private:
  void run_node(std::int32_t number) {
    const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
    Tensors inputs;
    for (const Value input : node.inputs) inputs.push_back(symbol(input));
    const Attributes attributes = node.draws ? drawn(node, number, inputs) : node.attributes;
    const Tensors results = run_op(*node.op, inputs, attributes);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Value value{number, static_cast<std::int32_t>(k)};
      symbols_[layout_.slot_of(value)] = results[k];
      values_[results[k].id()] = value;
    }
    if (node.draws && !results.empty()) drawing_nodes_.emplace(tracer_.number_of(results[0]), number);
  }

  Attributes drawn(const Node& node, std::int32_t number, std::span<const Tensor> inputs) {
    if (const auto first = draws_.find(node.draw_of); first != draws_.end()) return first->second;
    std::vector<Attribute> values;
    for (std::size_t i = 0; i < node.attributes.size(); ++i) values.push_back(node.attributes[i]);
    resolve_random(*node.op, values, inputs);
    return draws_[number] = Attributes(std::move(values));
  }

  const TapedGraph& taped_;
  const Layout layout_;
  std::vector<Tensor> symbols_;  ///< by slot
  GraphTracer tracer_;
  std::unordered_map<std::uint64_t, Value> values_;               ///< by the symbol's id
  std::unordered_map<std::int32_t, Attributes> draws_;            ///< by node
  std::unordered_map<std::int32_t, std::int32_t> drawing_nodes_;  ///< by node of the trace
};

std::unique_ptr<TapedGraph::Gradient> TapedGraph::trace(const Request& request) const {
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
  Tensors targets, cotangents, sums;
  std::vector<Tape::Source> sources;
  std::vector<std::size_t> wanted;
  for (std::size_t i = 0; i < request.cotangents.size(); ++i) {
    if (!request.cotangents[i]) continue;
    targets.push_back(forward.symbol(outputs_[i]));
    cotangents.push_back(tracer.parameter("d" + std::to_string(i), graph_.value_spec(outputs_[i])));
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    Tensor sum;
    if (request.sums[i]) sum = tracer.parameter("sum" + std::to_string(i), graph_.value_spec(inputs_[i]));
    if (!request.wanted[i]) continue;
    wanted.push_back(i);
    sources.push_back({forward.symbol(inputs_[i]), {}});
    sums.push_back(std::move(sum));
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

  std::vector<std::size_t> places(inputs_.size() + request.sources.size(), not_there);
  Tensors results;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i]) continue;
    places[wanted[i]] = results.size();
    results.push_back(gradients[i]);
  }
  Graph graph = tracer.finish(results);
  graph.watched_up_to = graph_.watched_up_to;
  for (Node& node : graph.nodes)
    if (const auto outer = outer_draw_of(node)) node.draw_of = outer_draw(forward.drawing_node(*outer));
  std::vector<std::size_t> kept;
  for (const Tensor& captured : graph.captured) {
    const auto found = std::ranges::find(kept_, forward.value_of(captured));
    kept.push_back(found == kept_.end() ? not_there : static_cast<std::size_t>(found - kept_.begin()));
  }
  // A tape adds up what each node gives, in the order of eager code: so nodes that it sees are not merged.
  auto made = std::make_unique<Gradient>(
      request.is_taped ? unmerged(graph) : run_passes(graph).back().passed.graph, places.size());
  made->places = std::move(places);
  made->kept = std::move(kept);
  return made;
}

std::shared_ptr<const TapedGraph::Gradient> TapedGraph::traced(const Request& request) {
  // Inside a FloatingScope a gradient has other dtypes.
  if (tapedeck::detail::thread_state.detours != 0) return trace(request);
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
  const tapedeck::detail::ThreadState& thread = tapedeck::detail::thread_state;
  const Request key{defined(request.cotangents),
                    defined(request.sums),
                    {request.wanted.begin(), request.wanted.end()},
                    {request.is_source.begin(), request.is_source.end()},
                    current_tracer() || (thread.recording != 0 && thread.quiet == 0)};
  return traced(key)->run(request, kept, draws);
}

}  // namespace tapedeck::graph
