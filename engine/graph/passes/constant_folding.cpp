#include <algorithm>

#include "engine/graph/passes/passes.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/core/tracer.h"

namespace tapedeck::graph {
namespace {

constexpr std::size_t small = std::size_t{64} << 10;  // bytes

std::size_t bytes_of(const TensorSpecs& specs) {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : specs)
    bytes += static_cast<std::size_t>(element_count(spec.shape)) * item_size(spec.dtype);
  return bytes;
}

bool is_foldable(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::op || node.draws || node.op->updates || node.device ||
      node.results.size() != 1 || !node.late.empty() || !node.unknown.empty())
    return false;
  std::size_t read = 0;
  for (const Value input : node.inputs) {
    const Node& from = graph.nodes[static_cast<std::size_t>(input.node)];
    if (from.kind != NodeKind::constant || !from.constant.on_cpu()) return false;
    if (from.constant.id() <= graph.watched_up_to && has_gradients(from.constant.dtype())) return false;
    read += from.constant.bytes();
  }
  return bytes_of(node.results) <= std::max(small, read);
}

}  // namespace

Passed fold_constants(const Graph& graph) {
  Passed passed{graph, {}};
  if (uses_tapes(graph)) return passed;  // a tape may watch a constant
  const TracerScope computing(nullptr);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = passed.graph.nodes[i];
    if (!is_foldable(passed.graph, node)) continue;
    Tensors inputs;
    for (const Value input : node.inputs)
      inputs.push_back(passed.graph.nodes[static_cast<std::size_t>(input.node)].constant);
    try {
      node.constant = replay_op(*node.op, inputs, node.attributes, Device{})[0];
    } catch (const Error&) {
      continue;
    }
    node.kind = NodeKind::constant;
    node.op = nullptr;
    node.inputs.clear();
    node.attributes = {};
    passed.changes.push_back(
        {ChangeKind::folded, static_cast<std::int32_t>(i), static_cast<std::int32_t>(i)});
  }
  return passed;
}

}  // namespace tapedeck::graph
