#include "engine/debug/compare/port_layers.h"

#include <algorithm>

#include "engine/debug/compare/layer_verdict.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/compare/operands.h"
#include "engine/debug/describe.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

using protocol::Agreement;
using protocol::ComparedLayer;
using protocol::ComparedLayerPart;
using protocol::LayerRole;

constexpr std::size_t most_parts_of_layer = 200;

/// What a file may call a layer's result, behind the layer's name.
bool names_output(const std::string& name) {
  return name == "output" || name == "activation" || name == "activations" || name == "result";
}
bool names_gradient(const std::string& name) {
  return name == "grad" || name == "gradient";
}

class PortLayers {
 public:
  PortLayers(const Comparison& comparison, const ComparedValues& values,
             const protocol::CompareLayers& request, const CancelFlag* cancel, const Jobs::Report& report)
      : pairs_(comparison, values, request, cancel),
        comparison_(comparison),
        port_(*comparison.port()),
        request_(request),
        report_(report) {
    answer_.comparison = request.comparison;
  }

  protocol::ComparedLayers run() {
    find_outputs();
    rows_.by_extents = port_.pairs.by_extents;
    rows_.recorded = !port_.left.tensors && !port_.right.tensors;
    if (rows_.recorded) {
      rows_.left_backward = !port_.left.losses.empty();
      rows_.right_backward = !port_.right.losses.empty();
    }
    for (std::size_t l = 0; l < port_.left.layers.size(); ++l) {
      pairs_.check_cancelled();
      if (report_) report_(protocol::Progress{l, port_.left.layers.size()});
      add_layer(l, port_.pairs.right_of[l]);
    }
    for (std::size_t r = 0; r < port_.right.layers.size(); ++r)
      if (port_.pairs.left_of[r] == no_layer) add_layer(no_layer, r);
    tell_layers(pairs_, request_, rows_, answer_);
    return std::move(answer_);
  }

 private:
  using Row = Comparison::Row;
  const Row& row(std::size_t number) const { return comparison_.rows()[number]; }

  /// Of each layer of both sides the last pair of ops of the first pass that made something of the same
  /// extents.
  void find_outputs() {
    const auto& rows = comparison_.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((i & 0xfff) == 0) pairs_.check_cancelled();
      if (!rows[i].computes || rows[i].left >= port_.left.pass_end || rows[i].right >= port_.right.pass_end)
        continue;
      const std::size_t layer = comparison_.layer_of(rows[i]);
      rows_.forward[layer].push_back(i);
      if (rows[i].kind == protocol::RowKind::same || !rows_.outputs.contains(layer)) rows_.outputs[layer] = i;
    }
  }

  void add_layer(std::size_t left, std::size_t right) {
    const Layer* const l = left == no_layer ? nullptr : &port_.left.layers[left];
    const Layer* const r = right == no_layer ? nullptr : &port_.right.layers[right];
    ComparedLayer layer;
    if (l) layer.left = l->name;
    if (r) layer.right = r->name;
    if (l && r) {
      if (port_.left.tensors || port_.right.tensors)
        add_named_output(l, r, layer);
      else if (left == 0 && rows_.left_backward && rows_.right_backward)
        add_losses(layer);
      else if (const auto output = rows_.outputs.find(left); output != rows_.outputs.end())
        add_output(output->second, layer);
      add_values(*l, *r, layer);
      add_taken(left, *r, layer);
      if (layer.parts.empty() && left == 0) return;  // nothing happens outside of layers
      rows_.layers.push_back(left);
    } else {
      if (left == 0 || right == 0 || (l ? l : r)->folded) return;
      std::uint64_t& missing = l ? rows_.left_weights : rows_.right_weights;
      for (const LayerValue& value : (l ? l : r)->values) missing += value.weight && !passes(value);
      if (add_named_output(l, r, layer)) (l ? layer.right : layer.left) = (l ? l : r)->name;
      rows_.layers.push_back(no_layer);
    }
    answer_.layers.push_back(std::move(layer));
  }

  ComparedLayerPart& add_part(ComparedLayer& layer, LayerRole role, std::string name, std::uint64_t left,
                              std::uint64_t right) {
    pairs_.check_cancelled();
    ComparedLayerPart& part = layer.parts.emplace_back();
    part.role = role;
    part.tensors.role = std::move(name);
    part.tensors.result = role == LayerRole::output;
    pairs_.fill(left, right, part.tensors);
    if (left && right && part.tensors.values == Agreement::unknown) ++rows_.gone;
    if (!left != !right) part.tensors.problem = left ? "the right side has none" : "the left side has none";
    return part;
  }

  /// What the backward passes begin with: outside of layers the last op before them makes its gradient, ones.
  void add_losses(ComparedLayer& layer) {
    const auto &lefts = port_.left.losses, &rights = port_.right.losses;
    for (std::size_t i = 0; i < std::min(lefts.size(), rights.size()); ++i) {
      ComparedLayerPart& part =
          add_part(layer, LayerRole::output, i == 0 ? loss_name : loss_name + (" " + std::to_string(i + 1)),
                   lefts[i], rights[i]);
      const std::uint32_t left = pairs_.trace(false).tensors().get(lefts[i]).producer(),
                          right = pairs_.trace(true).tensors().get(rights[i]).producer();
      const std::int64_t row = left ? comparison_.row_of_left(left) : -1;
      if (row < 0 || !right || row != comparison_.row_of_right(right)) continue;
      part.row = static_cast<std::size_t>(row);
      comparison_.note(*part.row, part.tensors.values);
    }
  }

  void add_output(std::size_t number, ComparedLayer& layer) {
    const Row& at = row(number);
    ComparedLayerPart& part =
        add_part(layer, LayerRole::output, "output", first_output(pairs_.trace(false), at.left),
                 first_output(pairs_.trace(true), at.right));
    part.row = number;
    comparison_.note(number, part.tensors.values);
    const auto l = port_.left.cotangents.find(at.left), r = port_.right.cotangents.find(at.right);
    if (l != port_.left.cotangents.end() && r != port_.right.cotangents.end())
      add_part(layer, LayerRole::output_gradient, "gradient of the output", l->second, r->second);
  }

  /// The file's tensor that has a recorded layer's result: under the layer's own name or the one that the map
  /// gives it, or as "output" in it. Its extents are the result's, else it is another value. 0: there is
  /// none.
  std::uint64_t stored_output(const SideLayers& file, bool file_right, const Layer& recorded,
                              const Layer* counterpart) const {
    const auto fits = [&](const LayerValue& value) {
      return !recorded.output.empty() && extents(value.tensor, file_right) == recorded.output;
    };
    if (counterpart)
      for (const LayerValue& value : counterpart->values)
        if (names_output(value.name) && fits(value)) return value.tensor;
    std::vector<std::string> names{recorded.name, normal_name(recorded.scope)};
    for (const NamePair& pair : port_.pairs.names)
      if (const std::string& own = file_right ? pair.left : pair.right; own == names[0] || own == names[1])
        names.push_back(file_right ? pair.right : pair.left);
    for (const Layer& layer : file.layers)
      for (const LayerValue& value : layer.values)
        if (fits(value) && std::ranges::any_of(names, [&](const std::string& name) {
              return !name.empty() && has_whole_name(layer, value, name);
            }))
          return value.tensor;
    return 0;
  }

  /// True: it was added.
  bool add_named_output(const Layer* l, const Layer* r, ComparedLayer& layer) {
    const bool left_file = port_.left.tensors;
    if (left_file == port_.right.tensors) return false;  // values of the same names: add_values has them
    const Layer* const recorded = left_file ? r : l;
    if (!recorded) return false;
    const std::uint64_t stored =
        stored_output(left_file ? port_.left : port_.right, !left_file, *recorded, left_file ? l : r);
    const std::uint64_t made = last_result(*recorded, left_file);
    if (stored == 0 || made == 0) return false;
    add_part(layer, LayerRole::output, "output", left_file ? stored : made, left_file ? made : stored);
    return true;
  }

  /// Of a recorded layer in the first pass.
  std::uint64_t last_result(const Layer& layer, bool right) const {
    const SideLayers& side = right ? port_.right : port_.left;
    return layer.result && layer.result < side.pass_end ? first_output(pairs_.trace(right), layer.result) : 0;
  }

  std::vector<std::int64_t> extents(std::uint64_t tensor, bool right) const {
    const std::uint32_t spec = pairs_.trace(right).tensors().get(tensor).spec();
    return spec ? unordered_extents(spec_of(spec).shape) : std::vector<std::int64_t>{-1};
  }

  /// What comes from layers that are a pair: of several of the same extents it is the one that agrees, else
  /// in order. Each of them is compared as a result, too, so that one that is gone is counted there.
  void add_taken(std::size_t left, const Layer& r, ComparedLayer& layer) {
    std::vector<bool> used(r.taken.size());
    for (const TakenTensor& mine : port_.left.layers[left].taken) {
      const std::size_t from = port_.left.layer_of(mine.scope);
      if (from == left) continue;  // of a part of it that only one side has
      std::optional<protocol::ComparedOperand> best;
      std::size_t at = 0;
      for (std::size_t i = 0; i < r.taken.size(); ++i) {
        if (used[i] || port_.pairs.right_of[from] != port_.right.layer_of(r.taken[i].scope) ||
            extents(mine.tensor, false) != extents(r.taken[i].tensor, true))
          continue;
        pairs_.check_cancelled();
        protocol::ComparedOperand both;
        pairs_.fill(mine.tensor, r.taken[i].tensor, both);
        const bool agrees = both.values == Agreement::agree;
        if (!best || agrees) best = std::move(both), at = i;
        if (agrees) break;
      }
      if (!best) continue;
      used[at] = true;
      best->role = taken_name + (from == 0 ? "outside of layers" : port_.left.layers[from].name);
      layer.parts.push_back({LayerRole::value, std::move(*best), {}});
    }
  }

  enum class Match : std::uint8_t { map, name, end_of_name, weight, extents };

  /// By an entry of the map that names both values.
  bool mapped(const LayerValue& left, const LayerValue& right) const {
    return std::ranges::any_of(port_.pairs.names, [&](const NamePair& pair) {
      return has_whole_name(*left_layer_, left, pair.left) &&
             has_whole_name(*right_layer_, right, pair.right);
    });
  }

  bool matches(const LayerValue& left, const LayerValue& right, Match match) const {
    if (match == Match::name) return !left.name.empty() && left.name == right.name;
    if (match == Match::map) return mapped(left, right);
    if (extents(left.tensor, false) != extents(right.tensor, true)) return false;
    const auto end = [](const std::string& name) { return name.substr(name.rfind('/') + 1); };
    if (match == Match::end_of_name) return !left.name.empty() && end(left.name) == end(right.name);
    return match == Match::extents || (left.weight && right.weight);
  }

  /// A right value of a left one. Which are weights is not known of every program: of several that only have
  /// the same extents it is the one that agrees.
  std::size_t counterpart(const LayerValue& value, const Layer& r, const std::vector<bool>& taken,
                          Match match) {
    const bool files = port_.left.tensors && port_.right.tensors;
    std::vector<std::size_t> fitting;
    for (std::size_t i = 0; i < r.values.size(); ++i)
      if (!taken[i] && (files || (!passes(value) && !passes(r.values[i]))) &&
          matches(value, r.values[i], match))
        fitting.push_back(i);
    if (fitting.empty()) return no_layer;
    if (match == Match::extents && fitting.size() > 1)
      for (const std::size_t one : fitting) {
        protocol::ComparedOperand both;
        pairs_.fill(value.tensor, r.values[one].tensor, both);
        if (both.values == Agreement::agree) return one;
      }
    return fitting[0];
  }

  /// Values of one name, then weights, then others that have the same extents, in their order.
  void add_values(const Layer& l, const Layer& r, ComparedLayer& layer) {
    std::vector<bool> taken(r.values.size());
    left_layer_ = &l;
    right_layer_ = &r;
    std::vector<std::size_t> found(l.values.size(), r.values.size());
    for (const Match match : {Match::map, Match::name, Match::end_of_name, Match::weight, Match::extents})
      for (std::size_t i = 0; i < std::min(l.values.size(), most_parts_of_layer); ++i) {
        if (found[i] < r.values.size()) continue;
        const std::size_t one = counterpart(l.values[i], r, taken, match);
        if (one == no_layer) continue;
        taken[one] = true;
        found[i] = one;
      }
    for (std::size_t i = 0; i < std::min(l.values.size(), most_parts_of_layer); ++i)
      if (found[i] < r.values.size())
        add_value(l.values[i], r.values[found[i]], layer);
      else if (l.values[i].weight && !passes(l.values[i]) && ++rows_.left_weights)
        add_part(layer, LayerRole::value, value_name(l.values[i]), l.values[i].tensor, 0);
    for (std::size_t i = 0; i < std::min(r.values.size(), most_parts_of_layer); ++i)
      if (!taken[i] && r.values[i].weight && !passes(r.values[i]) && ++rows_.right_weights)
        add_part(layer, LayerRole::value, value_name(r.values[i]), 0, r.values[i].tensor);
    for (std::size_t i = most_parts_of_layer; i < l.values.size(); ++i)
      rows_.left_weights += l.values[i].weight && !passes(l.values[i]);
    for (std::size_t i = most_parts_of_layer; i < r.values.size(); ++i)
      rows_.right_weights += !taken[i] && r.values[i].weight && !passes(r.values[i]);
  }

  /// A file's outputs and gradients are no weights.
  bool passes(const LayerValue& value) const {
    return names_output(value.name) || names_gradient(value.name);
  }

  static std::string value_name(const LayerValue& value) {
    return value.name.empty() ? (value.weight ? "weight" : "input") : value.name;
  }

  void add_value(const LayerValue& l, const LayerValue& r, ComparedLayer& layer) {
    std::string name = value_name(l);
    if (const std::string other = value_name(r); other != name) name += " | " + other;
    const ComparedLayerPart& part = add_part(layer, LayerRole::value, name, l.tensor, r.tensor);
    rows_.weights += (l.weight || r.weight) && part.tensors.values != Agreement::unknown;
    const bool missing =
        !l.gradient != !r.gradient && (l.weight || r.weight) && rows_.left_backward && rows_.right_backward;
    if (!missing && !(l.gradient && r.gradient)) return;
    ComparedLayerPart& gradient =
        add_part(layer, LayerRole::value_gradient, "gradient of " + name, l.gradient, r.gradient);
    if (missing) gradient.tensors.values = Agreement::differ;
  }

  const ValuePairs pairs_;
  const Comparison& comparison_;
  const Comparison::Port& port_;
  const protocol::CompareLayers& request_;
  const Jobs::Report& report_;
  protocol::ComparedLayers answer_;
  LayerRows rows_;
  const Layer *left_layer_ = nullptr, *right_layer_ = nullptr;  ///< whose values are paired just now
};

}  // namespace

protocol::ComparedLayers compare_layers(const Comparison& comparison, const ComparedValues& values,
                                        const protocol::CompareLayers& request, const CancelFlag* cancel,
                                        const Jobs::Report& report) {
  return PortLayers(comparison, values, request, cancel, report).run();
}

protocol::FirstDifference first_port_difference(const Comparison& comparison, const ComparedValues& values,
                                                const protocol::FindFirstDifference& request,
                                                const CancelFlag* cancel, const Jobs::Report& report) {
  const protocol::ComparedLayers layers = compare_layers(
      comparison, values, {request.comparison, request.relative, request.absolute, request.labels}, cancel,
      report);
  protocol::FirstDifference answer;
  answer.comparison = request.comparison;
  answer.sentence = layers.sentence;
  answer.complete = layers.complete;
  answer.kind = layers.first ? protocol::DifferenceKind::op : protocol::DifferenceKind::none;
  answer.row = layers.row;
  for (const ComparedLayer& layer : layers.layers)
    for (const ComparedLayerPart& part : layer.parts) {
      ++answer.rows;
      answer.looked_at += part.tensors.values != Agreement::unknown;
    }
  if (!layers.first) return answer;
  for (const ComparedLayerPart& part : layers.layers[*layers.first].parts)
    if (part.tensors.values == Agreement::differ) {
      answer.left = part.tensors.left;
      answer.right = part.tensors.right;
      break;
    }
  return answer;
}

}  // namespace tapedeck::debug
