#include "engine/debug/why/birth_parts.h"

#include <algorithm>
#include <array>
#include <limits>

#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/not_finite.h"
#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {
namespace {

constexpr std::int64_t most_listed_operands = 4;  // of one input
constexpr int most_moves_to_divisor = 8;
constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

template <std::size_t n>
bool is_among(const std::string& name, const std::array<std::string_view, n>& names) {
  return std::ranges::find(names, name) != names.end();
}

/// The recorded argument as a number; nothing: there is none, or None was given.
std::optional<double> number_argument(const RecordView& record, AttributeName name) {
  const auto place = record.head.op->find_place(name);
  if (!place || *place >= record.head.attributes.size()) return std::nullopt;
  const Attribute& value = record.head.attributes[*place];
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* number = std::get_if<double>(&value)) return *number;
  return std::nullopt;
}

/// Of a row of logits, or of a mask that is added to them.
std::string masked_row(const Tensor& tensor, const Places& row, const char* what) {
  std::size_t lowest = 0, highest = 0;
  for (const std::int64_t at : row) {
    const double value = element(tensor, at);
    const bool shown = tensor.dtype() != DType::bool_ || value != 0;
    lowest += !shown || value == minus_infinity;
    highest += tensor.dtype() != DType::bool_ && value == -minus_infinity;
  }
  if (!row.empty() && lowest == row.size())
    return "all " + counted(row.size(), "element") + " of the row" + what +
           (tensor.dtype() == DType::bool_ ? " are False" : " are -inf") +
           ": it is masked as a whole, and there is nothing to share 1 among";
  if (highest > 0)
    return std::string("the row") + what + " has " + (highest == 1 ? "an element" : "elements") +
           " of inf: ∞ − ∞ is undefined";
  return {};
}

/// Attention that PyTorch computes in one op, with a mask: its row belongs to that of the result.
std::string masked_attention(const RecordView& record, const Tensors& inputs, const Tensor& value,
                             std::int64_t place) {
  const auto& names = record.head.op->inputs;
  for (std::size_t k = 0; k < std::min(inputs.size(), names.size()); ++k) {
    const Tensor& mask = inputs[k];
    if ((names[k].name != "attn_mask" && names[k].name != "attn_bias") || !mask || mask.rank() < 2 ||
        mask.rank() > value.rank())
      continue;
    std::vector<std::int64_t> index = index_of(value.shape(), place);
    index.erase(index.begin(), index.end() - mask.rank());
    index.back() = 0;
    for (int axis = 0; axis + 1 < mask.rank(); ++axis)
      if (mask.dim(axis) == 1) index[static_cast<std::size_t>(axis)] = 0;
    const int last = mask.rank() - 1;
    for (int axis = 0; axis < last; ++axis)
      if (index[static_cast<std::size_t>(axis)] >= mask.dim(axis)) return {};
    const std::int64_t first = place_of(mask.shape(), index);
    Places row;
    for (std::int64_t k_at = 0; k_at < mask.dim(last); ++k_at) row.push_back(first + k_at);
    return masked_row(mask, row, " of the mask");
  }
  return {};
}

/// A mean over targets of which none counts.
std::string no_targets(const RecordView& record, const Tensors& inputs) {
  if (inputs.size() < 2 || !inputs[1]) return {};
  const Tensor& targets = inputs[1];
  const auto all = static_cast<std::uint64_t>(targets.count());
  if (all == 0) return "there are no targets: the mean of nothing is 0 / 0";
  const auto ignored = number_argument(record, "ignore_index");
  std::uint64_t left_out = 0;
  double weights = 0;
  const bool weighted = inputs.size() > 2 && inputs[2];
  for (std::int64_t i = 0; i < targets.count(); ++i) {
    const double target = element(targets, i);
    if (target == ignored)
      ++left_out;
    else if (weighted && target >= 0 && target < static_cast<double>(inputs[2].count()))
      weights += element(inputs[2], static_cast<std::int64_t>(target));
  }
  if (left_out == all)
    return "none of its " + counted(all, "target") + " counts: each is " +
           std::to_string(static_cast<std::int64_t>(*ignored)) +
           " (ignore_index), and the mean of nothing is 0 / 0";
  if (weighted && weights == 0)
    return "the weights of the classes of its " + counted(all, "target") +
           " add up to 0, by which the mean divides";
  return {};
}

/// A variance of n numbers divides by n minus the correction.
std::string too_few_for_a_deviation(const RecordView& record, const Tensor& input, const ReadPlaces& places,
                                    const Tensor& value) {
  const std::int64_t count = places ? static_cast<std::int64_t>(places->size())
                                    : input.count() / std::max<std::int64_t>(1, value.count());
  const double correction = number_argument(record, "correction").value_or(1);
  if (static_cast<double>(count) > correction) return {};
  return "it divides by the count minus the correction, " + std::to_string(count) + " − " +
         short_number(correction) + ": the deviation of " +
         counted(static_cast<std::uint64_t>(count), "number") + " is 0 / 0";
}

/// What is known of a divisor from the op that made it.
std::string kind_of_divisor(const RecordView& maker, const Tensors& inputs) {
  const std::string name = short_name(*maker.head.op);
  constexpr std::array<std::string_view, 3> norms = {"linalg_vector_norm", "norm", "linalg_norm"};
  constexpr std::array<std::string_view, 2> deviations = {"std", "var"};
  constexpr std::array<std::string_view, 2> sums = {"sum", "reduce_sum"};
  const bool zeros = !inputs.empty() && inputs[0] && inputs[0].count() <= (1 << 20) &&
                     std::ranges::all_of(inputs[0].to_vector(), [](double one) { return one == 0; });
  if (is_among(name, norms)) return zeros ? ", the norm of nothing but zeros" : ", a norm of 0";
  if (is_among(name, deviations)) return ", the deviation of numbers that are all alike";
  if (is_among(name, sums)) return zeros ? ", the sum of nothing but zeros" : ", a sum of 0";
  return {};
}

}  // namespace

std::vector<ReadOperand> operands_read(const RecordView& record, const Tensors& inputs,
                                       const std::vector<ReadPlaces>& places) {
  std::vector<ReadOperand> operands;
  const auto& names = record.head.op->inputs;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!inputs[k]) continue;
    const std::string name = names[std::min(k, names.size() - 1)].name;
    const std::int64_t count = places[k] ? static_cast<std::int64_t>(places[k]->size()) : inputs[k].count();
    Places order;
    if (count > most_listed_operands)
      order = farthest_from_zero(inputs[k], places[k], most_listed_operands);
    else
      for (std::int64_t i = 0; i < count; ++i)
        order.push_back(places[k] ? (*places[k])[static_cast<std::size_t>(i)] : i);
    for (const std::int64_t place : order)
      operands.push_back(
          {name + index_text(inputs[k].shape(), place) + " = " + element_text(inputs[k], place),
           element(inputs[k], place), record.inputs[k], place});
    if (count > most_listed_operands)
      operands.push_back({"… of " + counted(static_cast<std::uint64_t>(count), "element") + " of " + name,
                          std::nan(""), 0, 0});
  }
  return operands;
}

std::vector<double> numbers_of(const std::vector<ReadOperand>& operands) {
  std::vector<double> numbers;
  for (const ReadOperand& operand : operands)
    if (operand.tensor) numbers.push_back(operand.value);
  return numbers;
}

std::string argument_not_finite(const RecordView& record) {
  const ForeignOp* op = foreign_op_of(record);
  if (!op) return {};
  const auto& attributes = op->row->attributes;
  for (std::size_t i = 0; i < std::min(attributes.size(), record.head.attributes.size()); ++i)
    if (const auto* number = std::get_if<double>(&record.head.attributes[i]);
        number && !std::isfinite(*number))
      return "its argument " + attributes[i].name + " is " +
             (std::isnan(*number) ? "nan"
              : *number > 0       ? "inf"
                                  : "-inf");
  return {};
}

std::string why_undefined(const RecordView& record, const Tensors& inputs,
                          const std::vector<ReadPlaces>& places, const Tensor& value, std::int64_t place) {
  if (inputs.empty() || !inputs[0]) return {};
  const std::string name = short_name(*record.head.op);
  constexpr std::array<std::string_view, 5> softmaxes = {"softmax", "_softmax", "log_softmax", "_log_softmax",
                                                         "_safe_softmax"};
  constexpr std::array<std::string_view, 2> losses = {"nll_loss_forward", "nll_loss2d_forward"};
  constexpr std::array<std::string_view, 4> deviations = {"std", "var", "std_mean", "var_mean"};
  const bool foreign = is_foreign(*record.head.op);
  if (is_among(name, softmaxes) && places[0]) return masked_row(inputs[0], *places[0], "");
  if (foreign && is_among(name, losses)) return no_targets(record, inputs);
  if (foreign && name.find("scaled_dot_product") != std::string::npos)
    return masked_attention(record, inputs, value, place);
  const bool empty = std::ranges::all_of(inputs, [](const Tensor& input) {
    return !input || !is_floating(input.dtype()) || input.count() == 0;
  });
  if (empty && inputs[0].count() == 0) {
    std::string shape;
    for (const std::int64_t extent : inputs[0].shape())
      shape += (shape.empty() ? "" : ", ") + std::to_string(extent);
    return "its input has no elements (shape (" + shape + (inputs[0].rank() == 1 ? ",)" : ")") +
           "): the mean of nothing is 0 / 0";
  }
  if (foreign && is_among(name, deviations))
    return too_few_for_a_deviation(record, inputs[0], places[0], value);
  return {};
}

std::string where_divisor_came_from(Past& past, Elementwise& elementwise, const RecordView& record,
                                    const Tensors& inputs, const std::vector<ReadPlaces>& places) {
  constexpr std::array<std::string_view, 4> divisions = {"div", "div_", "divide", "true_divide"};
  constexpr std::array<std::string_view, 13> movers = {
      "expand", "view",      "unsqueeze", "squeeze",     "detach",  "t",           "_unsafe_view",
      "alias",  "clamp_min", "clone",     "expand_dims", "reshape", "broadcast_to"};
  if (!is_among(short_name(*record.head.op), divisions) || inputs.size() != 2 || !places[1] ||
      places[1]->size() != 1 || element(inputs[1], places[1]->front()) != 0)
    return {};
  std::uint64_t tensor = record.inputs[1];
  std::int64_t place = places[1]->front();
  for (int moves = 0; moves < most_moves_to_divisor; ++moves) {
    const RecordView* maker = past.maker(tensor);
    if (!maker || maker->head.kind != EventKind::op || !maker->head.op || maker->head.backward ||
        short_name(*maker->head.op) == "lift_fresh")  // a number of Python's
      return {};
    const Tensors read = past.inputs(*maker);
    if (is_among(short_name(*maker->head.op), movers) && !read.empty() && read[0]) {
      const auto from = places_read(elementwise, *maker, read,
                                    {Past::output_of(*maker, tensor), past.value(tensor)}, place);
      const bool known = from[0] && from[0]->size() == 1;
      if (!known && read[0].count() != 1) return {};
      place = known ? from[0]->front() : 0;
      tensor = maker->inputs[0];
      if (element(read[0], place) != 0) return {};
      continue;
    }
    return "The divisor was made by " + past.name(*maker) + kind_of_divisor(*maker, read) + ".";
  }
  return {};
}

protocol::Reason forward_reason(Past& past, const RecordView& forward, bool by_element,
                                const std::vector<std::int64_t>& shape, std::int64_t place) {
  protocol::Reason reason = past.reason(forward, "forward op", {});
  const Shape made{std::span<const std::int64_t>(shape)};
  std::string values;
  const auto add = [&](std::uint64_t id, const std::string& name) {
    const protocol::TensorInfo info = past.info(id);
    const Shape here{std::span<const std::int64_t>(info.shape)};
    if (id == 0 || !by_element || element_count(here) != element_count(made)) return;
    const std::string text = name + index_text(here, place) + " = " + element_text(past.value(id), place);
    reason.operands.push_back(text);
    values += (values.empty() ? "" : ", ") + text;
    if (reason.tensor) return;
    reason.tensor = info;
    reason.element = protocol::if_there(index_of(here, place));
  };
  for (std::size_t k = 0; k < forward.inputs.size(); ++k)
    add(forward.inputs[k], forward.head.op
                               ? forward.head.op->inputs[std::min(k, forward.head.op->inputs.size() - 1)].name
                               : "argument " + std::to_string(k));
  for (const std::uint64_t id : forward.outputs) add(id, "its result");
  if (!reason.tensor && !forward.outputs.empty())
    reason.tensor = protocol::if_there(past.info(forward.outputs[0]));
  reason.sentence =
      values.empty() ? "The forward op behind it." : "The forward op behind it ran with " + values + ".";
  return reason;
}

}  // namespace tapedeck::debug
