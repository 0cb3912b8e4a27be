// What is known of symbolic tensors while they are traced.
#include <algorithm>
#include <array>

#include "engine/graph/tracer.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"

namespace tapedeck::graph {
namespace {

constexpr std::size_t most_bytes = std::size_t{64} << 10;  // of a value that is computed on the way
constexpr int most_nodes = 1000, deepest = 200;

/// Ops that read nothing but their input's shape and dtype.
bool reads_shape_alone(const OpDef& op) {
  static const std::array<const char*, 5> names{"shape", "size", "rank", "zeros_like", "ones_like"};
  return std::ranges::any_of(names, [&](const char* name) { return op.name == name; });
}

/// A tensor of that dtype and shape in the memory of one element.
Tensor of_shape(const TensorSpec& spec) {
  const Tensor one = Tensor::allocate(spec.dtype, {}, Device{});
  std::fill_n(one.storage()->data(), one.bytes(), std::byte{});
  if (element_count(spec.shape) == 0) return Tensor::allocate(spec.dtype, spec.shape, Device{});
  Strides strides = contiguous_strides(spec.shape);
  for (int axis = 0; axis < spec.shape.rank(); ++axis) strides[axis] = 0;
  return Tensor::view(one.storage(), spec.dtype, spec.shape, strides, 0);
}

std::size_t bytes_of_results(const Node& node) {
  std::size_t bytes = 0;
  for (const TensorSpec& spec : node.results)
    bytes += static_cast<std::size_t>(element_count(spec.shape)) * item_size(spec.dtype);
  return bytes;
}

}  // namespace

struct GraphTracer::Evaluation {
  bool now = false;  ///< of computed_now
  std::map<Value, Tensor>& known;
  int nodes = 0;
  int depth = 0;
  std::optional<std::size_t> world = {};  ///< in which unknown shapes are known
  bool assumed = false;                   ///< integers that are not known have the world's number
};

std::optional<Tensor> GraphTracer::evaluated(const Tensor& tensor, Evaluation& evaluation) const {
  if (!tensor.is_symbolic()) return tensor;
  const auto found = values_.find(tensor.id());
  if (found != values_.end() && found->second.node >= 0) return evaluated(found->second, evaluation);
  if (!around_) return std::nullopt;
  if (evaluation.world) return around_->value_in_world(tensor, *evaluation.world, evaluation.assumed);
  return evaluation.now ? around_->computed_now(tensor) : around_->known_value(tensor);
}

ValueSpec GraphTracer::spec_of(Value value) const {
  if (value.node >= 0) return graph_.value_spec(value);
  return graph::spec_of(graph_.captured[static_cast<std::size_t>(-2 - value.node)]);
}

/// A tensor of the value's shape, for an op that reads nothing else; nothing where it is not known.
std::optional<Tensor> GraphTracer::shape_known(const OpDef& op, Value value,
                                               const Evaluation& evaluation) const {
  const ValueSpec spec = spec_of(value);
  if (!spec.unknown || (op.name == "rank" && !spec.unknown.rank)) return of_shape({spec.dtype, spec.shape});
  if (!evaluation.world) return std::nullopt;
  if (*evaluation.world == scrambled_world) {
    Shape scrambled = spec.shape;
    for (int axis = 0; axis < scrambled.rank(); ++axis)
      if (spec.unknown.has(axis)) scrambled[axis] = 1001 + 37 * std::int64_t{value.node} + 5 * axis;
    return of_shape({spec.dtype, scrambled});
  }
  const std::optional<Shape> shape = worlds_of(value)[*evaluation.world];
  return shape ? std::optional(of_shape({spec.dtype, *shape})) : std::nullopt;
}

/// In a world: integers, few of them, that only a run knows.
std::optional<Tensor> GraphTracer::assumed_value(Value value, Evaluation& evaluation) const {
  const ValueSpec spec = spec_of(value);
  if (!evaluation.world || *evaluation.world == scrambled_world ||
      (spec.dtype != DType::int32 && spec.dtype != DType::int64))
    return std::nullopt;
  const std::optional<Shape> shape = worlds_of(value)[*evaluation.world];
  if (!shape || shape->rank() > 1 || element_count(*shape) > 32) return std::nullopt;
  evaluation.assumed = true;
  const TracerScope computing(nullptr);
  const std::int64_t number = number_in_world(*evaluation.world);
  const std::vector<std::int64_t> numbers(static_cast<std::size_t>(element_count(*shape)), number);
  const std::vector<std::int32_t> narrow_numbers(numbers.begin(), numbers.end());
  return spec.dtype == DType::int64 ? Tensor::from_values<std::int64_t>(numbers, *shape)
                                    : Tensor::from_values<std::int32_t>(narrow_numbers, *shape);
}

std::optional<Tensor> GraphTracer::evaluated(Value value, Evaluation& evaluation) const {
  if (value.node == -1) return std::nullopt;  // of a trial
  if (value.node < 0)
    return evaluated(graph_.captured[static_cast<std::size_t>(-2 - value.node)], evaluation);
  if (const auto known = evaluation.known.find(value); known != evaluation.known.end()) return known->second;
  const Node& node = graph_.nodes[static_cast<std::size_t>(value.node)];
  if (node.kind == NodeKind::constant) return node.constant;
  if (evaluation.now && node.kind == NodeKind::read) return node.variable->peek();
  std::optional<Tensor> found;
  if (node.kind == NodeKind::op && !node.op->updates && node.draw_of < 0 && evaluation.depth < deepest &&
      (evaluation.now ||
       !(node.draws || bytes_of_results(node) > most_bytes || ++evaluation.nodes > most_nodes)))
    found = evaluated_op(value, evaluation);
  if (!found) found = assumed_value(value, evaluation);
  if (found) evaluation.known[value] = *found;
  return found;
}

/// A call's result, where its inputs can be evaluated.
std::optional<Tensor> GraphTracer::evaluated_op(Value value, Evaluation& evaluation) const {
  const Node& node = graph_.nodes[static_cast<std::size_t>(value.node)];
  Tensors inputs;
  ++evaluation.depth;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    std::optional<Tensor> known = reads_shape_alone(*node.op) && i < operand_count(node)
                                      ? shape_known(*node.op, node.inputs[i], evaluation)
                                      : evaluated(node.inputs[i], evaluation);
    if (!known) {
      --evaluation.depth;
      return std::nullopt;
    }
    inputs.push_back(std::move(*known));
  }
  --evaluation.depth;
  std::vector<Attribute> attributes;
  for (std::size_t i = 0; i < node.attributes.size(); ++i) attributes.push_back(node.attributes[i]);
  fill_late_numbers(node, inputs, attributes);
  inputs.resize(operand_count(node));
  if (node.draws) resolve_random(*node.op, attributes, inputs);
  const Attributes resolved(std::move(attributes));
  const Tensors results =
      evaluation.now ? run_op(*node.op, inputs, resolved) : replay_op(*node.op, inputs, resolved, Device{});
  for (std::size_t i = 0; i < results.size(); ++i)
    evaluation.known[{value.node, static_cast<std::int32_t>(i)}] = results[i];
  return results[static_cast<std::size_t>(value.result)];
}

std::optional<Tensor> GraphTracer::value_in_world(const Tensor& tensor, std::size_t world,
                                                  bool& assumed) const {
  if (!tensor.is_symbolic()) return tensor;
  const TracerScope computing(nullptr);
  std::map<Value, Tensor> known;
  Evaluation evaluation{false, known};
  evaluation.world = world;
  std::optional<Tensor> value;
  try {
    value = evaluated(tensor, evaluation);
  } catch (const Error&) {  // the samples do not fit
  }
  assumed = assumed || evaluation.assumed;
  return value;
}

std::optional<Tensor> GraphTracer::known_value(const Tensor& tensor) const {
  if (!tensor.is_symbolic()) return tensor;
  const TracerScope computing(nullptr);
  std::map<Value, Tensor> known;
  Evaluation evaluation{false, known};
  try {
    return evaluated(tensor, evaluation);
  } catch (const Error&) {  // it fails when the graph runs
    return std::nullopt;
  }
}

std::optional<Tensor> GraphTracer::computed_now(const Tensor& tensor) {
  const TracerScope computing(nullptr);
  const StopRecording unrecorded;
  Evaluation evaluation{true, computed_};
  return evaluated(tensor, evaluation);
}

void GraphTracer::set_first_value(const Tensor& parameter, const Tensor& value) {
  computed_[values_.at(parameter.id())] = value;
}

std::string GraphTracer::name_of(const Tensor& tensor) const {
  const auto found = values_.find(tensor.id());
  if (found == values_.end() || found->second.node < 0) return around_ ? around_->name_of(tensor) : "";
  const Node& node = graph_.nodes[static_cast<std::size_t>(found->second.node)];
  if (node.kind == NodeKind::parameter) return node.name;
  const char* kind = node.kind == NodeKind::read     ? "read"
                     : node.kind == NodeKind::branch ? "branch"
                     : node.kind == NodeKind::loop   ? "loop"
                                                     : "gradient";
  return (node.op     ? node.op->name
          : node.host ? node.host->name
                      : std::string(kind)) +
         "_" + std::to_string(found->second.node) + ":" + std::to_string(found->second.result);
}

Tensors GraphTracer::add_host_call(HostCall call, std::span<const ValueSpec> results,
                                   std::span<const Tensor> inputs) {
  Node node;
  node.kind = NodeKind::host;
  node.host = std::make_shared<const HostCall>(std::move(call));
  set_results(node, results);
  return add_control(std::move(node), inputs);
}

}  // namespace tapedeck::graph
