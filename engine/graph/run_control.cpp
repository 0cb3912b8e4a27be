// Runs what is more than an op: branches, loops, and gradients of their own.
#include "engine/graph/calls.h"
#include "engine/graph/control.h"
#include "engine/graph/kept_list.h"
#include "engine/graph/run.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/source_location.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::graph {
namespace {

/// What the graph's host calls need.
void keep_hosts(const Graph& graph, std::vector<HostCall>& kept) {
  for (const Node& node : graph.nodes) {
    if (node.host && node.host->owning) kept.push_back(node.host->owning());
    for (const auto& inner : node.graphs) keep_hosts(*inner, kept);
  }
}

}  // namespace

Tensors Executable::run_branch(std::size_t number, std::span<const Tensor> inputs) const {
  const auto take = [&](bool is_true) {
    const auto& graphs = nested_[number];
    const std::size_t first = is_true ? 1 : 1 + graphs[0]->graph().captured.size();
    const Executable& taken = *graphs[is_true ? 0 : 1];
    return taken(inputs.subspan(first, taken.graph().captured.size()));
  };
  const Node& node = graph_.nodes[number];
  if (inputs[0].is_symbolic()) {  // this graph becomes part of one that is being traced
    const LocationScope location({node.location, node.call});
    const WholeScope scope(node.scope);
    return branch(
        inputs[0], [&] { return take(true); }, [&] { return take(false); });
  }
  const bool is_true = decides(node, inputs[0]);
  return in_part(
      node, [&] { return branch_name(node, is_true); }, inputs.first(1), [&] { return take(is_true); });
}

Tensors Executable::run_loop(std::size_t number, std::span<const Tensor> inputs) const {
  const Executable &condition = *nested_[number][0], &body = *nested_[number][1];
  const std::size_t count = body.graph().arguments;
  const std::size_t first_of_body = count + condition.graph().captured.size();
  Tensors variables(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count));
  const auto call = [](const Executable& graph, std::span<const Tensor> arguments,
                       std::span<const Tensor> captured) {
    Tensors all(arguments.begin(), arguments.end());
    all.insert(all.end(), captured.begin(), captured.end());
    return graph(all);
  };
  const std::span<const Tensor> of_condition = inputs.subspan(count, first_of_body - count);
  const std::span<const Tensor> of_body = inputs.subspan(first_of_body);
  const Node& node = graph_.nodes[number];
  if (current_tracer()) {  // this graph becomes part of one that is being traced
    const LocationScope location({node.location, node.call});
    const WholeScope scope(node.scope);
    std::vector<Invariant> invariants;
    for (std::size_t i = 0; i < count; ++i)
      invariants.emplace_back(body.graph().value_spec({static_cast<std::int32_t>(i), 0}));
    return loop(
        variables, [&](std::span<const Tensor> values) { return call(condition, values, of_condition)[0]; },
        [&](std::span<const Tensor> values) { return call(body, values, of_body); }, invariants);
  }
  const auto holds = [&] {
    const Value result = condition.graph().results[0];
    if (condition.graph().nodes[static_cast<std::size_t>(result.node)].kind != NodeKind::parameter)
      return decides(node, call(condition, variables, of_condition)[0]);
    const auto place =
        static_cast<std::size_t>(result.node);  // the body computed it, as for AutoGraph's loops
    return decides(node, place < count ? variables[place] : of_condition[place - count]);
  };
  return in_part(
      node, [&] { return loop_name(node); }, inputs.first(count),
      [&] {
        const bool keeps = node.results.size() > count;
        KeptList list;
        for (std::uint64_t turn = 1; holds(); ++turn) {
          check_interrupt();
          variables.insert(variables.end(), of_body.begin(), of_body.end());
          if (!current_observer()) {
            variables = body.run_owned(std::move(variables));
          } else {
            const Tensors arguments = std::move(variables);
            variables = in_part(
                node, [&] { return iteration_name(turn); }, std::span<const Tensor>(arguments).first(count),
                [&] { return body(arguments); });
          }
          if (keeps) {
            const auto kept = variables.begin() + static_cast<std::ptrdiff_t>(count);
            list.emplace_back(kept, variables.end());
            variables.erase(kept, variables.end());
          }
        }
        if (keeps) variables.push_back(carrier_of(std::move(list)));
        return variables;
      });
}

Tensors Executable::run_unwind(std::size_t number, std::span<const Tensor> inputs) const {
  const Executable& body = *nested_[number][0];
  const Node& node = graph_.nodes[number];
  const std::size_t count = node.results.size();
  const std::size_t at_the_end = inputs.size() - count - 1 - body.graph().captured.size();
  const std::size_t kept = body.graph().arguments - count - at_the_end;
  const std::span<const Tensor> captured = inputs.last(body.graph().captured.size());
  const std::span<const Tensor> ending = inputs.subspan(count + 1, at_the_end);
  Tensors variables(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(count));
  if (const auto* tracer = dynamic_cast<const GraphTracer*>(current_tracer())) {
    const LocationScope location({node.location, node.call});
    const WholeScope scope(node.scope);
    Unwind loop{variables, body.graph().may_lack, inputs[count], {}, Tensors(ending.begin(), ending.end())};
    for (std::size_t i = count; i < count + kept; ++i)
      loop.kept.push_back(body.graph().value_spec({static_cast<std::int32_t>(i), 0}));
    loop.may_lack.resize(count);
    for (std::size_t i = 0; i < count; ++i)
      loop.may_lack[i] = loop.may_lack[i] || tracer->may_lack(variables[i]);
    return unwind(loop, [&](std::span<const Tensor> values) {
      Tensors all(values.begin(), values.end());
      all.insert(all.end(), captured.begin(), captured.end());
      return body(all);
    });
  }
  std::size_t turns = 0;
  const auto once = [&](Tensors values, bool is_last) {
    check_interrupt();
    Tensors all = std::move(variables);
    for (Tensor& value : values) all.push_back(std::move(value));
    for (const Tensor& tensor : ending) all.push_back(is_last ? tensor : Tensor());
    all.insert(all.end(), captured.begin(), captured.end());
    variables = in_part(
        node, [&] { return iteration_name(++turns); }, {}, [&] { return body.run_owned(std::move(all)); });
  };
  return in_part(
      node, [&] { return loop_name(node); }, {},
      [&] {
        unwind_kept(inputs[count], once);
        return variables;
      });
}

Tensors Executable::run_custom(std::size_t number, std::span<const Tensor> inputs) const {
  const Node& node = graph_.nodes[number];
  const std::shared_ptr<const OwnGradient> own = node.own_gradient;
  const std::span<const Tensor> given = inputs.first(own->inputs);
  const std::span<const Tensor> outputs = inputs.subspan(own->inputs, own->outputs);
  const detail::ThreadState& thread = detail::thread_state;
  auto* tracer = dynamic_cast<GraphTracer*>(current_tracer());
  if (!tracer && (thread.recording == 0 || thread.quiet != 0)) return Tensors(outputs.begin(), outputs.end());
  const auto read = inputs.subspan(own->inputs + own->outputs);
  std::vector<HostCall> kept;  // the graph's owner may have gone when the tape is played
  if (own->error.empty()) keep_hosts(*node.graphs[0], kept);
  const CustomVjp vjp = [own, kept, outputs = Tensors(outputs.begin(), outputs.end()),
                         read = Tensors(read.begin(), read.end()),
                         graph = own->error.empty() ? nested_[number][0]
                                                    : nullptr](std::span<const Tensor> cotangents) {
    if (!graph)
      fail<FailedPreconditionError>(own->name, ": its gradient function could not be traced: ", own->error);
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
  const LocationScope location({node.location, node.call});
  const WholeScope scope(node.scope);
  std::optional<UnobservedScope> unobserved;
  if (tracer) unobserved.emplace();
  Tensors results = custom_gradient(own->name, given, [&] {
    return CustomResult{Tensors(outputs.begin(), outputs.end()), vjp, own->variables};
  });
  if (tracer) {
    OwnGradient again;
    again.name = own->name;
    again.variables = own->variables;
    tracer->add_own_gradient(std::move(again), given, results, vjp);
  }
  return results;
}

}  // namespace tapedeck::graph
