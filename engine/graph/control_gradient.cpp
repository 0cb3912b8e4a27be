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
  const GraphTracer& tracer = gradient_tracer();
  const auto arrival = [&](const Tensor& tensor) {
    return !tensor ? Arrival::none : tracer.may_lack(tensor) ? Arrival::maybe : Arrival::always;
  };
  SideCall call{taped.nothing(), Tensors(taped.result_outputs_), Tensors(taped.inputs_.size())};
  for (std::size_t i = 0; i < control.outputs.size(); ++i) {
    const std::size_t place = taped.places_[control.outputs[i]];
    if (place == no_place) continue;
    call.cotangents[place] = request.cotangents[i];
    call.request.cotangents[place] = arrival(request.cotangents[i]);
    call.request.sources[place] = request.is_source[i];
  }
  for (std::size_t i = 0; i < taped.inputs_.size(); ++i) {
    const Value outer = node.inputs[outer_input(node, side, taped.inputs_[i].node)];
    const std::size_t input = place_of(control.inputs, outer);
    call.sums[i] = request.sums[input];
    call.request.sums[i] = arrival(request.sums[input]);
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

Tensors TapedGraph::ForwardTrace::loop_vjp(std::int32_t number, const SummingRequest& request) {
  const TapedControl& control = taped_.controls_.at(number);
  const Node& node = taped_.graph_.nodes[static_cast<std::size_t>(number)];
  TapedGraph& body = *control.graphs[0];
  const GraphTracer& tracer = gradient_tracer();
  const auto arrival = [&](const Tensor& tensor) {
    return !tensor ? Arrival::none : tracer.may_lack(tensor) ? Arrival::maybe : Arrival::always;
  };
  const std::size_t variables = node.graphs[1]->arguments;
  const auto of_body = [&](std::size_t input) { return static_cast<std::size_t>(body.inputs_[input].node); };
  // Of each of the body's inputs what has arrived at it: at a variable before the iteration, at a captured
  // tensor so far.
  Tensors first(body.inputs_.size());
  std::vector<std::size_t> outer(body.inputs_.size(), no_place);  // among the control's inputs
  Request asked = body.nothing();
  std::vector<Arrival> arrived;
  std::vector<std::size_t> ending;  // variables to whose first value's gradient something else has added
  for (std::size_t i = 0; i < body.inputs_.size(); ++i) {
    const Value value = node.inputs[outer_input(node, 1, body.inputs_[i].node)];
    if (const std::size_t place = place_of(control.inputs, value); place < control.inputs.size())
      outer[i] = place;
    if (of_body(i) < variables) {
      const std::size_t output =
          static_cast<std::size_t>(std::ranges::find(control.outputs, of_body(i)) - control.outputs.begin());
      first[i] = request.cotangents[output];
      if (request.is_source[output] && body.reads_result(of_body(i)))
        fail<UnimplementedError>("while_loop: the gradient of a result on which another one depends");
      if (outer[i] != no_place && request.sums[outer[i]]) {
        ending.push_back(i);
        asked.sums[i] = Arrival::maybe;
      }
      asked.wanted[i] = true;
    } else {
      first[i] = request.sums[outer[i]];
      asked.wanted[i] = request.wanted[outer[i]];
    }
    arrived.push_back(arrival(first[i]));
  }
  std::shared_ptr<const Gradient> gradient;
  for (bool changed = true; changed;) {  // until it is the same before and after an iteration
    changed = false;
    for (std::size_t i = 0; i < body.inputs_.size(); ++i)
      if (of_body(i) >= variables)
        asked.sums[i] = asked.wanted[i] ? arrived[i] : Arrival::none;
      else if (const std::size_t place = body.places_[of_body(i)]; place != no_place)
        asked.cotangents[place] = arrived[i];
    gradient = body.traced(asked);
    for (std::size_t i = 0; i < body.inputs_.size(); ++i) {
      const Arrival after = gradient->arrival(i);
      if (!asked.wanted[i] || after == arrived[i] || arrived[i] == Arrival::maybe) continue;
      arrived[i] = Arrival::maybe;
      changed = true;
    }
  }
  // Those at which something may arrive are the variables of the loop that runs backwards.
  std::vector<std::size_t> carried;
  Unwind loop;
  for (std::size_t i = 0; i < body.inputs_.size(); ++i) {
    if (!asked.wanted[i] || arrived[i] == Arrival::none) continue;
    carried.push_back(i);
    loop.may_lack.push_back(arrived[i] == Arrival::maybe);
    loop.variables.push_back(first[i] ? first[i]
                                      : gradient_tracer().absent(body.graph_.value_spec(body.inputs_[i])));
  }
  Tensors after(request.sums.begin(), request.sums.end());
  after.resize(control.inputs.size() + control.outputs.size());
  for (std::size_t i = 0; i < control.outputs.size(); ++i)
    if (request.is_source[i]) after[control.inputs.size() + i] = request.cotangents[i];
  if (carried.empty()) return after;
  for (const Value value : body.kept_) loop.kept.push_back(body.graph_.value_spec(value));
  for (const std::size_t i : ending) loop.at_the_end.push_back(request.sums[outer[i]]);
  loop.list = symbol({number, static_cast<std::int32_t>(taped_.own_results_.at(number))});
  const auto step = [&](std::span<const Tensor> values) {
    Tensors cotangents(body.result_outputs_), sums(body.inputs_.size());
    for (std::size_t i = 0; i < carried.size(); ++i)
      if (of_body(carried[i]) >= variables)
        sums[carried[i]] = values[i];
      else if (const std::size_t place = body.places_[of_body(carried[i])]; place != no_place)
        cotangents[place] = values[i];
    const auto kept = values.subspan(carried.size(), loop.kept.size());
    Tensors kept_values(kept.begin(), kept.end());
    for (std::size_t i = 0; i < ending.size(); ++i)
      sums[ending[i]] = values[carried.size() + loop.kept.size() + i];
    const Tensors found = gradient->run({cotangents, sums, {}, {}, false}, kept_values, Draws());
    Tensors next;
    for (std::size_t i = 0; i < carried.size(); ++i)
      if (gradient->arrival(carried[i]) != Arrival::none)
        next.push_back(found[carried[i]]);
      else
        next.push_back(gradient_tracer().absent(body.graph_.value_spec(body.inputs_[carried[i]])));
    return next;
  };
  const Tensors found = unwind(loop, step);
  for (std::size_t i = 0; i < carried.size(); ++i)
    if (const std::size_t place = outer[carried[i]]; place != no_place && request.wanted[place])
      after[place] = found[i];
  return after;
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

bool TapedGraph::reads_result(std::size_t result) const {
  const Value value = graph_.results[result];
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
    if (takes_part_[i] && std::ranges::find(graph_.nodes[i].inputs, value) != graph_.nodes[i].inputs.end())
      return true;
  return false;
}

}  // namespace tapedeck::graph
