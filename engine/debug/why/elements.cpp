#include "engine/debug/why/elements.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "engine/debug/tile.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"
#include "engine/tensor/number_text.h"

namespace tapedeck::debug {

std::vector<std::int64_t> index_of(const Shape& shape, std::int64_t place) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0;) {
    index[static_cast<std::size_t>(axis)] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

std::int64_t place_of(const Shape& shape, std::span<const std::int64_t> index) {
  if (index.size() != static_cast<std::size_t>(shape.rank()))
    throw BadRequest("why: an element of a tensor of shape " + to_string(shape) + " has " +
                     std::to_string(shape.rank()) + " indices, " + std::to_string(index.size()) +
                     " were given");
  std::int64_t place = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const std::int64_t at = index[static_cast<std::size_t>(axis)];
    if (at < 0 || at >= shape[axis])
      throw BadRequest("why: index " + std::to_string(at) + " of axis " + std::to_string(axis) +
                       " lies outside of shape " + to_string(shape));
    place = place * shape[axis] + at;
  }
  return place;
}

std::string index_text(const Shape& shape, std::int64_t place) {
  if (shape.rank() == 0) return {};
  std::string text = "[";
  for (const std::int64_t at : index_of(shape, place))
    text += (text.size() > 1 ? ", " : "") + std::to_string(at);
  return text + "]";
}

std::int64_t broadcast_place(const Shape& from, const Shape& to, std::int64_t place) {
  const std::vector<std::int64_t> index = index_of(to, place);
  const int missing = to.rank() - from.rank();
  std::int64_t result = 0;
  for (int axis = 0; axis < from.rank(); ++axis)
    result = result * from[axis] + (from[axis] == 1 ? 0 : index[static_cast<std::size_t>(axis + missing)]);
  return result;
}

double element(const Tensor& tensor, std::int64_t place) {
  std::int64_t at = tensor.offset();
  const std::vector<std::int64_t> index = index_of(tensor.shape(), place);
  for (int axis = 0; axis < tensor.rank(); ++axis)
    at += index[static_cast<std::size_t>(axis)] * tensor.strides()[axis];
  const Tensor one = Tensor::view(tensor.storage(), tensor.dtype(), {}, {}, at);
  return one.item();
}

std::string element_text(const Tensor& tensor, std::int64_t place) {
  const double value = element(tensor, place);
  if (tensor.dtype() == DType::bool_) return value != 0 ? "True" : "False";
  if (is_integer(tensor.dtype())) return std::to_string(static_cast<std::int64_t>(value));
  if (tensor.dtype() == DType::float64) return detail::scalar_text(value);
  return detail::scalar_text(static_cast<float>(value));
}

std::string short_number(double value) {
  if (std::isnan(value)) return "nan";  // its sign says nothing
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3g", value);
  return text.data();
}

std::string share_text(double share) {
  if (share > 0 && share < 0.001) return "less than 0.1 %";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), share > 0 && share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
  if (share < 1 && share > 0.995) return "over 99 %";
  return text.data();
}

std::string short_name(const OpDef& op) {
  if (!is_foreign(op)) return op.name;
  const std::size_t start = op.name.find('.') + 1;  // 0 where there is none
  const std::string base = op.name.substr(start, op.name.find_first_of(".#", start) - start);
  return base.empty() ? op.name : base;
}

Form form_of(const OpDef& op) {
  const ForeignOp* foreign = foreign_of(op);
  return foreign && foreign->counterpart && !foreign->writes ? foreign->counterpart->form : op.form;
}

std::string counted(std::uint64_t count, const std::string& noun) {
  std::string digits = std::to_string(count);
  for (std::size_t at = digits.size(); at > 3;) digits.insert(at -= 3, ",");
  return digits + " " + noun + (count == 1 ? "" : "s");
}

namespace {

// In no order, so that sorting, reversing and the like are seen.
constexpr std::array<double, 6> probe_values = {0.7, 0.2, 0.5, 0.3, 0.9, 0.4};

Tensor probe(DType dtype, const Shape& shape, std::size_t first) {
  const DType wide = compute_dtype(dtype);
  Tensor tensor = Tensor::allocate(wide, shape);
  visit_dtype(wide, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < tensor.count(); ++i) {
      const double value = probe_values[(first + static_cast<std::size_t>(i)) % probe_values.size()];
      tensor.writable_data<T>()[i] =
          is_floating(wide) ? static_cast<T>(value) : static_cast<T>(static_cast<int>(value * 10) % 3 > 0);
    }
  });
  return is_narrow(dtype) ? ops::narrow(tensor, dtype) : tensor;
}

bool same(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-5 * std::abs(b);
}

/// Runs the op on a matrix, and on each of its elements alone.
bool works_by_element(const RecordView& record, std::span<const Tensor> inputs) {
  const Shape matrix{2, 3}, one{1, 1};
  Tensors all;
  // A number given to PyTorch for a tensor stays one.
  const auto is_number = [&](std::size_t k) { return is_foreign(*record.head.op) && inputs[k].rank() == 0; };
  for (std::size_t k = 0; k < inputs.size(); ++k)
    all.push_back(is_number(k) ? inputs[k] : probe(inputs[k].dtype(), matrix, k));
  const Tensors whole = replay_op(*record.head.op, all, record.head.attributes);
  for (const Tensor& output : whole)
    if (output.shape() != matrix) return false;
  for (std::size_t i = 0; i < probe_values.size(); ++i) {
    Tensors single;
    for (std::size_t k = 0; k < inputs.size(); ++k)
      single.push_back(is_number(k) ? inputs[k] : probe(inputs[k].dtype(), one, k + i));
    const Tensors alone = replay_op(*record.head.op, single, record.head.attributes);
    for (std::size_t slot = 0; slot < whole.size(); ++slot)
      if (alone[slot].shape() != one ||
          !same(element(alone[slot], 0), element(whole[slot], static_cast<std::int64_t>(i))))
        return false;
  }
  return !whole.empty();
}

/// Whether the op makes the recorded element of these elements alone. What moves elements, too, may leave so
/// small a matrix as the probe as it is: roll by multiples of its extents, a wide band.
bool made_of(const RecordView& record, std::span<const Tensor> inputs, std::span<const std::int64_t> places,
             const Output& output, std::int64_t place) {
  Tensors single;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::int64_t at = inputs[k].offset();
    const std::vector<std::int64_t> index = index_of(inputs[k].shape(), places[k]);
    for (int axis = 0; axis < inputs[k].rank(); ++axis)
      at += index[static_cast<std::size_t>(axis)] * inputs[k].strides()[axis];
    single.push_back(
        Tensor::view(inputs[k].storage(), inputs[k].dtype(), {1, 1}, {1, 1}, at).make_contiguous());
  }
  try {
    const Tensors made = replay_op(*record.head.op, single, record.head.attributes);
    if (output.slot >= made.size() || made[output.slot].count() != 1) return false;
    const double alone = element(made[output.slot], 0), recorded = element(output.value, place);
    // Of 16 bits the last one is some thousandths.
    return same(alone, recorded) ||
           (is_narrow(output.value.dtype()) && std::abs(alone - recorded) <= 1e-2 * std::abs(recorded));
  } catch (const Error&) {  // it refuses these values
    return false;
  }
}

/// Nothing where the op has no such attribute; or the record none at all, of a call that was refused.
const Attribute* attribute(const RecordView& record, AttributeName name) {
  const auto place = record.head.op->find_place(name);
  return place && *place < record.head.attributes.size() ? &record.head.attributes[*place] : nullptr;
}

bool flag(const RecordView& record, AttributeName name) {
  const Attribute* found = attribute(record, name);
  const bool* value = found ? std::get_if<bool>(found) : nullptr;
  return value && *value;
}

const std::vector<std::int64_t>* integers(const RecordView& record, AttributeName name) {
  const Attribute* found = attribute(record, name);
  return found ? std::get_if<std::vector<std::int64_t>>(found) : nullptr;
}

/// A row of the matrix at `batch` of the operand where `row`, else a column.
Places line_of_matrix(const Shape& shape, std::int64_t batch, std::int64_t at, bool row) {
  const std::int64_t rows = shape[shape.rank() - 2], columns = shape[shape.rank() - 1];
  Places places;
  for (std::int64_t k = 0; k < (row ? columns : rows); ++k)
    places.push_back(batch * rows * columns + (row ? at * columns + k : k * columns + at));
  return places;
}

std::vector<ReadPlaces> read_by_matmul(const RecordView& record, std::span<const Tensor> inputs,
                                       const Tensor& output, std::int64_t place) {
  const Shape& shape = output.shape();
  const std::int64_t columns = shape[shape.rank() - 1], rows = shape[shape.rank() - 2];
  const std::int64_t column = place % columns, row = place / columns % rows, batch = place / columns / rows;
  const auto batches = [](const Shape& whole) {
    Shape leading;
    for (int axis = 0; axis + 2 < whole.rank(); ++axis) leading.push_back(whole[axis]);
    return leading;
  };
  const auto batch_of = [&](const Tensor& operand) {
    return broadcast_place(batches(operand.shape()), batches(shape), batch);
  };
  const bool a_turned = flag(record, "transpose_a") || flag(record, "adjoint_a");
  const bool b_turned = flag(record, "transpose_b") || flag(record, "adjoint_b");
  return {line_of_matrix(inputs[0].shape(), batch_of(inputs[0]), row, !a_turned),
          line_of_matrix(inputs[1].shape(), batch_of(inputs[1]), column, b_turned)};
}

/// The axes that a reduction is over; nothing where that is unknown.
std::optional<std::vector<std::int64_t>> reduced_axes(const RecordView& record, int rank) {
  if (!is_foreign(*record.head.op)) {
    const auto* axes = integers(record, "axis");
    return axes ? std::optional(*axes) : std::nullopt;
  }
  const Attribute* given = attribute(record, "dim");
  if (const auto* one = given ? std::get_if<std::int64_t>(given) : nullptr) return std::vector{*one};
  const auto* several = given ? std::get_if<std::vector<std::int64_t>>(given) : nullptr;
  if (several && !several->empty()) return *several;
  std::vector<std::int64_t> all;  // as PyTorch reads none, None and an empty list
  for (int axis = 0; axis < rank; ++axis) all.push_back(axis);
  return all;
}

/// Whether the record is a reduction of some of its input's axes; then what was read for the element.
std::optional<Places> read_by_reduction(const RecordView& record, const Tensor& input, const Tensor& output,
                                        std::int64_t place) {
  if (form_of(*record.head.op) != Form::reduction) return std::nullopt;
  const Shape& shape = input.shape();
  const auto axes = reduced_axes(record, shape.rank());
  if (!axes) return std::nullopt;
  std::vector<bool> reduced(static_cast<std::size_t>(shape.rank()), false);
  for (const std::int64_t axis : *axes) {
    if (axis < -shape.rank() || axis >= shape.rank()) return std::nullopt;
    reduced[static_cast<std::size_t>(axis < 0 ? axis + shape.rank() : axis)] = true;
  }
  // From the last axis to the first: kept ones have one index, that of the element.
  Places places{0};
  std::int64_t stride = 1;
  for (int axis = shape.rank(); axis-- > 0; stride *= shape[axis]) {
    const Places before = std::move(places);
    places.clear();
    const bool over = reduced[static_cast<std::size_t>(axis)];
    const std::int64_t kept = over ? 0 : place % shape[axis];
    if (!over) place /= shape[axis];
    for (std::int64_t at = kept; at < (over ? shape[axis] : kept + 1); ++at)
      for (const std::int64_t behind : before) places.push_back(at * stride + behind);
  }
  if (static_cast<std::int64_t>(places.size()) * output.count() != input.count()) return std::nullopt;
  return places;
}

/// PyTorch's, which takes the gradient and the softmax's own result.
bool softmax_gradient(const ForeignOp& op) {
  const std::string name = short_name(*op.row);
  return name == "_softmax_backward_data" || name == "_log_softmax_backward_data";
}

/// What is read for an element of a softmax, or of its logarithm, and of their gradients: its row.
std::optional<Places> read_by_softmax(const RecordView& record, const Tensor& input, std::int64_t place) {
  const ForeignOp* foreign = foreign_of(*record.head.op);
  const OpDef& op = foreign && foreign->counterpart ? *foreign->counterpart : *record.head.op;
  const bool backward = foreign && softmax_gradient(*foreign);
  if ((op.name != "softmax" && op.name != "log_softmax" && !backward) || input.rank() == 0)
    return std::nullopt;
  const Attribute* given = foreign ? attribute(record, "dim") : attribute(record, "axis");
  const auto* along = given ? std::get_if<std::int64_t>(given) : nullptr;
  const int rank = input.rank();
  if (!along || *along < -rank || *along >= rank) return std::nullopt;
  const int axis = static_cast<int>(*along < 0 ? *along + rank : *along);
  std::int64_t stride = 1;
  for (int k = axis + 1; k < rank; ++k) stride *= input.dim(k);
  const std::int64_t first = place - place / stride % input.dim(axis) * stride;
  Places row;
  for (std::int64_t k = 0; k < input.dim(axis); ++k) row.push_back(first + k * stride);
  return row;
}

/// The op's inputs with every element replaced by its number, counted on from input to input, from 1 or
/// backwards.
Tensors numbered(std::span<const Tensor> inputs, bool backwards) {
  std::int64_t total = 0;
  for (const Tensor& input : inputs)
    if (is_floating(input.dtype())) total += input.count();
  Tensors result;
  std::int64_t next = 1;
  for (const Tensor& input : inputs) {
    if (!is_floating(input.dtype())) {
      result.push_back(input);
      continue;
    }
    Tensor numbers = Tensor::allocate(DType::float64, input.shape());
    for (std::int64_t i = 0; i < numbers.count(); ++i, ++next)
      numbers.writable_data<double>()[i] = static_cast<double>(backwards ? total + 1 - next : next);
    result.push_back(std::move(numbers));
  }
  return result;
}

/// Where the op only moves elements: the one that came to `place`; found out by moving numbers.
std::optional<std::vector<ReadPlaces>> moved_from(const RecordView& record, std::span<const Tensor> inputs,
                                                  std::size_t slot, std::int64_t place) {
  std::array<std::int64_t, 2> numbers{};
  std::int64_t total = 0;
  for (const Tensor& input : inputs)
    if (is_floating(input.dtype())) total += input.count();
  for (const bool backwards : {false, true}) {
    const Tensors outputs = replay_op(*record.head.op, numbered(inputs, backwards), record.head.attributes);
    if (slot >= outputs.size() || place >= outputs[slot].count()) return std::nullopt;
    const double number = element(outputs[slot], place);
    if (number != std::floor(number) || number < 0 || number > static_cast<double>(total))
      return std::nullopt;
    numbers[backwards] = static_cast<std::int64_t>(number);
  }
  std::vector<ReadPlaces> result(inputs.size(), Places{});
  // PyTorch's ops may fill in any number, which looks like an element in the middle.
  if (is_foreign(*record.head.op) && numbers[0] == numbers[1] && total > 1) return std::nullopt;
  if (numbers[0] == 0 && numbers[1] == 0) return result;  // filled in: padding
  if (numbers[0] != total + 1 - numbers[1]) return std::nullopt;
  std::int64_t at = numbers[0] - 1;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (!is_floating(inputs[k].dtype())) continue;
    if (at < inputs[k].count()) {
      result[k] = Places{at};
      return result;
    }
    at -= inputs[k].count();
  }
  return std::nullopt;
}

bool may_move(const RecordView& record, std::span<const Tensor> inputs) {
  const bool any_position = std::any_of(inputs.begin(), inputs.end(),
                                        [](const Tensor& input) { return !is_floating(input.dtype()); });
  const bool any_number = std::any_of(inputs.begin(), inputs.end(),
                                      [](const Tensor& input) { return is_floating(input.dtype()); });
  if (is_foreign(*record.head.op)) return any_number;
  return any_number && record.head.op->vjp && (any_position || record.head.op->vjp_reads == VjpReads::shapes);
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.count() == b.count() && a.contiguous() && b.contiguous() &&
         std::memcmp(a.raw(), b.raw(), a.bytes()) == 0;
}

}  // namespace

bool Elementwise::is(const RecordView& record, std::span<const Tensor> inputs) {
  if (record.head.kind != EventKind::op || inputs.empty() ||
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return !input; }))
    return false;
  std::string key = record.head.op->name;
  for (std::size_t i = 0; i < record.head.attributes.size(); ++i)
    key += " " + to_string(record.head.attributes[i]);
  for (const Tensor& input : inputs) key += " " + std::string(dtype_name(input.dtype()));
  const auto [known, fresh] = known_.try_emplace(key, false);
  if (fresh) try {
      known->second = works_by_element(record, inputs);
    } catch (const Error&) {  // it does not take matrices
    }
  return known->second;
}

std::vector<ReadPlaces> places_read(Elementwise& elementwise, const RecordView& record,
                                    std::span<const Tensor> inputs, const Output& output,
                                    std::int64_t place) {
  std::vector<ReadPlaces> unknown(inputs.size());
  if (record.head.kind != EventKind::op ||
      std::any_of(inputs.begin(), inputs.end(), [](const Tensor& input) { return !input; }))
    return unknown;
  if (elementwise.is(record, inputs)) {
    std::vector<std::int64_t> places;
    for (const Tensor& input : inputs)
      places.push_back(broadcast_place(input.shape(), output.value.shape(), place));
    if (made_of(record, inputs, places, output, place)) {
      std::vector<ReadPlaces> read;
      for (const std::int64_t at : places) read.emplace_back(Places{at});
      return read;
    }
  }
  if (inputs.size() == 1 && same_elements(inputs[0], output.value)) return {Places{place}};
  if (form_of(*record.head.op) == Form::matmul && inputs.size() == 2 && inputs[0].rank() >= 2 &&
      inputs[1].rank() >= 2)
    return read_by_matmul(record, inputs, output.value, place);
  if (inputs.size() == 1 && inputs[0].shape() == output.value.shape())
    if (auto row = read_by_softmax(record, inputs[0], place)) return {std::move(row)};
  if (inputs.size() == 2 && inputs[0].shape() == output.value.shape() &&
      inputs[1].shape() == inputs[0].shape())
    if (auto row = read_by_softmax(record, inputs[0], place)) return {row, row};
  if (inputs.size() == 1)
    if (auto places = read_by_reduction(record, inputs[0], output.value, place)) return {std::move(places)};
  if (may_move(record, inputs)) try {
      if (auto moved = moved_from(record, inputs, output.slot, place)) return *moved;
    } catch (const Error&) {  // it does not take doubles
    }
  return unknown;
}

}  // namespace tapedeck::debug
