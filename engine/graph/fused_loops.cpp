#include "engine/graph/fused_loops.h"

#include <algorithm>
#include <set>

#include "engine/graph/fused_ops.h"
#include "engine/ops/core/checks.h"
#include "engine/tensor/subnormals.h"

namespace tapedeck::graph {

using Place = cpu::FusedValue::Place;

/// Makes the loop of a chain.
class FusedLoops::Maker {
 public:
  Maker(const Graph& graph, const Layout& layout, const std::set<Value>& read_outside)
      : graph_(graph), layout_(layout), read_outside_(read_outside) {}

  Chain make(const FusedChain& of) {
    chain_.nodes = of.nodes;
    for (const std::int32_t number : of.nodes) add(number);
    const NodeSlots& last = layout_.steps[static_cast<std::size_t>(of.nodes.back())];
    const auto unread = layout_.unread_behind(last);
    for (Operand& operand : chain_.operands)
      operand.is_last = std::ranges::find(unread, operand.slot) != unread.end();
    return std::move(chain_);
  }

 private:
  void add(std::int32_t number) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(number)];
    const FusedOp op = *fused_op(graph_, node);
    chain_.loop.count = std::max(chain_.loop.count, element_count(node.results[0].shape));
    switch (op.kind) {
      case FusedOp::Kind::call:
        return add_call(number, node, op);
      case FusedOp::Kind::add_all:
        return add_sum(number, node);
      case FusedOp::Kind::passed_on: {
        const std::int32_t value = operand(node, 0);
        made_[number] = value;
        return keep(number, node, value);
      }
      case FusedOp::Kind::reduction:
        return add_reduction(number, node, op);
    }
  }

  void add_call(std::int32_t number, const Node& node, const FusedOp& op) {
    cpu::FusedCall call = op.call;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) call.operands[i] = operand(node, i, op);
    if (op.parameter) call.operands[node.inputs.size()] = parameter(*op.parameter, node.results[0].dtype);
    call.result = new_value(node.results[0].dtype);
    chain_.loop.calls.push_back(call);
    made_[number] = call.result;
    keep(number, node, call.result);
  }

  void add_sum(std::int32_t number, const Node& node) {
    cpu::FusedCall call;
    call.kind = cpu::FusedCall::Kind::binary;
    call.binary = kernels::Binary::add;
    std::int32_t sum = operand(node, 0);
    for (std::size_t i = 1; i < node.inputs.size(); ++i) {
      call.operands = {sum, operand(node, i), -1, -1};
      call.result = sum = new_value(node.results[0].dtype);
      chain_.loop.calls.push_back(call);
    }
    made_[number] = sum;
    keep(number, node, sum);
  }

  void add_reduction(std::int32_t number, const Node& node, const FusedOp& op) {
    cpu::FusedReduction reduction;
    reduction.op = op.reduction;
    reduction.value = operand(node, 0);
    if (op.pairs) reduction.other = operand(node, 1);
    for (Operand& read : chain_.operands)
      if (read.value == reduction.value || read.value == reduction.other) read.is_compared = true;
    reduction.row = op.row;
    reduction.divisor = op.divides ? op.row : 0;
    Output output{slot_of(number), reduction.value, static_cast<std::int32_t>(chain_.loop.reductions.size()),
                  node.results[0]};
    chain_.loop.reductions.push_back(reduction);
    chain_.outputs.push_back(std::move(output));
  }

  std::uint32_t slot_of(std::int32_t number) const { return layout_.slot_of({number, 0}); }

  std::int32_t new_value(DType dtype) {
    chain_.loop.values.push_back({.dtype = dtype});
    return static_cast<std::int32_t>(chain_.loop.values.size()) - 1;
  }

  std::int32_t parameter(double number, DType dtype) {
    chain_.parameters.push_back(Tensor::scalar(number, dtype));
    const std::int32_t value = new_value(dtype);
    chain_.loop.values.back().place = Place::single;
    chain_.loop.values.back().data = chain_.parameters.back().raw();
    return value;
  }

  /// The value of a node's input: of the chain, or from outside.
  std::int32_t operand(const Node& node, std::size_t place, const FusedOp& op = {}) {
    const Value input = node.inputs[place];
    if (const auto made = made_.find(input.node); made != made_.end()) return made->second;
    const TensorSpec& spec = graph_.spec(input);
    const bool is_exponent =
        op.call.kind == cpu::FusedCall::Kind::binary && op.call.binary == kernels::Binary::pow && place == 1;
    const Shape& shape =
        op.kind == FusedOp::Kind::call && element_count(spec.shape) < element_count(node.results[0].shape)
            ? node.results[0].shape
            : spec.shape;
    for (Operand& known : chain_.operands)
      if (known.slot == layout_.slot_of(input) && known.shape == shape) {
        known.is_exponent = known.is_exponent || is_exponent;
        return known.value;
      }
    const std::int32_t value = new_value(spec.dtype);
    chain_.operands.push_back({layout_.slot_of(input), value, shape, is_exponent});
    return value;
  }

  /// What others read of the node.
  void keep(std::int32_t number, const Node& node, std::int32_t value) {
    if (!read_outside_.contains({number, 0})) return;
    const auto is_kept = [&](const Output& output) { return output.value == value && output.reduction < 0; };
    const bool is_view = std::ranges::any_of(chain_.outputs, is_kept);
    chain_.outputs.push_back({slot_of(number), value, -1, node.results[0], is_view});
    chain_.loop.values[static_cast<std::size_t>(value)].place = Place::kept;
  }

  const Graph& graph_;
  const Layout& layout_;
  const std::set<Value>& read_outside_;
  Chain chain_;
  std::map<std::int32_t, std::int32_t> made_;  ///< by node: its value
};

FusedLoops::FusedLoops(const Graph& graph, const Layout& layout, std::span<const FusedChain> chains)
    : chain_of_(graph.nodes.size(), none) {
  for (std::size_t i = 0; i < chains.size(); ++i)
    for (const std::int32_t node : chains[i].nodes)
      chain_of_[static_cast<std::size_t>(node)] = static_cast<std::uint32_t>(i);
  std::set<Value> read_outside(graph.results.begin(), graph.results.end());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const Value input : graph.nodes[i].inputs)
      if (const std::uint32_t chain = chain_of_[static_cast<std::size_t>(input.node)];
          chain != none && chain_of_[i] != chain)
        read_outside.insert(input);
  for (const FusedChain& chain : chains) chains_.push_back(Maker(graph, layout, read_outside).make(chain));
}

/// Whether the loop can read the tensor.
bool FusedLoops::place(const Operand& operand, const Tensor& tensor, cpu::FusedLoop& loop, Tensors& held) {
  if (!tensor || !tensor.on_cpu()) return false;
  cpu::FusedValue& value = loop.values[static_cast<std::size_t>(operand.value)];
  value.data = tensor.raw();
  if (ops::repeats_one_value(tensor)) {
    value.place = Place::single;
    return !operand.is_compared;
  }
  value.place = Place::elements;
  if (tensor.count() == loop.count && tensor.contiguous()) return true;
  if (operand.is_exponent) return false;
  const Strides strides = ops::broadcast_strides(tensor, operand.shape);
  if (const auto found = repetition_of(operand.shape, strides)) {
    value.place = Place::repeated;
    value.inner = found->inner;
    value.extent = found->extent;
    return true;
  }
  held.push_back(ops::view_of(tensor, operand.shape, strides).make_contiguous());
  value.data = held.back().raw();
  return true;
}

namespace {

/// Memory that results of less than this need is at hand anyway.
constexpr std::size_t least_reused = std::size_t{1} << 18;

/// Whether nothing but the handle refers to the tensor and its memory, and it has all of that.
bool is_alone(const Tensor& tensor) {
  const Storage* storage = tensor.storage().get();
  return storage && tensor.references() == 1 && !tensor.body()->observer && storage->references() == 1 &&
         storage->mark() == 0 && !storage->borrowed() && storage->kept() == nullptr &&
         storage->size() == tensor.bytes();
}

}  // namespace

/// Of an operand that nothing reads behind the chain, if its elements are as many and as large as the
/// result's, the memory; else new one.
Tensor FusedLoops::memory_for(const Chain& chain, const Output& output, const Frame& values,
                              cpu::FusedLoop& loop) {
  const std::size_t size = item_size(output.spec.dtype);
  const auto bytes = static_cast<std::size_t>(loop.count) * size;
  for (const Operand& operand : chain.operands) {
    if (output.reduction >= 0 || bytes < least_reused) break;
    cpu::FusedValue& read = loop.values[static_cast<std::size_t>(operand.value)];
    const Tensor& tensor = values[operand.slot];
    if (!operand.is_last || operand.is_compared || read.place != Place::elements ||
        read.data != tensor.raw() || item_size(tensor.dtype()) != size || !is_alone(tensor))
      continue;
    loop.values[static_cast<std::size_t>(output.value)].overlaps = true;
    return Tensor::view(tensor.storage(), output.spec.dtype, output.spec.shape,
                        contiguous_strides(output.spec.shape), tensor.offset());
  }
  return Tensor::allocate(output.spec.dtype, output.spec.shape);
}

bool FusedLoops::run(std::uint32_t number, Frame& values) const {
  const Chain& chain = chains_[number];
  const SubnormalScope subnormals;
  cpu::FusedLoop loop = chain.loop;
  Tensors held, results;
  try {
    for (const Operand& operand : chain.operands)
      if (!place(operand, values[operand.slot], loop, held)) return false;
    for (const Output& output : chain.outputs) {
      if (output.is_view) {
        const auto before = std::ranges::find_if(chain.outputs, [&](const Output& each) {
          return each.value == output.value && each.reduction < 0;
        });
        results.push_back(ops::view_of(results[static_cast<std::size_t>(before - chain.outputs.begin())],
                                       output.spec.shape, contiguous_strides(output.spec.shape)));
        continue;
      }
      results.push_back(memory_for(chain, output, values, loop));
      auto* target = results.back().writable_data<std::byte>();
      if (output.reduction >= 0)
        loop.reductions[static_cast<std::size_t>(output.reduction)].out = target;
      else
        loop.values[static_cast<std::size_t>(output.value)].target = target;
    }
  } catch (const ResourceExhaustedError&) {
    return false;
  }
  cpu::run_fused(std::move(loop));
  for (std::size_t i = 0; i < results.size(); ++i) values[chain.outputs[i].slot] = std::move(results[i]);
  return true;
}

}  // namespace tapedeck::graph
