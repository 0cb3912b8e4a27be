#include "engine/debug/compare/layer_verdict.h"

#include <algorithm>

#include "engine/debug/compare/difference_text.h"
#include "engine/debug/describe.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

using protocol::Agreement;
using protocol::ComparedLayer;
using protocol::ComparedLayerPart;
using protocol::LayerRole;

/// "layer1/conv"; what lies outside of all layers has no name.
std::string layer_title(const std::optional<std::string>& name) {
  return name && !name->empty() ? *name : "the part outside of layers";
}

class LayerVerdict {
 public:
  LayerVerdict(const ValuePairs& pairs, const protocol::CompareLayers& request, const LayerRows& rows,
               protocol::ComparedLayers& answer)
      : pairs_(pairs),
        comparison_(pairs.comparison()),
        request_(request),
        rows_(rows),
        text_(comparison_, request.labels),
        answer_(answer) {}

  void tell() {
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

 private:
  using Row = Comparison::Row;
  const Row& row(std::size_t number) const { return comparison_.rows()[number]; }

  std::vector<std::size_t> forward(std::size_t layer) const {
    const auto found = rows_.forward.find(layer);
    return found == rows_.forward.end() ? std::vector<std::size_t>() : found->second;
  }

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
    std::vector<std::size_t> rows = forward(rows_.layers[first]);
    if (rows_.layers[first] != 0) {
      const std::size_t begin = previous_output(output);
      for (const std::size_t number : forward(0))
        if (number > begin) rows.push_back(number);
      std::ranges::sort(rows);
    }
    std::optional<std::size_t> differing;
    for (const std::size_t number : rows) {
      if (number > output) break;
      protocol::ComparedOperand result;
      pairs_.fill(first_output(pairs_.trace(false), row(number).left),
                  first_output(pairs_.trace(true), row(number).right), result);
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
    for (const auto& [layer, number] : rows_.outputs)
      if (layer != 0 && number < output) begin = std::max(begin, number);
    return begin;
  }

  /// Of all inputs that have a counterpart; unknown: there is none.
  Agreement inputs(std::size_t number) const {
    RecordView left, right;
    if (!pairs_.trace(false).read(row(number).left, left) ||
        !pairs_.trace(true).read(row(number).right, right))
      return Agreement::unknown;
    Agreement all = Agreement::unknown;
    for (const auto& [l, r] : paired_inputs(comparison_, left.inputs, right.inputs)) {
      if (l == no_layer || r == no_layer || !left.inputs[l] || !right.inputs[r]) continue;
      protocol::ComparedOperand input;
      pairs_.fill(left.inputs[l], right.inputs[r], input);
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
    if (rows_.gone) {
      answer_.sentence += " " + counted(rows_.gone, "value") + (rows_.gone == 1 ? " is" : " are") +
                          " gone and could not be compared.";
      answer_.complete = false;
    }
  }

  const ValuePairs& pairs_;
  const Comparison& comparison_;
  const protocol::CompareLayers& request_;
  const LayerRows& rows_;
  const DifferenceText text_;
  protocol::ComparedLayers& answer_;
};

}  // namespace

std::uint64_t first_output(const Trace& trace, std::uint32_t record) {
  RecordView view;
  return trace.read(record, view) && !view.outputs.empty() ? view.outputs[0] : 0;
}

void tell_layers(const ValuePairs& pairs, const protocol::CompareLayers& request, const LayerRows& rows,
                 protocol::ComparedLayers& answer) {
  LayerVerdict(pairs, request, rows, answer).tell();
}

}  // namespace tapedeck::debug
