#include "engine/debug/compare/layers.h"

#include <algorithm>

#include "engine/debug/compare/layouts.h"
#include "engine/debug/compare/tensor_file.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/trace/scope.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t layers_glanced_at_once = 4096;
constexpr std::size_t most_layers = 20'000;
constexpr std::size_t most_taken = 200;  // by one layer
/// What PyTorch's recorder calls a leaf for which it found no name.
constexpr const char* unnamed_leaf = "leaf";

std::string last_part(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

/// Reads records once, in order.
class LayerReader {
 public:
  LayerReader(const Side& side, const Uninitialised& unwritten)
      : side_(side), unwritten_(unwritten), trace_(side.recorder->trace()) {
    found_.trace = &trace_;
    found_.layers.emplace_back();
    found_.by_scope[0] = 0;
  }

  void take(const RecordGlance& record) {
    const RecordHead& head = record.head;
    if (head.kind == EventKind::op && head.op) ++(is_foreign(*head.op) ? found_.foreign_ops : found_.own_ops);
    if (head.op && is_file_tensor(*head.op)) return take_tensor(record);
    const bool backward = head.backward || head.kind == EventKind::playback || head.kind == EventKind::vjp;
    if (phase_ == Phase::forward && backward) {
      phase_ = Phase::backward;
      found_.pass_end = record.number;
    } else if (phase_ == Phase::backward && !backward && head.kind == EventKind::op && head.depth == 0) {
      phase_ = Phase::over;
    }
    if (backward)
      take_backward(record);
    else if (head.kind == EventKind::op && record.state == RecordState::done)
      take_forward(record);
  }

  SideLayers finished() {
    for (const Step& step : steps_) play(step);
    for (Layer& layer : found_.layers)
      std::erase_if(layer.values, [&](const LayerValue& value) {  // constants of the program
        return !value.weight && value.name.empty() && extents(value.tensor).empty();
      });
    name_layers();
    note_orders();
    return std::move(found_);
  }

 private:
  enum class Phase : std::uint8_t { forward, backward, over };
  /// Of the first backward pass what gives gradients of values.
  struct Step {
    std::uint32_t forward = 0;  ///< a VJP's; 0: a sum of gradients
    TensorIds inputs, outputs;
  };

  std::vector<std::int64_t> extents(std::uint64_t tensor) const {
    const std::uint32_t spec = tensor ? trace_.tensors().get(tensor).spec() : 0;
    return spec ? unordered_extents(spec_of(spec).shape) : std::vector<std::int64_t>();
  }

  std::size_t layer(std::uint32_t scope) {
    const auto [known, fresh] = found_.by_scope.try_emplace(scope, 0);
    if (fresh && found_.layers.size() < most_layers) {
      known->second = found_.layers.size();
      Layer& made = found_.layers.emplace_back();
      made.scope = scope_text(scope);
    }
    return known->second;
  }

  void take_tensor(const RecordGlance& record) {
    found_.tensors = true;
    if (record.inputs.empty()) return;
    Layer& mine = found_.layers[layer(record.head.scope)];
    const std::string name = normal_name(name_of(side_.recorder->values().name(record.inputs[0])));
    mine.values.push_back({record.inputs[0], last_part(name), true, 0});
  }

  void take_forward(const RecordGlance& record) {
    const std::size_t number = layer(record.head.scope);
    if (record.head.scope && first_scoped_ == 0) first_scoped_ = record.number;
    if (phase_ != Phase::forward) return;
    if (!record.outputs.empty() && record.outputs[0]) {
      found_.layers[number].output = extents(record.outputs[0]);
      found_.layers[number].result = record.number;
    }
    const std::vector<bool> overwritten = overwritten_inputs(record.head, record.inputs.size());
    for (std::size_t i = 0; i < record.inputs.size(); ++i)
      if (const std::uint64_t id = record.inputs[i];
          id && !overwritten[i] && unwritten_.contents(id) == Contents::written) {
        if (comes_from_outside(id, number))
          add_value(id, number);
        else if (number != 0)
          add_taken(id, number);
      }
  }

  /// Not what comes from a layer inside of this one: the layer made it itself.
  void add_taken(std::uint64_t tensor, std::size_t number) {
    const std::uint32_t scope = trace_.scope_of(trace_.tensors().get(tensor).producer());
    if (layer(scope) == number) return;
    Layer& mine = found_.layers[number];
    if (scope_text(scope).starts_with(mine.scope + "/") || mine.taken.size() == most_taken) return;
    const auto same = [&](const TakenTensor& one) { return one.tensor == tensor; };
    if (std::ranges::none_of(mine.taken, same)) mine.taken.push_back({tensor, scope});
  }

  /// No op made it, or one before the first layer began: weights and data are often made so.
  bool comes_from_outside(std::uint64_t tensor, std::size_t layer) const {
    const std::uint32_t producer = trace_.tensors().get(tensor).producer();
    if (producer < side_.first) return true;
    return layer != 0 && producer < first_scoped_;
  }

  void add_value(std::uint64_t tensor, std::size_t layer) {
    const auto [known, fresh] = values_.try_emplace(tensor, layer, found_.layers[layer].values.size());
    if (!fresh) return;
    LayerValue value{tensor, {}, false, 0};
    if (const std::uint32_t name = side_.recorder->values().name(tensor)) {
      value.name = last_part(normal_name(name_of(name)));
      value.weight = true;
      if (value.name == unnamed_leaf) value.name.clear();
    }
    found_.layers[layer].values.push_back(std::move(value));
  }

  LayerValue* value_of(std::uint64_t tensor) {
    const auto known = values_.find(tensor);
    return known == values_.end() ? nullptr
                                  : &found_.layers[known->second.first].values[known->second.second];
  }

  void take_backward(const RecordGlance& record) {
    const RecordHead& head = record.head;
    if (phase_ != Phase::backward || record.state != RecordState::done) return;
    if (head.kind == EventKind::playback) {
      if (found_.losses.empty()) found_.losses.assign(record.inputs.begin(), record.inputs.end());
    } else if (head.kind == EventKind::vjp) {
      if (!record.inputs.empty() && record.inputs[0])
        found_.cotangents.try_emplace(head.forward, record.inputs[0]);
      if (head.op && !is_foreign(*head.op) && head.forward)
        steps_.push_back({head.forward, {}, {record.outputs.begin(), record.outputs.end()}});
    } else if (head.kind == EventKind::op && head.op && is_stop_of_playback(*head.op)) {
      if (is_foreign(*head.op) && record.inputs.size() == 2 && record.outputs.empty()) {  // AccumulateGrad
        if (LayerValue* value = value_of(record.inputs[0]); value && value->gradient == 0) {
          value->gradient = record.inputs[1];
          value->weight = true;
        }
      } else if (!record.outputs.empty()) {
        steps_.push_back({0, {record.inputs.begin(), record.inputs.end()}, {record.outputs[0]}});
      }
    }
  }

  /// A variable's gradient is the sum of what the VJPs of the ops that take it give.
  void play(const Step& step) {
    if (step.forward == 0) {
      for (const std::uint64_t id : step.inputs)
        if (const auto part = parts_.find(id); part != parts_.end()) {
          parts_[step.outputs[0]] = part->second;
          if (LayerValue* value = value_of(part->second)) value->gradient = step.outputs[0];
          return;
        }
      return;
    }
    RecordView forward;
    if (!trace_.read(step.forward, forward)) return;
    for (std::size_t i = 0; i < std::min(forward.inputs.size(), step.outputs.size()); ++i) {
      LayerValue* value = step.outputs[i] ? value_of(forward.inputs[i]) : nullptr;
      if (!value) continue;
      parts_[step.outputs[i]] = value->tensor;
      if (value->gradient == 0) value->gradient = step.outputs[i];
    }
  }

  /// "sequential/dense" and "sequential/dense_1" are "dense" and "dense_1".
  void name_layers() {
    std::vector<Layer*> named;
    for (Layer& one : found_.layers)
      if (!one.scope.empty()) {
        one.name = normal_name(one.scope);
        named.push_back(&one);
      }
    while (named.size() > 1) {
      const std::size_t end = named[0]->name.find('/');
      if (end == std::string::npos) return;
      const std::string shared = named[0]->name.substr(0, end + 1);
      if (!std::ranges::all_of(named, [&](const Layer* one) { return one->name.starts_with(shared); }))
        return;
      for (Layer* one : named) one->name.erase(0, end + 1);
    }
  }

  /// A file does not say which framework wrote it, but Keras calls a weight "kernel" and PyTorch "weight".
  WeightOrder order_of(const LayerValue& value) const {
    if (!found_.tensors) return found_.foreign() ? WeightOrder::torch : WeightOrder::tensorflow;
    return value.name.find("kernel") != std::string::npos   ? WeightOrder::tensorflow
           : value.name.find("weight") != std::string::npos ? WeightOrder::torch
                                                            : WeightOrder::unknown;
  }
  void note_orders() {
    for (const Layer& layer : found_.layers)
      for (const LayerValue& value : layer.values) {
        for (const std::uint64_t id : {value.tensor, value.gradient}) {
          if (!id) continue;
          found_.orders.emplace(id, order_of(value));
          if (value.weight) found_.weights.insert(id);
        }
      }
  }

  const Side& side_;
  const Uninitialised& unwritten_;
  const Trace& trace_;
  SideLayers found_;
  Phase phase_ = Phase::forward;
  std::uint32_t first_scoped_ = 0;
  std::unordered_map<std::uint64_t, std::pair<std::size_t, std::size_t>> values_;  ///< layer, place in it
  std::unordered_map<std::uint64_t, std::uint64_t> parts_;  ///< of gradients: of which value
  std::vector<Step> steps_;
};

}  // namespace

std::size_t SideLayers::layer_of(std::uint32_t scope) const {
  const auto known = by_scope.find(scope);
  return known == by_scope.end() ? 0 : known->second;
}

WeightOrder SideLayers::order_of(std::uint64_t tensor) const {
  const auto known = orders.find(tensor);
  return known == orders.end() ? WeightOrder::unknown : known->second;
}

SideLayers layers_of(const Side& side, const Uninitialised& unwritten, const CancelFlag* cancel) {
  LayerReader reader(side, unwritten);
  const Trace& trace = side.recorder->trace();
  for (std::uint64_t next = side.first; next <= side.last;) {
    check_cancelled(cancel);
    next = std::max<std::uint64_t>(next, trace.oldest_kept());
    if (next > side.last) break;
    const std::uint64_t last = std::min<std::uint64_t>(next + layers_glanced_at_once - 1, side.last);
    const std::uint32_t after =
        trace.glance(static_cast<std::uint32_t>(next), static_cast<std::uint32_t>(last),
                     [&](const RecordGlance& record) { reader.take(record); });
    if (after <= next) break;  // its thread writes it just now
    next = after;
  }
  return reader.finished();
}

std::string kind_of_op(const OpDef& op, std::size_t inputs) {
  if (!is_foreign(op)) return op.name == "bias_add" ? "add" : op.name;
  std::string base = op.name.substr(op.name.find('.') + 1);
  base = base.substr(0, base.find('.'));
  if (base.ends_with('_') && base.size() > 1) base.pop_back();
  if (base == "addmm" || base == "baddbmm" || base == "addmv" || base == "linear") return "add";
  if (base == "convolution" && inputs > 2) return "add";
  const ForeignOp* foreign = foreign_of(op);
  return foreign && foreign->counterpart ? foreign->counterpart->name : base;
}

}  // namespace tapedeck::debug
