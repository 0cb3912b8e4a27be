#include "engine/debug/why/zero_causes.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/not_finite.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr int most_views_back = 100;

/// The same numbers in every run: in no order, at least `low` and below `low + 1`.
class Scatter {
 public:
  explicit Scatter(std::uint64_t seed) : state_(0x9e3779b97f4a7c15 + seed) {}
  double next(double low = 0) {
    state_ = state_ * 6364136223846793005 + 1442695040888963407;
    return low + static_cast<double>(state_ >> 40) / static_cast<double>(1 << 24);
  }

 private:
  std::uint64_t state_;
};

Tensor with_values(const Tensor& like, const std::vector<double>& values) {
  return in_dtype(Tensor::from_values<double>(values, like.shape()), like.dtype());
}

const Attribute* attribute_of(const PastVjp& call, std::string_view name) {
  const auto& attributes = call.op->attributes;
  for (std::size_t i = 0; i < std::min(attributes.size(), call.attributes.size()); ++i)
    if (attributes[i].name == name) return &call.attributes[i];
  return nullptr;
}

std::optional<std::int64_t> integer_of(const PastVjp& call, std::string_view name) {
  const Attribute* found = attribute_of(call, name);
  const auto* number = found ? std::get_if<std::int64_t>(found) : nullptr;
  return number ? std::optional(*number) : std::nullopt;
}

/// "softmax" of "_softmax" and "softmax_".
std::string base_of(const OpDef& op) {
  std::string name = short_name(op);
  while (name.starts_with('_')) name.erase(0, 1);
  while (name.ends_with('_')) name.pop_back();
  return name;
}

/// What a row says of its flat places holds for all ops like it, or for these alone that were looked at.
bool is_open(std::string_view flat) {
  return flat == OpFacts{}.flat || flat == facts::saturated || flat == facts::other_factor;
}

/// How many of them the VJP of the call gives other numbers than zero; nothing where it cannot run.
std::optional<std::size_t> nonzero_at(const PastVjp& call, std::size_t slot,
                                      const std::vector<std::int64_t>& places) {
  try {
    const Tensors gradients = gradients_of(call);
    if (slot >= gradients.size() || !gradients[slot]) return std::nullopt;
    const std::vector<double> values = gradients[slot].to_vector();
    std::size_t count = 0;
    for (const std::int64_t place : places) {
      const auto at = static_cast<std::size_t>(place);
      if (at >= values.size() || std::isnan(values[at])) return std::nullopt;
      count += values[at] != 0;
    }
    return count;
  } catch (const Error&) {  // it takes no such operands
    return std::nullopt;
  }
}

/// The call with other inputs, and its results of them; nothing where the op does not take them.
std::optional<PastVjp> with_inputs(const PastVjp& call, Tensors inputs) {
  PastVjp other = call;
  other.inputs = std::move(inputs);
  for (Tensors* tensors : {&other.inputs, &other.cotangents})
    for (Tensor& tensor : *tensors)
      if (tensor) tensor = tensor.on_host();  // those that are changed are there
  try {
    other.outputs = replay_op(*call.op, other.inputs, call.attributes);
  } catch (const Error&) {
    return std::nullopt;
  }
  for (Tensor& cotangent : other.cotangents) cotangent = in_other_proportions(cotangent);
  return other;
}

class FlatVjp {
 public:
  FlatVjp(Past& past, WrittenMemory& memory, const ZerosOfVjp& zeros)
      : past_(past), memory_(memory), zeros_(zeros) {}

  ZeroCause explain() {
    const OpDef* op = zeros_.vjp.head.op;
    if (!op) return {};
    const std::string fact =
        fact_text(op->facts.flat, *op, *dtype_from_name(past_.info(zeros_.vjp.outputs[zeros_.slot]).dtype));
    if (!zeros_.call || zeros_.places.empty() || !zeros_.forward) return {fact, {}};
    for (const auto kind :
         {&FlatVjp::of_loss, &FlatVjp::of_padding, &FlatVjp::of_rounding, &FlatVjp::of_one_element})
      if (auto clause = (this->*kind)()) return {*clause, {}};
    const bool is_step = is_relu_step();
    if (!is_step && !is_open(op->facts.flat)) return {fact, {}};
    if (!is_step)
      if (auto factor = of_zero_operand()) return *factor;
    if (is_flat_elsewhere())
      return {(is_step ? "it is the slope of relu, the same number on each side of zero, so that its own "
                         "derivative is "
                         "zero"
                       : std::string(OpFacts{}.flat)) +
                  "; with " + std::to_string(other_inputs) + " other inputs that were tried it is, too",
              {}};
    return {fact, {}};
  }

 private:
  static constexpr int other_inputs = 4;

  const PastVjp& call() const { return *zeros_.call; }
  std::int64_t place() const { return zeros_.places.front(); }
  std::string input_name(std::size_t input) const {
    const auto& names = call().op->inputs;
    return names.empty() ? "its input" : names[std::min(input, names.size() - 1)].name;
  }

  /// Of nll_loss: what its target says.
  std::optional<std::string> of_loss() {
    const std::string name = base_of(*call().op);
    if (!name.starts_with("nll_loss") || zeros_.slot != 0 || call().inputs.size() < 2 || !call().inputs[1])
      return std::nullopt;
    const Tensor &scores = call().inputs[0], &targets = call().inputs[1];
    const std::vector<double> classes = targets.to_vector();
    const auto ignored = static_cast<double>(integer_of(call(), "ignore_index").value_or(-100));
    const auto left_out = static_cast<std::size_t>(std::ranges::count(classes, ignored));
    const std::string index = std::to_string(static_cast<std::int64_t>(ignored));
    if (left_out == classes.size())
      return "all " + std::to_string(left_out) + " targets are " + index +
             ", its ignore_index, and such rows do not count";
    const int axis = scores.shape().rank() == 1 ? 0 : 1;
    const Tensor weight = call().inputs.size() > 2 ? call().inputs[2] : Tensor();
    std::size_t ignored_rows = 0, of_weight = 0, others = 0;
    for (const std::int64_t zero : zeros_.places) {
      std::vector<std::int64_t> at = index_of(scores.shape(), zero);
      const auto which = static_cast<double>(at[static_cast<std::size_t>(axis)]);
      at.erase(at.begin() + axis);
      const double target = classes[static_cast<std::size_t>(place_of(targets.shape(), at))];
      const bool has_weight = weight && target >= 0 && target < static_cast<double>(weight.count());
      if (target == ignored)
        ++ignored_rows;
      else if (which != target)
        ++others;
      else if (has_weight && element(weight, static_cast<std::int64_t>(target)) == 0)
        ++of_weight;
    }
    if (ignored_rows + of_weight + others < zeros_.places.size()) return std::nullopt;
    std::string text;
    const auto add = [&](std::size_t count, const std::string& what) {
      if (count > 0)
        text += (text.empty() ? "" : "; ") + std::to_string(count) + (count == 1 ? " is " : " are ") + what;
    };
    add(ignored_rows, "in rows whose target is " + index + ", its ignore_index (" + std::to_string(left_out) +
                          " of " + counted(classes.size(), "target") + "), which do not count");
    add(of_weight, "of targets whose class has the weight 0");
    add(others, "of other classes than the target of their row, whose score alone counts");
    return text;
  }

  /// Of an embedding whose padding was looked up.
  std::optional<std::string> of_padding() {
    const std::int64_t padding = integer_of(call(), "padding_idx").value_or(-1);
    if (base_of(*call().op) != "embedding" || padding < 0 || call().inputs.size() < 2 || zeros_.slot != 0)
      return std::nullopt;
    const std::vector<double> rows = call().inputs[1].to_vector();
    const std::set<double> picked(rows.begin(), rows.end());
    const auto is_picked = [&](std::int64_t row) { return picked.contains(static_cast<double>(row)); };
    std::size_t of_padding_row = 0;
    for (const std::int64_t zero : zeros_.places) {
      const std::int64_t row = index_of(call().inputs[0].shape(), zero).front();
      if (row == padding)
        ++of_padding_row;
      else if (is_picked(row))
        return std::nullopt;
    }
    if (of_padding_row == 0 || !is_picked(padding)) return std::nullopt;
    return std::to_string(of_padding_row) + (of_padding_row == 1 ? " is" : " are") + " of row " +
           std::to_string(padding) + ", its padding_idx, which gets no gradient" +
           (of_padding_row < zeros_.places.size() ? "; the rows of the others were not picked" : "");
  }

  std::optional<std::string> of_rounding() {
    const Attribute* mode = attribute_of(call(), "rounding_mode");
    const auto* text = mode ? std::get_if<std::string>(mode) : nullptr;
    if (!text || text->empty() || !is_flat_elsewhere()) return std::nullopt;
    return "rounding_mode=\"" + *text + "\" rounds its result, which is flat everywhere";
  }

  /// A softmax over an axis of one element.
  std::optional<std::string> of_one_element() {
    const std::string name = base_of(*call().op);
    const auto dim = integer_of(call(), "dim");
    if ((name != "softmax" && name != "log_softmax" && name != "safe_softmax") || !dim ||
        call().inputs.empty())
      return std::nullopt;
    const Shape& shape = call().inputs[0].shape();
    const std::int64_t axis = *dim < 0 ? *dim + shape.rank() : *dim;
    if (axis < 0 || axis >= shape.rank() || shape[static_cast<int>(axis)] != 1 || !is_flat_elsewhere())
      return std::nullopt;
    return "its axis " + std::to_string(axis) + " has one element, of which " + name + " makes " +
           (name == "log_softmax" ? "0" : "1") + " whatever it is";
  }

  /// Whether they are the gradient of relu's gradient with respect to relu's input.
  bool is_relu_step() const { return base_of(*call().op) == "threshold_backward" && zeros_.slot == 1; }

  /// The operand without whose zeros the gradient would be another.
  std::optional<ZeroCause> of_zero_operand() {
    PastVjp again = call();
    for (Tensor& cotangent : again.cotangents) cotangent = in_other_proportions(cotangent);
    if (nonzero_at(again, zeros_.slot, zeros_.places).value_or(1) > 0) return std::nullopt;
    for (std::size_t i = 0; i < call().inputs.size(); ++i) {
      const Tensor& input = call().inputs[i];
      // Integers are indices as often as numbers.
      const bool is_number =
          input && input.dtype() != DType::bool_ && !is_complex(input.dtype()) && is_scaled();
      if (!input || (!is_floating(input.dtype()) && !is_number)) continue;
      if (i == zeros_.slot && !elementwise_.is(*zeros_.forward, call().inputs)) continue;
      Tensors inputs = call().inputs;
      inputs[i] = nowhere_zero(input);
      const auto other = with_inputs(call(), std::move(inputs));
      const std::size_t nonzero = other ? nonzero_at(*other, zeros_.slot, zeros_.places).value_or(0) : 0;
      if (nonzero > 0) return of_operand(i, nonzero);
    }
    return std::nullopt;
  }

  /// Whether its gradients are multiples of its other operands.
  bool is_scaled() const {
    static constexpr std::array products{"linear", "mv",          "addmv",   "dot",
                                         "vdot",   "convolution", "addcmul", "outer"};
    return call().op->facts.flat == std::string_view(facts::other_factor) || is_product_of_matrices() ||
           std::ranges::find(products, base_of(*call().op)) != products.end();
  }

  ZeroCause of_operand(std::size_t input, std::size_t count) {
    ZeroCause cause;
    if (input == zeros_.slot) {
      cause.clause = "its input " + input_name(input) + " is zero there, where its slope is zero";
    } else if (!is_scaled()) {
      cause.clause =
          "its input " + input_name(input) + " is zero there: with other numbers in it the gradient is not";
    } else {
      cause.clause =
          call().op->facts.flat == std::string_view(facts::other_factor) && !is_product_of_matrices()
              ? std::string(facts::other_factor)
              : "the factor " + input_name(input) + " that it is multiplied with is zero there";
      if (const std::string line = line_of_factor(input); !line.empty()) cause.clause += ": " + line;
    }
    if (count < zeros_.places.size())
      cause.clause +=
          " (at " + std::to_string(count) + " of these " + counted(zeros_.places.size(), "element") + ")";
    if (input == zeros_.slot) return cause;
    const std::uint64_t tensor = zeros_.forward->inputs[input];
    if (const RecordView* maker = source_of_values(past_, memory_, tensor)) {
      const ForeignOp* op = foreign_op_of(*maker);
      const bool wrote = op && op->writes;
      cause.clause += "; " + past_.name(*maker) + (wrote ? " wrote its values" : " made it");
      cause.reasons.push_back(past_.reason(*maker, "zero factor",
                                           (wrote ? "It wrote the values of " : "It made ") +
                                               input_name(input) + ", which is zero where it counts."));
      cause.reasons.back().tensor = protocol::if_there(past_.info(tensor));
    }
    return cause;
  }

  /// Of a product of matrices: "mat1[:, 0] is all zeros", the line of the factor that the first zero was
  /// summed along, if it is.
  std::string line_of_factor(std::size_t factor) {
    const Tensor &mine = call().inputs[zeros_.slot], &other = call().inputs[factor];
    const int rank = mine.shape().rank();
    if (!is_product_of_matrices() || rank < 2 || other.shape().rank() != rank) return {};
    const bool is_left = zeros_.slot < factor;
    std::vector<std::int64_t> at = index_of(mine.shape(), place());
    // Of the left one the element [i, k] meets the line [k, :] of the right one; of that [k, j] meets [:, k].
    const int along = is_left ? rank - 1 : rank - 2, fixed = is_left ? rank - 2 : rank - 1;
    at[static_cast<std::size_t>(fixed)] = at[static_cast<std::size_t>(along)];
    if (at[static_cast<std::size_t>(fixed)] >= other.shape()[fixed]) return {};
    std::string text = input_name(factor) + "[";
    for (int axis = 0; axis < rank; ++axis)
      text += (axis ? ", " : "") +
              (axis == along ? std::string(":") : std::to_string(at[static_cast<std::size_t>(axis)]));
    std::int64_t& moving = at[static_cast<std::size_t>(along)];
    for (moving = 0; moving < other.shape()[along]; ++moving)
      if (element(other, place_of(other.shape(), at)) != 0) return {};
    return text + "] is all zeros";
  }

  bool is_product_of_matrices() const {
    static constexpr std::array products{"mm", "addmm", "bmm", "baddbmm", "matmul"};
    return std::ranges::find(products, base_of(*call().op)) != products.end();
  }

  /// Whether the gradient is zero for other inputs, too: small and large ones of both signs.
  bool is_flat_elsewhere() const {
    for (int which = 0; which < other_inputs; ++which) {
      static constexpr std::array scales{0.5, -0.5, 1.0, 10.0};
      Scatter scatter(static_cast<std::uint64_t>(which) + 1);
      Tensors inputs = call().inputs;
      for (Tensor& input : inputs) {
        if (!input || !is_floating(input.dtype())) continue;
        std::vector<double> values = input.to_vector();
        for (double& value : values)
          value = which == 2 ? (value == 0 ? 1 : value) * scatter.next(0.5)
                             : scales[static_cast<std::size_t>(which)] * scatter.next(0.4);
        input = with_values(input, values);
      }
      const auto other = with_inputs(call(), std::move(inputs));
      if (!other || nonzero_at(*other, zeros_.slot, zeros_.places).value_or(1) > 0) return false;
    }
    return true;
  }

  Past& past_;
  WrittenMemory& memory_;
  const ZerosOfVjp& zeros_;
  Elementwise elementwise_;
};

}  // namespace

Tensor nowhere_zero(const Tensor& cotangent) {
  if (!cotangent || is_complex(cotangent.dtype())) return cotangent;
  std::vector<double> values = cotangent.to_vector();
  Scatter scatter(0);
  for (double& value : values) {
    const double other = is_floating(cotangent.dtype()) ? scatter.next(0.5) : 1;
    if (value == 0) value = other;
  }
  return with_values(cotangent, values);
}

Tensor in_other_proportions(const Tensor& cotangent) {
  if (!cotangent || !is_floating(cotangent.dtype())) return cotangent;
  std::vector<double> values = cotangent.to_vector();
  Scatter scatter(7);
  for (double& value : values) value = (value == 0 ? 1 : value) * scatter.next(0.5);
  return with_values(cotangent, values);
}

ZeroCause why_flat(Past& past, WrittenMemory& memory, const ZerosOfVjp& zeros) {
  return FlatVjp(past, memory, zeros).explain();
}

std::string why_cancelled(Past& past, const ZerosOfVjp& zeros) {
  std::string text =
      "the gradient that came in cancels there: the VJP weighs and adds up its elements, and the sum is "
      "zero; of a gradient in other proportions it is not";
  for (const std::uint64_t id : zeros.vjp.inputs) {
    if (id == 0) continue;
    const Tensor cotangent = past.value(id);
    const std::vector<double> values = cotangent.to_vector();
    if (values.size() > 1 && std::ranges::all_of(values, [&](double value) { return value == values[0]; }))
      text += ". All that came in is " + element_text(cotangent, 0) +
              ": where each element gets the same, nothing is left";
  }
  return text;
}

const RecordView* source_of_values(Past& past, WrittenMemory& memory, std::uint64_t tensor) {
  for (int back = 0; back < most_views_back && tensor; ++back) {
    const RecordView* maker = past.maker(tensor);
    if (!maker) {
      if (const auto assignment = past.assignment(tensor); assignment && assignment->value != tensor)
        tensor = assignment->value;
      else if (const std::vector<ElementSource> sources = memory.sources(tensor); !sources.empty())
        tensor = sources.back().tensor;
      else
        return nullptr;
      continue;
    }
    const ForeignOp* op = foreign_op_of(*maker);
    const bool is_view =
        op && !maker->inputs.empty() && std::ranges::any_of(op->results, [](const ForeignValue& result) {
          return result.is_tensor && !result.alias.empty() && !result.written;
        });
    if (!is_view) return maker;
    tensor = maker->inputs[0];
  }
  return nullptr;
}

}  // namespace tapedeck::debug
