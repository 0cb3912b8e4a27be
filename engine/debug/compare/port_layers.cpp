#include "engine/debug/compare/port_layers.h"

#include <algorithm>
#include <map>

#include "engine/debug/compare/difference_text.h"
#include "engine/debug/compare/layouts.h"
#include "engine/debug/compare/operands.h"
#include "engine/debug/describe.h"
#include "engine/debug/why/elements.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

using protocol::Agreement;
using protocol::ComparedLayer;
using protocol::ComparedLayerPart;
using protocol::LayerRole;

constexpr std::size_t most_parts_of_layer = 200;

/// "layer1/conv"; what lies outside of all layers has no name.
std::string layer_title(const std::optional<std::string>& name) {
  return name && !name->empty() ? *name : "the part outside of layers";
}

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
      : comparison_(comparison),
        port_(*comparison.port()),
        values_(values),
        request_(request),
        tolerance_{request.relative, request.absolute},
        cancel_(cancel),
        report_(report),
        text_(comparison, request.labels) {
    comparison.set_tolerance(tolerance_);
    answer_.comparison = request.comparison;
  }

  protocol::ComparedLayers run() {
    find_outputs();
    for (std::size_t l = 0; l < port_.left.layers.size(); ++l) {
      check_cancelled(cancel_);
      if (report_) report_(protocol::Progress{l, port_.left.layers.size()});
      add_layer(l, port_.pairs.right_of[l]);
    }
    for (std::size_t r = 0; r < port_.right.layers.size(); ++r)
      if (port_.pairs.left_of[r] == no_layer) add_layer(no_layer, r);
    say();
    return std::move(answer_);
  }

 private:
  using Row = Comparison::Row;
  const Row& row(std::size_t number) const { return comparison_.rows()[number]; }
  const Trace& trace(bool right) const {
    return (right ? comparison_.right() : comparison_.left()).recorder->trace();
  }

  /// Of each layer of both sides the last pair of ops of the first pass that made something of the same
  /// extents.
  void find_outputs() {
    const auto& rows = comparison_.rows();
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((i & 0xfff) == 0) check_cancelled(cancel_);
      if (!rows[i].computes || rows[i].left >= port_.left.pass_end || rows[i].right >= port_.right.pass_end)
        continue;
      const std::size_t layer = comparison_.layer_of(rows[i]);
      forward_[layer].push_back(i);
      if (rows[i].kind == protocol::RowKind::same || !outputs_.contains(layer)) outputs_[layer] = i;
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
      else if (const auto output = outputs_.find(left); output != outputs_.end())
        add_output(output->second, layer);
      add_values(*l, *r, layer);
      if (layer.parts.empty() && left == 0) return;  // nothing happens outside of layers
      numbers_.push_back(left);
    } else {
      if (left == 0 || right == 0) return;
      if (add_named_output(l, r, layer)) (l ? layer.right : layer.left) = (l ? l : r)->name;
      numbers_.push_back(no_layer);
    }
    answer_.layers.push_back(std::move(layer));
  }

  ComparedLayerPart& add_part(ComparedLayer& layer, LayerRole role, std::string name, std::uint64_t left,
                              std::uint64_t right) {
    check_cancelled(cancel_);
    ComparedLayerPart& part = layer.parts.emplace_back();
    part.role = role;
    part.tensors.role = std::move(name);
    part.tensors.result = role == LayerRole::output;
    fill_operand(comparison_, values_, left, right, tolerance_, cancel_, part.tensors);
    if (left && right && part.tensors.values == Agreement::unknown) ++gone_;
    return part;
  }

  static std::uint64_t first_output(const Trace& trace, std::uint32_t record) {
    RecordView view;
    return trace.read(record, view) && !view.outputs.empty() ? view.outputs[0] : 0;
  }

  void add_output(std::size_t number, ComparedLayer& layer) {
    const Row& at = row(number);
    ComparedLayerPart& part =
        add_part(layer, LayerRole::output, "output", first_output(trace(false), at.left),
                 first_output(trace(true), at.right));
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
    return layer.result && layer.result < side.pass_end ? first_output(trace(right), layer.result) : 0;
  }

  std::vector<std::int64_t> extents(std::uint64_t tensor, bool right) const {
    const std::uint32_t spec = trace(right).tensors().get(tensor).spec();
    return spec ? unordered_extents(spec_of(spec).shape) : std::vector<std::int64_t>{-1};
  }

  enum class Match : std::uint8_t { map, name, weight, extents };

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
        fill_operand(comparison_, values_, value.tensor, r.values[one].tensor, tolerance_, cancel_, both);
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
    for (const Match match : {Match::map, Match::name, Match::weight, Match::extents})
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
      else if (l.values[i].weight && !passes(l.values[i]))
        add_part(layer, LayerRole::value, value_name(l.values[i]), l.values[i].tensor, 0);
    for (std::size_t i = 0; i < std::min(r.values.size(), most_parts_of_layer); ++i)
      if (!taken[i] && r.values[i].weight && !passes(r.values[i]))
        add_part(layer, LayerRole::value, value_name(r.values[i]), 0, r.values[i].tensor);
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
    add_part(layer, LayerRole::value, name, l.tensor, r.tensor);
    if (l.gradient && r.gradient)
      add_part(layer, LayerRole::value_gradient, "gradient of " + name, l.gradient, r.gradient);
  }

  // ---- which is the first, in words

  const ComparedLayerPart* part_that_differs(const ComparedLayer& layer, LayerRole role) const {
    for (const ComparedLayerPart& part : layer.parts)
      if (part.role == role && part.tensors.values == Agreement::differ) return &part;
    return nullptr;
  }

  /// Of a file's weights there is no order of ops: that of the layers.
  std::uint64_t order(const ComparedLayer& layer, std::size_t place) const {
    const ComparedLayerPart* part = layer.parts.empty() ? nullptr : &layer.parts[0];
    return part && part->row ? *part->row : place;
  }

  void say() {
    std::size_t first = no_layer;
    LayerRole role = LayerRole::output;
    for (const LayerRole wanted :
         {LayerRole::output, LayerRole::value, LayerRole::output_gradient, LayerRole::value_gradient}) {
      const bool backwards = wanted == LayerRole::output_gradient || wanted == LayerRole::value_gradient;
      for (std::size_t i = 0; i < answer_.layers.size(); ++i) {
        if (!part_that_differs(answer_.layers[i], wanted)) continue;
        if (first == no_layer ||
            (order(answer_.layers[i], i) < order(answer_.layers[first], first)) != backwards)
          first = i;
      }
      role = wanted;
      if (first != no_layer) break;
    }
    if (first != no_layer) {
      answer_.first = first;
      answer_.sentence = role == LayerRole::output ? output_sentence(first) : part_sentence(first, role);
    } else {
      answer_.sentence = agreement_sentence();
    }
    answer_.sentence += DifferenceText::tolerance(first_request()).empty()
                            ? " Values that are not the same to the last bit count."
                            : " Counted is what differs" + DifferenceText::tolerance(first_request()) + ".";
    add_what_is_missing();
  }

  protocol::FindFirstDifference first_request() const {
    return {request_.comparison, request_.relative, request_.absolute, {}};
  }

  std::string names(const ComparedLayer& layer) const {
    const std::string left = layer_title(layer.left), right = layer_title(layer.right);
    return left == right ? left : left + " (on the right " + right + ")";
  }

  std::string ops(const Row& at) const {
    return text_.op(comparison_.left(), at.left) + " | " + text_.op(comparison_.right(), at.right);
  }

  static std::string far(const protocol::ComparedOperand& tensors) {
    if (tensors.count == 0) return tensors.problem.value_or("it differs");
    std::string text = "it differs in " + std::to_string(tensors.differing) + " of " +
                       counted(tensors.count, "element") + ", by up to " +
                       short_number(tensors.max_absolute) + " (relative " +
                       short_number(tensors.max_relative) + ")";
    if (tensors.layout) text += ", " + *tensors.layout;
    return text;
  }

  std::string output_sentence(std::size_t first) {
    const ComparedLayer& layer = answer_.layers[first];
    const ComparedLayerPart& part = *part_that_differs(layer, LayerRole::output);
    std::string text =
        "The first layer whose output differs is " + names(layer) + ": " + far(part.tensors) + ".";
    if (part.row) text += " " + op_sentence(first, *part.row);
    return text;
  }

  /// The first pair in the layer, or outside of layers just before it, whose results differ and inputs agree;
  /// or the first whose results differ.
  std::string op_sentence(std::size_t first, std::size_t output) {
    std::vector<std::size_t> rows = forward_[numbers_[first]];
    if (numbers_[first] != 0) {
      const std::size_t begin = previous_output(output);
      for (const std::size_t number : forward_[0])
        if (number > begin) rows.push_back(number);
      std::ranges::sort(rows);
    }
    std::optional<std::size_t> differing;
    for (const std::size_t number : rows) {
      if (number > output) break;
      protocol::ComparedOperand result;
      fill_operand(comparison_, values_, first_output(trace(false), row(number).left),
                   first_output(trace(true), row(number).right), tolerance_, cancel_, result);
      comparison_.note(number, result.values);
      if (result.values != Agreement::differ || result.count == 0) continue;
      if (!differing) differing = number;
      if (inputs(number) != Agreement::agree) continue;
      answer_.row = number;
      return "In it the first op that differs is " + ops(row(number)) +
             ": its inputs agree, its result does not (" + far(result) + ").";
    }
    answer_.row = differing.value_or(output);
    return "In it the first pair of ops that differs is " + ops(row(*answer_.row)) +
           "; what it takes comes from ops that are not paired, or differs already.";
  }

  std::size_t previous_output(std::size_t output) const {
    std::size_t begin = 0;
    for (const auto& [layer, number] : outputs_)
      if (layer != 0 && number < output) begin = std::max(begin, number);
    return begin;
  }

  /// Of all inputs that have a counterpart; unknown: there is none.
  Agreement inputs(std::size_t number) const {
    RecordView left, right;
    if (!trace(false).read(row(number).left, left) || !trace(true).read(row(number).right, right))
      return Agreement::unknown;
    Agreement all = Agreement::unknown;
    for (const auto& [l, r] : paired_inputs(comparison_, left.inputs, right.inputs)) {
      if (l == no_layer || r == no_layer || !left.inputs[l] || !right.inputs[r]) continue;
      protocol::ComparedOperand input;
      fill_operand(comparison_, values_, left.inputs[l], right.inputs[r], tolerance_, cancel_, input);
      if (input.values != Agreement::agree) return Agreement::differ;
      all = Agreement::agree;
    }
    return all;
  }

  std::string part_sentence(std::size_t first, LayerRole role) {
    const ComparedLayer& layer = answer_.layers[first];
    const ComparedLayerPart& part = *part_that_differs(layer, role);
    const bool gradient = role != LayerRole::value;
    std::string text =
        gradient ? "All compared outputs and weights agree. The first gradient that differs, backwards, "
                   "is the " +
                       part.tensors.role + " of "
                 : compared_outputs() + "The first value that differs is " + part.tensors.role + " of ";
    text += names(layer) + ": " + far(part.tensors) + ".";
    for (const ComparedLayerPart& other : layer.parts)
      if (other.row) {
        answer_.row = other.row;
        text += " The layer's output is made by " + ops(row(*other.row)) + ".";
      }
    return text;
  }

  std::string compared_outputs() const {
    const bool any = std::ranges::any_of(answer_.layers, [](const ComparedLayer& layer) {
      return std::ranges::any_of(
          layer.parts, [](const ComparedLayerPart& part) { return part.role == LayerRole::output; });
    });
    return any ? "All compared outputs agree. " : "";
  }

  std::string agreement_sentence() const {
    std::uint64_t parts = 0, layers = 0;
    for (const ComparedLayer& layer : answer_.layers) {
      std::uint64_t agreeing = 0;
      for (const ComparedLayerPart& part : layer.parts) agreeing += part.tensors.values == Agreement::agree;
      layers += agreeing > 0;
      parts += agreeing;
    }
    if (parts == 0)
      return "Nothing could be compared: no layer of one side has values that one of the other side has, "
             "too. A name "
             "map says which layers are the same.";
    return "No compared value differs: " + counted(parts, "value") + " of " + counted(layers, "layer") +
           " agree (outputs, weights and gradients of the first pass).";
  }

  void add_what_is_missing() {
    std::uint64_t lefts = 0, rights = 0, transposed = 0;
    for (const ComparedLayer& layer : answer_.layers) {
      lefts += !layer.right;
      rights += !layer.left;
      for (const ComparedLayerPart& part : layer.parts)
        transposed += part.tensors.values == Agreement::agree && part.tensors.layout.has_value();
    }
    if (transposed)
      answer_.sentence += " " + counted(transposed, "value") + (transposed == 1 ? " agrees" : " agree") +
                          " with the axes in another order.";
    if (lefts || rights)
      answer_.sentence += " " + counted(lefts, "layer") + (lefts == 1 ? " is" : " are") +
                          " on the left only, " + std::to_string(rights) + " on the right only.";
    if (gone_) {
      answer_.sentence +=
          " " + counted(gone_, "value") + (gone_ == 1 ? " is" : " are") + " gone and could not be compared.";
      answer_.complete = false;
    }
  }

  const Comparison& comparison_;
  const Comparison::Port& port_;
  const ComparedValues& values_;
  const protocol::CompareLayers& request_;
  const Tolerance tolerance_;
  const CancelFlag* const cancel_;
  const Jobs::Report& report_;
  const DifferenceText text_;
  protocol::ComparedLayers answer_;
  std::vector<std::size_t> numbers_;                            ///< of the answer's layers: the left side's
  std::map<std::size_t, std::size_t> outputs_;                  ///< rows, by the left side's layer
  std::map<std::size_t, std::vector<std::size_t>> forward_;     ///< rows of the first pass, by layer
  const Layer *left_layer_ = nullptr, *right_layer_ = nullptr;  ///< whose values are paired just now
  std::uint64_t gone_ = 0;
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
