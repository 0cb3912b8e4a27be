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
            (order(answer_.layers[i], i, wanted) < order(answer_.layers[first], first, wanted)) != backwards)
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
      if (part.role == role && part.tensors.values == Agreement::differ && !is_taken(part)) return &part;
    return nullptr;
  }

  /// Another layer's result: it is no further value of the first pass.
  static bool is_taken(const ComparedLayerPart& part) {
    return part.role == LayerRole::value && part.tensors.role.starts_with(taken_name);
  }

  /// Of a file's weights there is no order of ops: that of the layers. A loss comes last.
  std::uint64_t order(const ComparedLayer& layer, std::size_t place, LayerRole role) const {
    const ComparedLayerPart* part = layer.parts.empty() ? nullptr : &layer.parts[0];
    if (role == LayerRole::output) part = part_that_differs(layer, role);
    if (part && is_loss(*part)) return UINT64_MAX;
    return part && part->row ? *part->row : place;
  }
  static bool is_loss(const ComparedLayerPart& part) {
    return part.role == LayerRole::output && part.tensors.role.starts_with(loss_name);
  }

  protocol::FindFirstDifference first_request() const {
    return {request_.comparison, request_.relative, request_.absolute, {}};
  }

  std::string names(const ComparedLayer& layer) const {
    const std::string left = layer_title(layer.left), right = layer_title(layer.right);
    return left == right ? left : left + " (on the right " + right + ")";
  }

  std::string ops(const Row& at) const { return ops(at.left, at.right); }
  std::string ops(std::uint32_t left, std::uint32_t right) const {
    return text_.op(comparison_.left(), left) + " | " + text_.op(comparison_.right(), right);
  }

  static std::string far(const protocol::ComparedOperand& tensors) {
    if (tensors.count == 0) {
      std::string problem = tensors.problem.value_or("it differs");
      if (problem.ends_with('.')) problem.pop_back();
      return problem;
    }
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
    if (is_loss(part)) return loss_sentence(first, part);
    std::string text =
        "The first layer whose output differs is " + names(layer) + ": " + far(part.tensors) + ".";
    if (part.row) text += " " + op_sentence(first, *part.row);
    for (const ComparedLayerPart& taken : layer.parts) {
      if (taken.role != LayerRole::value) continue;
      if (taken.tensors.values == Agreement::differ)
        text += " Of what the layer takes, " + taken.tensors.role + " differs: " + far(taken.tensors) + ".";
      else if (is_square_kernel(taken.tensors))
        text += " " + taken.tensors.role +
                " agrees as it is, but a kernel of Keras is the transpose of a weight of PyTorch.";
    }
    return text;
  }

  /// A matrix that two frameworks keep in different orders, whose shape does not tell them, and that agrees
  /// without being transposed.
  bool is_square_kernel(const protocol::ComparedOperand& tensors) const {
    if (tensors.values != Agreement::agree || tensors.layout || !tensors.left || !tensors.right ||
        tensors.role.find("kernel") == std::string::npos)
      return false;
    const auto& shape = tensors.left->shape;
    return shape.size() == 2 && shape[0] == shape[1] && shape[0] > 1 &&
           comparison_.port()->other_orders(tensors.left->id, tensors.right->id);
  }

  std::string loss_sentence(std::size_t first, const ComparedLayerPart& part) {
    const bool others = std::ranges::any_of(answer_.layers, [](const ComparedLayer& layer) {
      return std::ranges::any_of(layer.parts, [](const ComparedLayerPart& one) {
        return one.role == LayerRole::output && one.tensors.values == Agreement::agree;
      });
    });
    std::string text = (others ? "All other compared outputs agree. The " : "The ") + part.tensors.role +
                       " differs: " + far(part.tensors) + ". ";
    const auto maker = [&](bool right, const std::optional<protocol::TensorInfo>& tensor) {
      return tensor ? pairs_.trace(right).tensors().get(tensor->id).producer() : 0;
    };
    const std::uint32_t left = maker(false, part.tensors.left), right = maker(true, part.tensors.right);
    if (part.row) return text + op_sentence(first, *part.row);
    if (!left || !right) return text;
    text += "It is made by " + ops(left, right) + ".";
    if (const std::int64_t row = comparison_.row_of_left(left); row >= 0)
      answer_.row = static_cast<std::size_t>(row);
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
    std::string differing_far;
    for (const std::size_t number : rows) {
      if (number > output) break;
      protocol::ComparedOperand result;
      pairs_.fill(first_output(pairs_.trace(false), row(number).left),
                  first_output(pairs_.trace(true), row(number).right), result);
      comparison_.note(number, result.values);
      if (result.values != Agreement::differ || result.count == 0) continue;
      const std::string unwritten = text_.unwritten(row(number));
      const bool result_turned = is_turned(result);
      std::string turned;
      const bool agreeing = unwritten.empty() && inputs(number, turned) == Agreement::agree;
      if (agreeing && result_turned && !turned.empty()) continue;  // it passes on what was turned before it
      if (!agreeing && !result_turned && unwritten.empty()) {
        if (!differing) differing = number;
        differing_far = differing_far.empty() ? far(result) : differing_far;
        continue;
      }
      answer_.row = number;
      std::string text = differing && agreeing
                             ? "In it the first op whose inputs agree and whose result does not is "
                         : differing ? "In it an op that differs is "
                                     : "In it the first op that differs is ";
      text += ops(row(number)) + ": ";
      text += !unwritten.empty() ? unwritten
              : !agreeing        ? "its result is the other side's with its axes in another order"
              : turned.empty()   ? "its inputs agree, its result does not"
                                 : "its inputs agree only with their axes in another order (" + turned +
                                     "), its result does not";
      text += " (" + far(result) + ").";
      if (differing)
        text += " Before it " + ops(row(*differing)) +
                " differs, too, and takes what differs or has no counterpart.";
      return text;
    }
    answer_.row = differing.value_or(output);
    return "In it the first pair of ops that differs is " + ops(row(*answer_.row)) +
           (differing_far.empty() ? "" : " (" + differing_far + ")") +
           "; what it takes comes from ops that are not paired, or differs already.";
  }

  /// Of tensors of one shape: equal in another order of axes.
  static bool is_turned(const protocol::ComparedOperand& tensors) {
    return tensors.values == Agreement::differ && tensors.layout && tensors.layout->starts_with("equal ");
  }

  std::size_t previous_output(std::size_t output) const {
    std::size_t begin = 0;
    for (const auto& [layer, number] : rows_.outputs)
      if (layer != 0 && number < output) begin = std::max(begin, number);
    return begin;
  }

  /// Of all inputs that have a counterpart and are read; unknown: there is none. `turned`: those that are
  /// equal with their axes in another order alone.
  Agreement inputs(std::size_t number, std::string& turned) const {
    RecordView left, right;
    if (!pairs_.trace(false).read(row(number).left, left) ||
        !pairs_.trace(true).read(row(number).right, right))
      return Agreement::unknown;
    Agreement all = Agreement::unknown;
    const std::vector<bool> l_overwritten = overwritten_inputs(left.head, left.inputs.size()),
                            r_overwritten = overwritten_inputs(right.head, right.inputs.size());
    for (const auto& [l, r] : paired_inputs(comparison_, left.inputs, right.inputs)) {
      if (l == no_layer || r == no_layer || !left.inputs[l] || !right.inputs[r]) continue;
      if (l_overwritten[l] && r_overwritten[r]) continue;
      protocol::ComparedOperand input;
      pairs_.fill(left.inputs[l], right.inputs[r], input);
      const bool equal_turned = is_turned(input);
      if (input.values != Agreement::agree && !equal_turned) return Agreement::differ;
      if (input.layout)
        turned += (turned.empty() ? "" : "; ") + operand_name(left, l) + " " +
                  (equal_turned ? "" : "agrees ") + *input.layout;
      all = Agreement::agree;
    }
    return all;
  }

  std::string part_sentence(std::size_t first, LayerRole role) {
    const ComparedLayer& layer = answer_.layers[first];
    const ComparedLayerPart& part = *part_that_differs(layer, role);
    const bool gradient = role != LayerRole::value;
    std::string text =
        gradient ? compared_outputs_and_weights() + "The first gradient that differs, backwards, is the " +
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

  bool any_output() const {
    return std::ranges::any_of(answer_.layers, [](const ComparedLayer& layer) {
      return std::ranges::any_of(layer.parts, [](const ComparedLayerPart& part) {
        return part.role == LayerRole::output && part.tensors.values != Agreement::unknown;
      });
    });
  }
  std::string compared_outputs_and_weights() const {
    if (any_output()) return rows_.weights ? "All compared outputs and weights agree. " : compared_outputs();
    return rows_.weights ? "All compared weights agree. " : "";
  }
  std::string compared_outputs() const { return any_output() ? "All compared outputs agree. " : ""; }

  std::string agreement_sentence() const {
    std::uint64_t parts = 0, layers = 0;
    for (const ComparedLayer& layer : answer_.layers) {
      std::uint64_t agreeing = 0;
      for (const ComparedLayerPart& part : layer.parts)
        agreeing += part.tensors.values == Agreement::agree && !is_taken(part);
      layers += agreeing > 0;
      parts += agreeing;
    }
    if (parts == 0) answer_.complete = false;
    if (parts == 0)
      return "Nothing could be compared: no layer of one side has values that one of the other side has, "
             "too. A name "
             "map says which layers are the same.";
    return "No compared value differs: " + counted(parts, "value") + " of " + counted(layers, "layer") +
           (parts == 1 ? " agrees" : " agree") + " (outputs, weights and gradients of the first pass).";
  }

  void add_what_is_missing() {
    std::uint64_t lefts = 0, rights = 0, transposed = 0;
    for (const ComparedLayer& layer : answer_.layers) {
      lefts += !layer.right;
      rights += !layer.left;
      for (const ComparedLayerPart& part : layer.parts)
        transposed +=
            part.tensors.values == Agreement::agree && part.tensors.layout.has_value() && !is_taken(part);
    }
    if (transposed)
      answer_.sentence += " " + counted(transposed, "value") + (transposed == 1 ? " agrees" : " agree") +
                          " with the axes in another order.";
    if (lefts || rights)
      answer_.sentence += " " + counted(lefts, "layer") + (lefts == 1 ? " is" : " are") +
                          " on the left only, " + std::to_string(rights) + " on the right only.";
    add_weights_without_counterpart();
    if (rows_.left_backward != rows_.right_backward)
      leave_out(std::string("No gradients were compared: the ") + (rows_.left_backward ? "right" : "left") +
                " side has no backward pass.");
    if (rows_.recorded && !any_output()) leave_out("No layer's output was compared.");
    if (rows_.by_extents)
      answer_.sentence += " " + counted(rows_.by_extents, "tensor") + " of the file without a layer's name" +
                          (rows_.by_extents == 1 ? " was" : " were") + " paired by shape, in order.";
    if (rows_.gone)
      leave_out(counted(rows_.gone, "value") + (rows_.gone == 1 ? " is" : " are") +
                " gone and could not be compared.");
  }
  void leave_out(const std::string& sentence) {
    answer_.sentence += " " + sentence;
    answer_.complete = false;
  }

  void add_weights_without_counterpart() {
    const std::uint64_t lefts = rows_.left_weights, rights = rows_.right_weights;
    if (lefts + rights == 0) return;
    std::string text = lefts ? counted(lefts, "weight") + " of the left side" : std::string();
    if (rights)
      text += lefts ? " and " + std::to_string(rights) + " of the right"
                    : counted(rights, "weight") + " of the right side";
    leave_out(text + (lefts + rights == 1 ? " has" : " have") + " no counterpart and could not be compared.");
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
