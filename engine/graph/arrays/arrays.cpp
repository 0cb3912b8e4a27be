#include "engine/graph/arrays/arrays.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <utility>

#include "engine/graph/control.h"
#include "engine/ops/core/observer.h"
#include "engine/ops/core/ops.h"
#include "engine/ops/core/tracer.h"
#include "engine/tape/tape.h"
#include "engine/tensor/strings.h"

namespace tapedeck::graph {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 24;  // as _graph/tensor_array.py has it

// ---- carriers

/// What a carrier's storage holds. The value is 0 in every dtype.
struct CarrierMemory {
  std::uint64_t value[2] = {0, 0};
  std::uint64_t mark = 0;
  const void* array = nullptr;
};
constexpr std::uint64_t carrier_mark = 0x7461'7065'6465'636b;

DType carrier_dtype(DType element) {
  return has_gradients(element) && element != DType::string ? element : DType::int64;
}

Tensor carrier_of(std::unique_ptr<const TensorArray> array) {
  StoragePointer storage = StoragePointer::allocate(sizeof(CarrierMemory));
  const CarrierMemory memory{{0, 0}, carrier_mark, array.get()};
  std::memcpy(storage->data(), &memory, sizeof memory);
  const DType dtype = carrier_dtype(array->kind.element.dtype);
  storage->keep(const_cast<TensorArray*>(array.release()),
                [](void* owner) { delete static_cast<TensorArray*>(owner); });
  return Tensor::view(std::move(storage), dtype, {}, {}, 0);
}

// ---- in graphs

using Arguments = std::span<const Tensor>;

/// How the call of a name runs.
struct ArrayCallRow {
  const char* name;
  std::size_t inputs;  ///< that it takes; of "TensorArray" at least
  Tensor (*run)(const ArrayCallForm& form, Arguments inputs);
};
const ArrayCallRow& row_of(const ArrayCallForm& form, std::size_t inputs);

/// What HostCall::function is.
struct ArrayCall {
  ArrayCallForm form;
  const ArrayCallRow& row;
  Tensors operator()(Arguments values) const { return Tensors(1, row.run(form, values)); }
};

/// The call in the graph that is being traced; else what it gives now.
Tensor called(ArrayCallForm form, const ValueSpec& result, Arguments inputs) {
  if (!current_tracer()) return row_of(form, inputs.size()).run(form, inputs);
  return host_call(array_call(std::move(form), inputs.size()), {&result, 1}, inputs)[0];
}

ValueSpec spec_of_carrier(const Tensor& array) {
  return {array.dtype(), {}, {}};
}

// ---- elements

std::string size_text(const TensorArray& array) {
  return "the size is " + std::to_string(array.elements.size());
}

/// An index that the run knows.
std::int64_t index_of(const Tensor& index) {
  if (Observer* observer = current_observer()) observer->left(index);
  if (index.count() != 1)
    fail<InvalidArgumentError>("TensorArray: index has shape ", to_string(index.shape()), "; needs a scalar");
  const auto number = static_cast<std::int64_t>(index.item());
  if (number < 0) fail<OutOfRangeError>("TensorArray: index is ", number, "; must not be negative");
  return number;
}

std::vector<std::int64_t> indices_of(const Tensor& indices, const char* argument) {
  if (Observer* observer = current_observer()) observer->left(indices);
  std::vector<std::int64_t> numbers;
  for (const double value : indices.on_host().to_vector()) {
    numbers.push_back(static_cast<std::int64_t>(value));
    if (value < 0)
      fail<OutOfRangeError>("TensorArray: ", argument, " is ", numbers.back(), "; must not be negative");
  }
  return numbers;
}

bool is_known(const ValueSpec& spec) {
  return !spec.unknown;
}

Tensor zeros_of(const ValueSpec& spec) {
  if (spec.dtype != DType::string) return ops::zeros(spec.shape, spec.dtype);
  std::int64_t count = 1;
  for (const std::int64_t extent : spec.shape.span()) count *= extent;
  return string_tensor(spec.shape, std::vector<std::string>(static_cast<std::size_t>(count)));
}

/// The element; zeros where nothing was written.
Tensor element_at(const TensorArray& array, std::int64_t number) {
  if (number >= array.elements.size())
    fail<OutOfRangeError>("TensorArray: index is ", number, "; ", size_text(array));
  ElementTree::Element element = array.elements[number];
  if (element.tensor) return std::move(element.tensor);
  if (element.cleared)
    fail<InvalidArgumentError>("TensorArray: index ", number,
                               " was read and is cleared; pass clear_after_read=False");
  if (!is_known(array.kind.element))
    fail<InvalidArgumentError>("TensorArray: index ", number,
                               " was not written, and the element_shape is not known");
  return zeros_of(array.kind.element);
}

void require_fitting(const TensorArray& array, const Tensor& value) {
  const ValueSpec& element = array.kind.element;
  if (value.dtype() != element.dtype)
    fail<TypeMismatchError>("TensorArray: dtype is ", dtype_name(element.dtype), ", the value is ",
                            dtype_name(value.dtype()), "; cast it");
  if (!is_compatible(value.shape(), {}, element.shape, element.unknown))
    fail<InvalidArgumentError>("TensorArray: element_shape is ", to_string(element.shape, element.unknown),
                               ", the value has shape ", to_string(value.shape()));
}

/// Puts a value there. Throws where it does not fit.
void put(TensorArray& array, std::int64_t number, const Tensor& value) {
  require_fitting(array, value);
  if (array.kind.infers && !is_known(array.kind.element)) {
    array.kind.element.shape = value.shape();
    array.kind.element.unknown = {};
  }
  array.elements.grow_to(number + 1);
  array.elements.set(number, {value, false});
}

void require_room(const TensorArray& array, const char* argument, std::int64_t number) {
  const char* verb = argument == std::string_view("index") ? " is " : " has ";
  if (number < array.elements.size()) return;
  if (number >= most_elements)
    fail<ResourceExhaustedError>("TensorArray: ", argument, verb, number, "; at most ", most_elements,
                                 " tensors");
  if (!array.kind.grows)
    fail<OutOfRangeError>("TensorArray: ", argument, verb, number, "; ", size_text(array),
                          ", and dynamic_size is False");
}

Tensor changed(const Tensor& carrier, const std::function<void(TensorArray&)>& change) {
  auto copy = std::make_unique<TensorArray>(array_carried_by(carrier));
  change(*copy);
  return carrier_of(std::move(copy));
}

/// All elements are these parts, each of which fits.
void replace(TensorArray& array, std::span<const Tensor> parts, const char* what) {
  const auto count = static_cast<std::int64_t>(parts.size());
  if (!array.kind.grows && (count > array.elements.size() ||
                            (what == std::string_view("lengths") && count != array.elements.size())))
    fail<InvalidArgumentError>("TensorArray: ", count, " ", what, "; ", size_text(array),
                               ", and dynamic_size is False");
  array.elements = {};
  for (std::int64_t i = 0; i < count; ++i) put(array, i, parts[static_cast<std::size_t>(i)]);
}

Tensor joined_or_empty(const TensorArray& array, const Tensors& elements, bool stacks,
                       std::int64_t axis_of_all) {
  if (!elements.empty())
    return stacks ? ops::stack(elements, axis_of_all) : ops::concat(elements, axis_of_all);
  const ValueSpec& element = array.kind.element;
  if (!is_known(element) || axis_of_all != 0)
    fail<InvalidArgumentError>("TensorArray: it is empty, and the element_shape is not known");
  ValueSpec none{element.dtype, {0}, {}};
  for (int axis = stacks ? 0 : 1; axis < element.shape.rank(); ++axis)
    none.shape.push_back(element.shape[axis]);
  return zeros_of(none);
}

Tensors all_elements(const TensorArray& array) {
  Tensors elements;
  elements.reserve(static_cast<std::size_t>(array.elements.size()));
  for (std::int64_t i = 0; i < array.elements.size(); ++i) elements.push_back(element_at(array, i));
  return elements;
}

Tensors slices_of(const Tensor& value) {
  if (value.rank() == 0) fail<InvalidArgumentError>("TensorArray: value is a scalar; needs a first axis");
  return value.dim(0) == 0 ? Tensors() : ops::unstack(value, 0);
}

// ---- what the calls do

/// Where an observer listens, what is written has a record: the gate stops there, and the watch sees its
/// values. The array has the value itself, and tapes see no identity: gradients are added up in the same
/// order as where nothing listens.
void show(const Tensor& value) {
  if (!current_observer()) return;
  const StopRecording unseen;
  (void)ops::identity(value);
}

Tensor made_array(const ArrayCallForm& form, Arguments values) {
  auto array = std::make_unique<TensorArray>(TensorArray{*form.kind, {}});
  const auto size = static_cast<std::int64_t>(values[0].item());
  if (size < 0) fail<InvalidArgumentError>("TensorArray: size is ", size, "; must not be negative");
  if (size > most_elements)
    fail<ResourceExhaustedError>("TensorArray: size is ", size, "; at most ", most_elements, " tensors");
  array->elements.grow_to(size);
  for (std::size_t i = 0; i < form.numbers.size(); ++i) put(*array, form.numbers[i], values[i + 1]);
  for (const std::int64_t number : form.cleared) array->elements.set(number, {{}, true});
  return carrier_of(std::move(array));
}

Tensor appended(const ArrayCallForm&, Arguments inputs) {
  return changed(inputs[0], [&](TensorArray& made) {
    require_room(made, "index", made.elements.size());
    show(inputs[1]);
    put(made, made.elements.size(), inputs[1]);
  });
}

Tensor written(const ArrayCallForm&, Arguments inputs) {
  return changed(inputs[0], [&](TensorArray& made) {
    const std::int64_t number = index_of(inputs[1]);
    require_room(made, "index", number);
    show(inputs[2]);
    put(made, number, inputs[2]);
  });
}

Tensor read(const ArrayCallForm&, Arguments inputs) {
  return element_at(array_carried_by(inputs[0]), index_of(inputs[1]));
}

Tensor stacked(const ArrayCallForm& form, Arguments inputs) {
  const TensorArray& carried = array_carried_by(inputs[0]);
  return joined_or_empty(carried, all_elements(carried), true, form.axis);
}

Tensor gathered(const ArrayCallForm&, Arguments inputs) {
  const TensorArray& carried = array_carried_by(inputs[0]);
  Tensors elements;
  for (const std::int64_t number : indices_of(inputs[1], "indices"))
    elements.push_back(element_at(carried, number));
  return joined_or_empty(carried, elements, true, 0);
}

Tensor concatenated(const ArrayCallForm& form, Arguments inputs) {
  const TensorArray& carried = array_carried_by(inputs[0]);
  return joined_or_empty(carried, all_elements(carried), false, form.axis);
}

Tensor size_of(const ArrayCallForm&, Arguments inputs) {
  return Tensor::scalar(static_cast<double>(array_carried_by(inputs[0]).elements.size()), DType::int32);
}

Tensor unstacked(const ArrayCallForm&, Arguments inputs) {
  return changed(inputs[0], [&](TensorArray& made) { replace(made, slices_of(inputs[1]), "slices"); });
}

Tensor scattered(const ArrayCallForm&, Arguments inputs) {
  return changed(inputs[0], [&](TensorArray& made) {
    const std::vector<std::int64_t> numbers = indices_of(inputs[1], "indices");
    const Tensors parts = slices_of(inputs[2]);
    if (parts.size() != numbers.size())
      fail<InvalidArgumentError>("TensorArray: ", numbers.size(), " indices and ", parts.size(), " slices");
    for (const std::int64_t number : numbers) require_room(made, "indices", number);
    for (std::size_t i = 0; i < parts.size(); ++i) put(made, numbers[i], parts[i]);
  });
}

Tensor split(const ArrayCallForm&, Arguments inputs) {
  return changed(inputs[0], [&](TensorArray& made) {
    const std::vector<std::int64_t> numbers = indices_of(inputs[2], "lengths");
    const bool inferred = std::exchange(made.kind.infers, false);  // the parts differ in length
    replace(made, ops::split(inputs[1], numbers, 0), "lengths");
    made.kind.infers = inferred;
  });
}

constexpr const char* make_name = "TensorArray";
constexpr ArrayCallRow rows[] = {{make_name, 1, made_array},
                                 {"list.append", 2, appended},
                                 {"TensorArray.write", 3, written},
                                 {"TensorArray.read", 2, read},
                                 {"TensorArray.stack", 1, stacked},
                                 {"TensorArray.gather", 2, gathered},
                                 {"TensorArray.concat", 1, concatenated},
                                 {"TensorArray.size", 1, size_of},
                                 {"TensorArray.unstack", 2, unstacked},
                                 {"TensorArray.scatter", 3, scattered},
                                 {"TensorArray.split", 3, split}};

const ArrayCallRow& row_of(const ArrayCallForm& form, std::size_t inputs) {
  const auto* const row =
      std::ranges::find_if(rows, [&](const ArrayCallRow& one) { return one.name == form.name; });
  if (row == std::end(rows)) fail<InvalidArgumentError>("TensorArray: there is no call '", form.name, "'");
  const std::size_t wanted = row->inputs + form.numbers.size();
  if (inputs != wanted || form.kind.has_value() != (form.name == make_name))
    fail<InvalidArgumentError>(form.name, ": has ", inputs, " inputs; takes ", wanted);
  for (const auto& numbers : {form.numbers, form.cleared})
    for (const std::int64_t number : numbers)
      if (!form.kind || number < 0 || number >= most_elements)
        fail<InvalidArgumentError>(form.name, ": there is no element ", number);
  return *row;
}

}  // namespace

bool is_array_call(const Node& node) {
  return array_call_form(node) != nullptr;
}

const ArrayCallForm* array_call_form(const Node& node) {
  const auto* const call = node.host ? node.host->function.target<ArrayCall>() : nullptr;
  return call ? &call->form : nullptr;
}

HostCall array_call(ArrayCallForm form, std::size_t inputs) {
  const ArrayCallRow& row = row_of(form, inputs);
  std::string name = form.name;
  return {std::move(name), ArrayCall{std::move(form), row}, true, {}};
}

bool has_differentiable_calls(const Node& node) {
  if (node.host && node.host->differentiable) return true;
  return std::ranges::any_of(node.graphs, [](const auto& graph) {
    return std::ranges::any_of(graph->nodes, has_differentiable_calls);
  });
}

bool carries_array(const Tensor& tensor) {
  if (!tensor || tensor.is_symbolic() || !tensor.on_cpu() || tensor.rank() != 0 || tensor.offset() != 0)
    return false;
  const Storage* storage = tensor.storage().get();
  if (!storage || !storage->kept() || storage->size() != sizeof(CarrierMemory)) return false;
  CarrierMemory memory;
  std::memcpy(&memory, storage->data(), sizeof memory);
  return memory.mark == carrier_mark && memory.array == storage->kept();
}

const TensorArray& array_carried_by(const Tensor& carrier) {
  if (!carries_array(carrier)) fail<InvalidArgumentError>("TensorArray: a tensor does not carry an array");
  return *static_cast<const TensorArray*>(carrier.storage()->kept());
}

Tensor array_of(ArrayKind kind, const Tensor& count, std::span<const std::int64_t> numbers,
                std::span<const Tensor> written, std::span<const std::int64_t> cleared) {
  const ValueSpec result{carrier_dtype(kind.element.dtype), {}, {}};
  Tensors inputs(1, count);
  inputs.insert(inputs.end(), written.begin(), written.end());
  return called(
      {make_name, std::move(kind), {numbers.begin(), numbers.end()}, {cleared.begin(), cleared.end()}},
      result, inputs);
}

Tensor array_append(const Tensor& array, const Tensor& value) {
  return called({"list.append"}, spec_of_carrier(array), Tensors{array, value});
}

Tensor array_write(const Tensor& array, const Tensor& index, const Tensor& value) {
  return called({"TensorArray.write"}, spec_of_carrier(array), Tensors{array, index, value});
}

Tensor array_read(const Tensor& array, const Tensor& index, const ValueSpec& result) {
  return called({"TensorArray.read"}, result, Tensors{array, index});
}

Tensor array_stack(const Tensor& array, std::int64_t axis, const ValueSpec& result) {
  return called({"TensorArray.stack", {}, {}, {}, axis}, result, {&array, 1});
}

Tensor array_gather(const Tensor& array, const Tensor& indices, const ValueSpec& result) {
  return called({"TensorArray.gather"}, result, Tensors{array, indices});
}

Tensor array_concat(const Tensor& array, std::int64_t axis, const ValueSpec& result) {
  return called({"TensorArray.concat", {}, {}, {}, axis}, result, {&array, 1});
}

Tensor array_size(const Tensor& array) {
  return called({"TensorArray.size"}, {DType::int32, {}, {}}, {&array, 1});
}

Tensor array_unstack(const Tensor& array, const Tensor& value) {
  return called({"TensorArray.unstack"}, spec_of_carrier(array), Tensors{array, value});
}

Tensor array_scatter(const Tensor& array, const Tensor& indices, const Tensor& value) {
  return called({"TensorArray.scatter"}, spec_of_carrier(array), Tensors{array, indices, value});
}

Tensor array_split(const Tensor& array, const Tensor& value, const Tensor& lengths) {
  return called({"TensorArray.split"}, spec_of_carrier(array), Tensors{array, value, lengths});
}

}  // namespace tapedeck::graph
