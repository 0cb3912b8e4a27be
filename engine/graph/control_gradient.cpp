// Gradients of branches and loops, as graphs. That of a branch is a branch of the same predicate; that of a
// loop runs backwards over what the iterations kept.
#include <algorithm>
#include <array>
#include <set>

#include "engine/graph/control.h"
#include "engine/graph/forward_trace.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::graph {
namespace {

GraphTracer& gradient_tracer() {
  return dynamic_cast<GraphTracer&>(*current_tracer());
}

}  // namespace

/// What a side or a body is asked for.
struct TapedGraph::ForwardTrace::SideCall {
  Request request;
  Tensors cotangents, sums;
};

namespace {

std::size_t place_of(const std::vector<Value>& values, Value value) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

}  // namespace

TapedGraph::Arrival TapedGraph::ForwardTrace::arrival_of(const Tensor& gradient) {
  if (!gradient) return Arrival::none;
  return gradient_tracer().may_lack(gradient) ? Arrival::maybe : Arrival::always;
}

Tensors TapedGraph::ForwardTrace::kept_of(std::int32_t number, std::size_t side) {
  const TapedControl& control = taped_.controls_.at(number);
  std::size_t first = taped_.own_results_.at(number);
  for (std::size_t i = 0; i < side; ++i) first += control.graphs[i]->kept_.size();
  Tensors kept;
  for (std::size_t i = 0; i < control.graphs[side]->kept_.size(); ++i)
    kept.push_back(symbol({number, static_cast<std::int32_t>(first + i)}));
  return kept;
}

void TapedGraph::ForwardTrace::run_control(std::int32_t number) {
  const TapedControl& control = taped_.controls_.at(number);
  const bool is_branch = taped_.graph_.nodes[static_cast<std::size_t>(number)].kind == NodeKind::branch;
  Tensors inputs, outputs;
  for (const Value input : control.inputs) inputs.push_back(symbol(input));
  for (const std::size_t output : control.outputs)
    outputs.push_back(symbol({number, static_cast<std::int32_t>(output)}));
  const auto vjp = [this, number, is_branch](const SummingRequest& request) {
    return is_branch ? branch_vjp(number, request) : loop_vjp(number, request);
  };
  static const Attributes none;
  auto call = std::make_shared<const tapedeck::detail::CustomCall>(
      tapedeck::detail::CustomCall{is_branch ? "cond" : "while_loop", {}, vjp});
  tapedeck::detail::TapeStack::of_this_thread().write({nullptr, std::move(call), inputs, none, outputs, 0});
}

TapedGraph::ForwardTrace::SideCall TapedGraph::ForwardTrace::call_of_side(std::int32_t number,
                                                                          std::size_t side,
                                                                          const SummingRequest& request) {
  const TapedControl& control = taped_.controls_.at(number);
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  const TapedGraph& taped = *control.graphs[side];
  SideCall call{taped.nothing(), Tensors(taped.result_outputs_), Tensors(taped.inputs_.size())};
  for (std::size_t i = 0; i < control.outputs.size(); ++i) {
    const std::size_t place = taped.places_[control.outputs[i]];
    if (place == no_place) continue;
    call.cotangents[place] = request.cotangents[i];
    call.request.cotangents[place] = arrival_of(request.cotangents[i]);
    call.request.sources[place] = request.is_source[i];
  }
  for (std::size_t i = 0; i < taped.inputs_.size(); ++i) {
    const Value outer = node.inputs[outer_input(node, side, taped.inputs_[i].node)];
    const std::size_t input = place_of(control.inputs, outer);
    call.sums[i] = request.sums[input];
    call.request.sums[i] = arrival_of(request.sums[input]);
    call.request.wanted[i] = request.wanted[input];
  }
  return call;
}

Tensors TapedGraph::ForwardTrace::branch_vjp(std::int32_t number, const SummingRequest& request) {
  const TapedControl& control = taped_.controls_.at(number);
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  const std::size_t inputs = control.inputs.size();
  // Of each input, then of each output that is a source: what there is if the side adds nothing.
  Tensors before(request.sums.begin(), request.sums.end());
  for (std::size_t i = 0; i < control.outputs.size(); ++i)
    before.push_back(request.is_source[i] ? request.cotangents[i] : Tensor());
  struct Side {
    SideCall call;
    std::shared_ptr<const Gradient> gradient;
    std::vector<std::size_t> places;  ///< in the gradient, as `before`; no_place: it adds nothing
  };
  std::vector<Side> sides;
  std::vector<bool> changes(before.size());
  for (std::size_t s = 0; s < 2; ++s) {
    TapedGraph& taped = *control.graphs[s];
    Side side{call_of_side(number, s, request), nullptr, std::vector<std::size_t>(before.size(), no_place)};
    side.gradient = taped.traced(side.call.request);
    const auto add = [&](std::size_t of, std::size_t place) {
      if (side.gradient->arrival(place) == Arrival::none) return;
      side.places[of] = place;
      changes[of] = true;
    };
    for (std::size_t i = 0; i < taped.inputs_.size(); ++i)
      add(place_of(control.inputs, node.inputs[outer_input(node, s, taped.inputs_[i].node)]), i);
    for (std::size_t i = 0; i < control.outputs.size(); ++i)
      if (const std::size_t place = taped.places_[control.outputs[i]]; place != no_place)
        add(inputs + i, taped.inputs_.size() + place);
    sides.push_back(std::move(side));
  }
  const auto spec = [&](std::size_t of) {
    return of < inputs
               ? taped_.graph_.value_spec(control.inputs[of])
               : taped_.graph_.value_spec({number, static_cast<std::int32_t>(control.outputs[of - inputs])});
  };
  const auto run = [&](std::size_t s) {
    const Side& side = sides[s];
    Tensors kept = kept_of(number, s);
    const Tensors found =
        side.gradient->run({side.call.cotangents, side.call.sums, {}, {}, false}, kept, Draws());
    Tensors after;
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!changes[i]) continue;
      if (side.places[i] != no_place)
        after.push_back(found[side.places[i]]);
      else
        after.push_back(before[i] ? before[i] : gradient_tracer().absent(spec(i)));
    }
    return after;
  };
  if (std::ranges::find(changes, true) == changes.end()) return before;
  const Tensors found = branch(
      symbol(node.inputs[0]), [&] { return run(0); }, [&] { return run(1); });
  std::size_t next = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (changes[i]) before[i] = found[next++];
  return before;
}

/// What is known of a loop's gradient while it is traced. By the body's inputs: a loop's variables, and what
/// the body captured.
struct TapedGraph::ForwardTrace::LoopCall {
  std::vector<bool> is_variable;
  std::vector<std::size_t> outer;  ///< its place among the control's inputs; no_place: it is none
  /// What has arrived: at a variable before the iteration, at a captured tensor so far.
  Tensors first;
  std::vector<Arrival> arrived;
  std::vector<std::size_t> ending;  ///< variables to whose first value's gradient something else has added
  Request request;                  ///< to the body
  std::shared_ptr<const Gradient> gradient;
  std::vector<std::size_t> carried;  ///< those at which something may arrive
};

TapedGraph::ForwardTrace::LoopCall TapedGraph::ForwardTrace::call_of_body(std::int32_t number,
                                                                          const SummingRequest& request) {
  const TapedControl& control = taped_.controls_.at(number);
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  const TapedGraph& body = *control.graphs[0];
  const std::size_t inputs = body.inputs_.size();
  LoopCall call{std::vector<bool>(inputs),
                std::vector<std::size_t>(inputs, no_place),
                Tensors(inputs),
                {},
                {},
                body.nothing(),
                nullptr,
                {}};
  for (std::size_t i = 0; i < inputs; ++i) {
    const std::int32_t parameter = body.inputs_[i].node;
    const Value value = node.inputs[outer_input(node, 1, parameter)];
    if (const std::size_t place = place_of(control.inputs, value); place < control.inputs.size())
      call.outer[i] = place;
    call.is_variable[i] = static_cast<std::size_t>(parameter) < node.graphs[1]->arguments;
    if (call.is_variable[i]) {
      const auto found = std::ranges::find(control.outputs, static_cast<std::size_t>(parameter));
      const auto output = static_cast<std::size_t>(found - control.outputs.begin());
      call.first[i] = request.cotangents[output];
      if (request.is_source[output] && body.reads_result(static_cast<std::size_t>(parameter)))
        fail<UnimplementedError>("while_loop: the gradient of a result on which another one depends");
      if (call.outer[i] != no_place && request.sums[call.outer[i]]) {
        call.ending.push_back(i);
        call.request.sums[i] = Arrival::maybe;
      }
      call.request.wanted[i] = true;
    } else {
      call.first[i] = request.sums[call.outer[i]];
      call.request.wanted[i] = request.wanted[call.outer[i]];
    }
    call.arrived.push_back(arrival_of(call.first[i]));
  }
  return call;
}

/// Traces the body's gradient until what arrives before an iteration is what arrives behind it.
void TapedGraph::ForwardTrace::settle(LoopCall& call, TapedGraph& body) {
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < call.arrived.size(); ++i)
      if (!call.is_variable[i])
        call.request.sums[i] = call.request.wanted[i] ? call.arrived[i] : Arrival::none;
      else if (const std::size_t place = body.place_of_variable(i); place != no_place)
        call.request.cotangents[place] = call.arrived[i];
    call.gradient = body.traced(call.request);
    for (std::size_t i = 0; i < call.arrived.size(); ++i) {
      if (!call.request.wanted[i] || call.arrived[i] == Arrival::maybe ||
          call.gradient->arrival(i) == call.arrived[i])
        continue;
      call.arrived[i] = Arrival::maybe;
      changed = true;
    }
  }
  for (std::size_t i = 0; i < call.arrived.size(); ++i)
    if (call.request.wanted[i] && call.arrived[i] != Arrival::none) call.carried.push_back(i);
}

/// The variables' next values: the gradients of the body's inputs.
Tensors TapedGraph::ForwardTrace::unwound(const LoopCall& call, const TapedGraph& body,
                                          std::span<const Tensor> values) {
  Tensors cotangents(body.result_outputs_), sums(body.inputs_.size());
  for (std::size_t i = 0; i < call.carried.size(); ++i)
    if (!call.is_variable[call.carried[i]])
      sums[call.carried[i]] = values[i];
    else if (const std::size_t place = body.place_of_variable(call.carried[i]); place != no_place)
      cotangents[place] = values[i];
  const auto kept = values.subspan(call.carried.size(), body.kept_.size());
  Tensors kept_values(kept.begin(), kept.end());
  for (std::size_t i = 0; i < call.ending.size(); ++i)
    sums[call.ending[i]] = values[call.carried.size() + body.kept_.size() + i];
  const Tensors found = call.gradient->run({cotangents, sums, {}, {}, false}, kept_values, Draws());
  Tensors next;
  for (const std::size_t input : call.carried)
    if (call.gradient->arrival(input) != Arrival::none)
      next.push_back(found[input]);
    else
      next.push_back(gradient_tracer().absent(body.graph_.value_spec(body.inputs_[input])));
  return next;
}

Tensors TapedGraph::ForwardTrace::loop_vjp(std::int32_t number, const SummingRequest& request) {
  const TapedControl& control = taped_.controls_.at(number);
  TapedGraph& body = *control.graphs[0];
  LoopCall call = call_of_body(number, request);
  settle(call, body);
  Tensors after(request.sums.begin(), request.sums.end());
  after.resize(control.inputs.size() + control.outputs.size());
  for (std::size_t i = 0; i < control.outputs.size(); ++i)
    if (request.is_source[i]) after[control.inputs.size() + i] = request.cotangents[i];
  if (call.carried.empty()) return after;
  Unwind loop;
  for (const std::size_t input : call.carried) {
    const Tensor& first = call.first[input];
    loop.may_lack.push_back(call.arrived[input] == Arrival::maybe);
    loop.variables.push_back(first ? first
                                   : gradient_tracer().absent(body.graph_.value_spec(body.inputs_[input])));
  }
  for (const Value value : body.kept_) loop.kept.push_back(body.graph_.value_spec(value));
  for (const std::size_t input : call.ending) loop.at_the_end.push_back(request.sums[call.outer[input]]);
  loop.list = symbol({number, static_cast<std::int32_t>(taped_.own_results_.at(number))});
  const Tensors found =
      unwind(loop, [&](std::span<const Tensor> values) { return unwound(call, body, values); });
  for (std::size_t i = 0; i < call.carried.size(); ++i)
    if (const std::size_t place = call.outer[call.carried[i]]; place != no_place && request.wanted[place])
      after[place] = found[i];
  return after;
}

bool TapedGraph::reads_result(std::size_t result) const {
  const Value value = graph_.results[result];
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (takes_part_[i] && std::ranges::find(graph_.nodes[i].inputs, value) != graph_.nodes[i].inputs.end())
      return true;
  return false;
}

/// What has arrived at an input before the graph is played. Where a run passes the input on as a result of a
/// branch or a loop, that is the same tensor, and what reads the result adds to the same sum: then it has
/// arrived at the result.
void TapedGraph::ForwardTrace::move_passed(std::map<Value, Tensor>& sums) {
  for (const auto& entry : taped_.controls_) {
    const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(entry.first)];
    if (node.kind == NodeKind::branch)
      move_passed_by_branch(entry.first, sums);
    else
      move_passed_by_loop(entry.first, sums);
  }
}

void TapedGraph::ForwardTrace::move_passed_by_branch(std::int32_t number, std::map<Value, Tensor>& sums) {
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  std::array<std::map<Value, Value>, 2> passed;  // of each side: result, input
  std::set<Value> moved;
  for (std::size_t side = 0; side < 2; ++side)
    for (const std::size_t output : taped_.controls_.at(number).outputs) {
      const Value from = node.graphs[side]->results[output];
      if (node.graphs[side]->nodes[static_cast<std::size_t>(from.node)].kind != NodeKind::parameter) continue;
      const Value input = node.inputs[outer_input(node, side, from.node)];
      if (!sums.contains(input)) continue;
      const Value result{number, static_cast<std::int32_t>(output)};
      passed[side][result] = input;
      moved.insert({input, result});
    }
  if (moved.empty()) return;
  const auto side = [&](std::size_t taken) {
    Tensors after;
    for (const Value value : moved) {
      const auto found = passed[taken].find(value);
      const bool goes =
          std::ranges::any_of(passed[taken], [&](const auto& one) { return one.second == value; });
      if (found != passed[taken].end())
        after.push_back(sums.at(found->second));
      else if (!goes && sums.contains(value))
        after.push_back(sums.at(value));
      else
        after.push_back(gradient_tracer().absent(taped_.graph_.value_spec(value)));
    }
    return after;
  };
  const Tensors after = branch(
      symbol(node.inputs[0]), [&] { return side(0); }, [&] { return side(1); });
  std::size_t next = 0;
  for (const Value value : moved) sums[value] = after[next++];
}

void TapedGraph::ForwardTrace::move_passed_by_loop(std::int32_t number, std::map<Value, Tensor>& sums) {
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  std::vector<Value> results;
  for (const std::size_t output : taped_.controls_.at(number).outputs) {
    const auto arrived = sums.find(node.inputs[output]);
    if (arrived == sums.end()) continue;
    const Value result{number, static_cast<std::int32_t>(output)};
    if (node.graphs[1]->results[output] == Value{result.result, 0}) {  // no iteration changes it
      sums[result] = arrived->second;
      sums.erase(arrived);
    } else {
      results.push_back(result);
    }
  }
  if (results.empty()) return;
  const Tensor iterations = symbol({number, static_cast<std::int32_t>(taped_.own_results_.at(number))});
  const auto each = [&](auto&& value) {
    Tensors after;
    for (const Value result : results) after.push_back(value(result));
    return after;
  };
  const Tensors after = branch(
      ops::equal(iterations, Tensor::scalar(0, DType::int64)),
      [&] {
        return each(
            [&](Value result) { return sums.at(node.inputs[static_cast<std::size_t>(result.result)]); });
      },
      [&] {
        return each([&](Value result) { return gradient_tracer().absent(taped_.graph_.value_spec(result)); });
      });
  for (std::size_t i = 0; i < results.size(); ++i) sums[results[i]] = after[i];
}

}  // namespace tapedeck::graph
