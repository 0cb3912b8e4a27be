#include "engine/graph/repeat.h"

#include <algorithm>
#include <map>
#include <set>

#include "engine/graph/arrays/arrays.h"
#include "engine/graph/control.h"
#include "engine/record/trace/source_location.h"

namespace tapedeck::graph {
namespace {

bool is_differentiable(const Node& node) {
  const bool computes = node.kind == NodeKind::op || is_array_call(node) || node.kind == NodeKind::branch ||
                        node.kind == NodeKind::loop || node.kind == NodeKind::custom ||
                        node.kind == NodeKind::gradient;
  return computes &&
         std::ranges::any_of(node.results, [](const TensorSpec& spec) { return has_gradients(spec.dtype); });
}

/// Of a node's graphs and theirs.
template <class Predicate>
bool any_inside(const Node& node, const Predicate& holds) {
  return std::ranges::any_of(node.graphs, [&](const auto& graph) {
    return std::ranges::any_of(graph->nodes,
                               [&](const Node& inner) { return holds(inner) || any_inside(inner, holds); });
  });
}

void check_repeatable(const Node& node) {
  const auto once = [](const Node& inner) {
    return inner.kind == NodeKind::assign || (inner.kind == NodeKind::host && !is_array_call(inner)) ||
           (inner.draws && inner.draw_of < 0);
  };
  if (node.kind != NodeKind::branch && node.kind != NodeKind::loop) return;
  if (!any_inside(node, once)) return;
  fail<UnimplementedError>(
      "gradients: the ", node.kind == NodeKind::loop ? "loop" : "branch", " at line ",
      location_of(node.location).line,
      " assigns to a variable, prints or draws, which it would do once more; record it with "
      "tf.GradientTape");
}

}  // namespace

/// Which nodes are computed once more.
class GraphTracer::Repetition {
 public:
  Repetition(GraphTracer& tracer, std::span<const Tensor> targets, std::span<const Tape::Source> sources,
             std::span<const Tensor> held)
      : tracer_(tracer), nodes_(tracer.graph_.nodes), depends_(nodes_.size()), taken_(nodes_.size()) {
    for (const Tensor& tensor : held) {
      held_.insert(tracer_.value_of(tensor, "gradients"));
      held_origins_.insert(origin_of(tensor, &tracer_));
    }
    for (const Tensor& target : targets) targets_.push_back(tracer_.value_of(target, "gradients"));
    for (const Tape::Source& source : sources) add_source(source);
    check_functions_around();
    // value_of may have added constants.
    depends_.resize(nodes_.size());
    taken_.resize(nodes_.size());
    for (std::size_t i = 0; i < nodes_.size(); ++i) depends_[i] = depends(nodes_[i]);
    for (const Value target : targets_) take(target);
    for (const auto& values : sources_)
      for (const Value value : values)
        if (is_wanted(value)) take(value);
  }

  Repeat made(std::span<const Tensor> targets) {
    Repeat repeat;
    repeat.graph.name = "gradients";
    std::vector<Node> copies;
    add_free_sources(repeat);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (!taken_[i]) continue;
      check_repeatable(nodes_[i]);
      Node copy = nodes_[i];
      for (Value& input : copy.inputs) input = placed(input, repeat);
      repeat_draw(copy, i);
      for (std::size_t result = 0; result < copy.results.size(); ++result)
        places_[{static_cast<std::int32_t>(i), static_cast<std::int32_t>(result)}] = {
            -1 - static_cast<std::int32_t>(copies.size()), static_cast<std::int32_t>(result)};
      copies.push_back(std::move(copy));
    }
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      check_target(targets[i], targets_[i]);
      repeat.graph.results.push_back(placed(targets_[i], repeat));
    }
    for (const auto& values : sources_) {
      repeat.places.emplace_back();
      for (const Value value : values) {
        if (!places_.contains(value)) continue;
        repeat.places.back().push_back(repeat.graph.results.size());
        repeat.graph.results.push_back(placed(value, repeat));
      }
    }
    append(repeat.graph, std::move(copies));
    return repeat;
  }

 private:
  void add_source(const Tape::Source& source) {
    sources_.emplace_back();
    if (!source.variable) {
      sources_.back().push_back(tracer_.value_of(source.tensor, "gradients"));
      all_sources_.insert(sources_.back().back());
      source_origins_.insert(origin_of(source.tensor, &tracer_));
      return;
    }
    variables_.insert(source.variable->id());
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].kind != NodeKind::read || nodes_[i].variable->id() != source.variable->id()) continue;
      sources_.back().push_back({static_cast<std::int32_t>(i), 0});
      all_sources_.insert(sources_.back().back());
    }
    for (std::size_t i = 0; i < tracer_.graph_.captured.size(); ++i) {
      const auto [around, read] = origin_of(tracer_.graph_.captured[i], tracer_.around_);
      if (!around) continue;
      const Node& node = around->graph_.nodes[static_cast<std::size_t>(read.node)];
      if (node.kind != NodeKind::read || node.variable->id() != source.variable->id()) continue;
      sources_.back().push_back({-2 - static_cast<std::int32_t>(i), 0});
      all_sources_.insert(sources_.back().back());
    }
  }

  /// A value of this function or of one around it; nullptr: of none.
  using Origin = std::pair<const GraphTracer*, Value>;

  /// Where the tensor is a node's result, in the tracer's function or in one around that.
  static Origin origin_of(const Tensor& tensor, const GraphTracer* tracer) {
    for (; tracer; tracer = tracer->around_)
      if (const auto found = tracer->values_.find(tensor.id());
          found != tracer->values_.end() && found->second.node >= 0)
        return {tracer, found->second};
    return {};
  }
  static Origin origin_of(Value value, const GraphTracer* tracer) {
    if (value.node >= 0) return {tracer, value};
    if (value.node == -1) return {};
    return origin_of(tracer->graph_.captured[static_cast<std::size_t>(-value.node - 2)], tracer->around_);
  }

  bool reads_source(const Node& node) const {
    return node.kind == NodeKind::read && variables_.contains(node.variable->id());
  }

  bool is_source(const Origin& origin) const {
    const auto& [tracer, value] = origin;
    return tracer && (source_origins_.contains(origin) ||
                      reads_source(tracer->graph_.nodes[static_cast<std::size_t>(value.node)]));
  }

  /// What functions around this one computed is not computed once more: an error where a source leads to a
  /// target through that.
  void check_functions_around() const {
    std::set<Origin> seen;
    std::vector<Origin> open;
    for (const Value target : targets_)
      if (target.node >= 0) open.push_back({&tracer_, target});  // else check_target says so
    while (!open.empty()) {
      const Origin origin = open.back();
      open.pop_back();
      if (!origin.first || held_origins_.contains(origin) || !seen.insert(origin).second) continue;
      const Node& node = origin.first->graph_.nodes[static_cast<std::size_t>(origin.second.node)];
      const bool is_outside = origin.first != &tracer_;
      if (is_outside && any_inside(node, [&](const Node& inner) { return reads_source(inner); }))
        fail_outside(node);
      const std::vector<bool> through = differentiable_inputs(node);
      for (std::size_t i = 0; i < through.size(); ++i) {
        const Origin input = through[i] ? origin_of(node.inputs[i], origin.first) : Origin{};
        if (!input.first || !has_gradients(input.first->graph_.spec(input.second).dtype)) continue;
        if (is_outside && is_source(input) && !held_origins_.contains(input)) fail_outside(node);
        open.push_back(input);
      }
    }
  }

  [[noreturn]] static void fail_outside(const Node& node) {
    const std::uint32_t line = location_of(node.location).line;
    fail<UnimplementedError>("gradients: ys depend on xs through what ",
                             line == 0 ? "" : "line " + std::to_string(line) + " computes in ",
                             "the function around this one", line == 0 ? " computes" : "",
                             " (a branch and a loop's body are functions too); call tf.gradients there");
  }

  bool depends(const Node& node) const {
    if (!is_differentiable(node)) return false;
    return any_inside(node, [&](const Node& inner) { return reads_source(inner); }) ||
           std::ranges::any_of(node.inputs, [&](Value input) {
             return !held_.contains(input) && (all_sources_.contains(input) || is_computed(input, depends_));
           });
  }

  static bool is_computed(Value value, const std::vector<char>& which) {
    return value.node >= 0 && which[static_cast<std::size_t>(value.node)] != 0;
  }

  /// A source counts where something that is taken reads it, or it is a target.
  bool is_wanted(Value source) const {
    if (std::ranges::find(targets_, source) != targets_.end()) return true;
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (taken_[i] && std::ranges::find(nodes_[i].inputs, source) != nodes_[i].inputs.end()) return true;
    return false;
  }

  /// The node of the value, and what it depends on; always: those that depend on no source, too.
  void take(Value value, std::int32_t always_from = INT32_MAX) {
    std::vector<Value> open{value};
    while (!open.empty()) {
      const Value next = open.back();
      open.pop_back();
      if (next.node < 0 || held_.contains(next)) continue;
      const auto number = static_cast<std::size_t>(next.node);
      const bool is_inside = next.node >= always_from && nodes_[number].kind != NodeKind::constant &&
                             nodes_[number].kind != NodeKind::parameter;
      if (taken_[number] || !(depends_[number] || is_inside)) continue;
      taken_[number] = 1;
      open.insert(open.end(), nodes_[number].inputs.begin(), nodes_[number].inputs.end());
      if (nodes_[number].kind == NodeKind::gradient) take_tape(number);
    }
  }

  /// A gradient that each run computes needs its tape, and all that this one recorded.
  void take_tape(std::size_t gradient) {
    const std::int32_t tape = nodes_[gradient].tape->tape;
    std::size_t first = gradient;
    for (std::size_t i = 0; i < gradient; ++i) {
      if (!nodes_[i].tape || nodes_[i].tape->tape != tape || nodes_[i].kind == NodeKind::gradient) continue;
      first = std::min(first, i);
      taken_[i] = 1;
    }
    for (std::size_t i = first; i < gradient; ++i)
      if (nodes_[i].kind == NodeKind::assign ||
          any_inside(nodes_[i], [](const Node& inner) { return inner.kind == NodeKind::assign; }))
        fail<UnimplementedError>("gradients: of a gradient whose tape records across an assignment (line ",
                                 location_of(nodes_[i].location).line, ")");
    const auto from = static_cast<std::int32_t>(first);
    for (std::size_t i = first; i <= gradient; ++i)
      if (taken_[i] && nodes_[i].tape)
        for (const Value input : nodes_[i].inputs) take(input, from);
  }

  void check_target(const Tensor& target, Value value) const {
    if (value.node < -1 && !all_sources_.contains(value) && target.is_symbolic())
      fail<InvalidArgumentError>(
          "gradients: a tensor in ys belongs to the function around this one (a branch and a loop's body are "
          "functions "
          "too); call tf.gradients there");
  }

  void add_free_sources(Repeat& repeat) {
    for (const auto& values : sources_)
      for (const Value value : values)
        if (!is_computed(value, taken_) && !places_.contains(value) && is_wanted(value))
          placed(value, repeat);
    repeat.free_sources = repeat.arguments.size();
  }

  /// Where the value is in the new graph: a parameter's, or a copy's, counted down from -1 until all are
  /// known.
  Value placed(Value value, Repeat& repeat) {
    if (const auto known = places_.find(value); known != places_.end()) return known->second;
    const auto number = static_cast<std::int32_t>(repeat.arguments.size());
    repeat.arguments.push_back(tensor_of(value));
    Node parameter;
    parameter.kind = NodeKind::parameter;
    parameter.name = "x" + std::to_string(number);
    parameter.results.push_back({repeat.arguments.back().dtype(), repeat.arguments.back().shape()});
    repeat.graph.nodes.push_back(std::move(parameter));
    return places_[value] = {number, 0};
  }

  Tensor tensor_of(Value value) const {
    if (value.node < -1) return tracer_.graph_.captured[static_cast<std::size_t>(-value.node - 2)];
    const Node& node = nodes_[static_cast<std::size_t>(value.node)];
    if (node.kind == NodeKind::constant) return node.constant;
    return tracer_.tensors_[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.result)];
  }

  /// The copy draws what the node drew: it says so by the number that this draw has while it is traced.
  void repeat_draw(Node& copy, std::size_t number) const {
    if (!copy.draws) return;
    const std::int32_t first = copy.draw_of >= 0 ? copy.draw_of : static_cast<std::int32_t>(number);
    const auto draw =
        std::ranges::find_if(tracer_.draws_, [&](const auto& entry) { return entry.second == first; });
    std::vector<Attribute> values;
    for (std::size_t i = 0; i < copy.attributes.size(); ++i) values.push_back(copy.attributes[i]);
    values[copy.op->place_of("key")] = std::int64_t{0};
    values[copy.op->place_of("counter")] = draw->first;
    copy.attributes = Attributes(std::move(values));
    copy.draws = false;
    copy.draw_of = -1;
  }

  /// The copies behind the parameters, whose number is known now.
  static void append(Graph& graph, std::vector<Node> copies) {
    const auto parameters = static_cast<std::int32_t>(graph.nodes.size());
    graph.arguments = graph.nodes.size();
    const auto move = [&](Value& value) {
      if (value.node < 0) value.node = parameters - 1 - value.node;
    };
    for (Node& copy : copies) {
      for (Value& input : copy.inputs) move(input);
      graph.nodes.push_back(std::move(copy));
    }
    for (Value& result : graph.results) move(result);
  }

  GraphTracer& tracer_;
  const std::vector<Node>& nodes_;
  std::vector<char> depends_;  ///< of each node: a gradient may flow from a source through it
  std::vector<char> taken_;    ///< of each node: is computed once more
  std::vector<Value> targets_;
  std::vector<std::vector<Value>> sources_;  ///< of each source: a tensor's value, a variable's at each read
  std::set<Value> all_sources_, held_;
  std::set<Origin> source_origins_, held_origins_;
  std::set<std::uint64_t> variables_;  ///< ids of those that are sources
  std::map<Value, Value> places_;      ///< in the new graph
};

Repeat GraphTracer::repeat(std::span<const Tensor> targets, std::span<const Tape::Source> sources,
                           std::span<const Tensor> held) {
  return Repetition(*this, targets, sources, held).made(targets);
}

Repeat repeat(std::span<const Tensor> targets, std::span<const Tape::Source> sources,
              std::span<const Tensor> held) {
  auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
  if (!tracer) fail<FailedPreconditionError>("gradients: no graph function is being traced on this thread");
  return tracer->repeat(targets, sources, held);
}

}  // namespace tapedeck::graph
