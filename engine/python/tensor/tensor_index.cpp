// tensor[...]: integers, slices, ..., None by strided_slice; one list or tensor of integers, or one mask of
// bools, by gather.
#include <algorithm>

#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/slice_spec.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/symbolic_error.h"

namespace tapedeck::python {

namespace {

bool is_array_index(PyObject* item) {
  if (PyList_Check(item)) return true;
  if (is_numpy_array(item)) return py::cast<int>(py::handle(item).attr("ndim")) > 0;
  return is_tensor_like(item) && tensor_like(item).rank() > 0;
}

/// The number of axes that a mask of bools speaks of; 0 for whatever is not a mask.
int mask_rank_of(PyObject* item) {
  if (!is_array_index(item)) return 0;
  if (is_tensor_like(item)) return tensor_like(item).dtype() == DType::bool_ ? tensor_like(item).rank() : 0;
  const Guess guess = guess_of(item);
  if (guess.kind == ValueKind::array && is_numpy_array(item))
    return guess.dtype == DType::bool_ ? py::cast<int>(py::handle(item).attr("ndim")) : 0;
  const bool bools =
      guess.kind == ValueKind::boolean || (guess.kind >= ValueKind::array && guess.dtype == DType::bool_);
  return bools ? to_tensor(item, {}, {"index", nullptr}, guess).rank() : 0;
}

std::int64_t integer_of(PyObject* item, const char* what) {
  if (is_tensor_like(item) && is_tracing()) {
    const Tensor tensor = tensor_like(item);
    if (tensor.is_symbolic() && tensor.rank() == 0 && !has_known_value(tensor))
      if (const auto late = late_number(tensor, 0)) return *late;
  }
  const py::object index = py::reinterpret_steal<py::object>(PyNumber_Index(item));
  if (!index) {
    keep_symbolic_error();
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw ForeignException{};
    PyErr_Clear();
    fail<TypeMismatchError>("index: ", what, " ", short_repr(item), " is not an integer");
  }
  const std::int64_t value = PyLong_AsLongLong(index.ptr());
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Clear();
    fail<OutOfRangeError>("index: ", short_repr(item), " does not fit in int64");
  }
  return value;
}

std::int64_t checked_index(std::int64_t index, const Tensor& tensor, int axis) {
  if (unknown_of(tensor).has(axis)) return index;  // the op counts from the end, and checks
  const std::int64_t extent = tensor.dim(axis);
  if (index < -extent || index >= extent)
    fail<OutOfRangeError>("index ", index, " is out of range for axis ", axis, " of a tensor of shape ",
                          to_string(tensor.shape()));
  return index < 0 ? index + extent : index;
}

void add_slice(SliceSpec& spec, PyObject* item) {
  const auto* slice = reinterpret_cast<PySliceObject*>(item);
  const auto part = [](PyObject* value, std::int64_t fallback, const char* what) {
    return value == Py_None ? fallback : integer_of(value, what);
  };
  const std::int64_t step = part(slice->step, 1, "slice step");
  if (step == 0) fail<InvalidArgumentError>("index: a slice's step is 0");
  if (slice->start == Py_None) spec.begin_mask |= spec.bit();
  if (slice->stop == Py_None) spec.end_mask |= spec.bit();
  spec.push(part(slice->start, 0, "slice start"), part(slice->stop, 0, "slice stop"), step);
  ++spec.axis;
  ++spec.output_axis;
}

void check_axes(int used, const Tensor& tensor) {
  if (unknown_of(tensor).rank) return;
  if (used > tensor.rank())
    fail<OutOfRangeError>("index: ", used, " indices for a tensor of ", tensor.rank(), " axes, shape ",
                          to_string(tensor.shape()));
}

void add_mask(SliceSpec& spec, const Tensor& tensor) {
  const Shape& mask = spec.gather_indices.shape();
  spec.mask_rank = mask.rank();
  const UnknownShape unknown = unknown_of(tensor), of_mask = unknown_of(spec.gather_indices);
  bool fits = spec.axis + mask.rank() <= tensor.rank() || unknown.rank;
  for (int i = 0; fits && i < mask.rank(); ++i)
    fits = unknown.has(spec.axis + i) || of_mask.has(i) || mask[i] == tensor.dim(spec.axis + i);
  if (!fits)
    fail<OutOfRangeError>("index: a mask of shape ", shape_text(spec.gather_indices), " at axis ", spec.axis,
                          " of a tensor of shape ", shape_text(tensor));
  for (int i = 0; i < mask.rank(); ++i) spec.add_whole_axis();
}

/// Whether the item is an integer that is known when the graph runs.
bool is_traced_index(PyObject* item) {
  if (!is_tensor_like(item) || !is_tracing()) return false;
  const Tensor index = tensor_like(item);
  return index.is_symbolic() && index.rank() == 0 && is_integer(index.dtype()) && !has_known_value(index);
}

/// Counted from the front, as gather takes it.
Tensor from_front(const Tensor& index, std::int64_t extent) {
  static const OpDef &less = required_op("less"), &cast = required_op("cast"),
                     &multiply = required_op("multiply"), &add = required_op("add");
  const Tensor zero = Tensor::scalar(0, index.dtype());
  const Tensor length = Tensor::scalar(static_cast<double>(extent), index.dtype());
  const Tensor behind =
      run_op1(cast, {run_op1(less, {index, zero})}, named_attributes(cast, {{"dtype", index.dtype()}}));
  return run_op1(add, {index, run_op1(multiply, {behind, length})});
}

void add_item(SliceSpec& spec, PyObject* item, const Tensor& tensor) {
  if (item == Py_None) return spec.add_new_axis();
  check_axes(spec.axis + 1, tensor);
  if (PySlice_Check(item)) return add_slice(spec, item);
  if (PyBool_Check(item) ||
      (is_tensor_like(item) && tensor_like(item).dtype() == DType::bool_ && tensor_like(item).rank() == 0))
    fail<TypeMismatchError>("index: a single bool is not an index; a mask has one bool for each element");
  if (is_traced_index(item) && unknown_of(tensor).has(spec.axis))
    return spec.add_integer(integer_of(item, "index"));
  if (is_traced_index(item)) {
    if (spec.gather_axis >= 0)
      fail<UnimplementedError>(
          "index: an index that is known when the graph runs behind a list or tensor of indices");
    spec.traced_indices.emplace_back(spec.output_axis, from_front(tensor_like(item), tensor.dim(spec.axis)));
    return spec.add_whole_axis();
  }
  const DefaultDeviceScope beside(tensor.is_symbolic() ? Device{} : tensor.device());
  if (!is_array_index(item))
    return spec.add_integer(checked_index(integer_of(item, "index"), tensor, spec.axis));
  if (!spec.traced_indices.empty())
    fail<UnimplementedError>(
        "index: a list or tensor of indices behind an index that is known when the graph runs");
  if (spec.gather_axis >= 0)
    fail<InvalidArgumentError>("index: at most one list or tensor of indices, or one mask, can be used");
  spec.gather_indices = to_tensor(item, {}, {"index", nullptr});
  spec.gather_axis = spec.output_axis;
  const DType dtype = spec.gather_indices.dtype();
  if (dtype == DType::bool_) return add_mask(spec, tensor);
  if (!is_integer(dtype))
    fail<TypeMismatchError>("index: a list of ", dtype_name(dtype), "; indices are integers or bools");
  spec.add_whole_axis();
}

Tensor reshaped(const Tensor& tensor, const std::vector<std::int64_t>& shape) {
  static const OpDef& reshape = required_op("reshape");
  return run_op1(reshape, {tensor}, named_attributes(reshape, {{"shape", shape}}));
}

/// An extent as reshape's next call takes it.
std::int64_t extent_of(const Tensor& tensor, int axis) {
  if (!unknown_of(tensor).has(axis)) return tensor.dim(axis);
  static const OpDef& shape = required_op("shape");
  return late_number(run_op1(shape, {tensor}, named_attributes(shape, {})), axis).value_or(-1);
}

/// The tensor with the axes that a mask is about made one.
Tensor with_mask_axes_merged(const SliceSpec& spec, const Tensor& tensor) {
  std::vector<std::int64_t> merged;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (axis > spec.gather_axis && axis < spec.gather_axis + spec.mask_rank)
      merged.back() *= tensor.dim(axis);
    else
      merged.push_back(tensor.dim(axis));
  return reshaped(tensor, merged);
}

/// The same where not all extents are known.
Tensor with_mask_axes_as_one(const SliceSpec& spec, const Tensor& tensor) {
  std::vector<std::int64_t> merged;
  for (int axis = 0; axis < tensor.rank(); ++axis)
    if (axis == spec.gather_axis)
      merged.push_back(-1);
    else if (axis < spec.gather_axis || axis >= spec.gather_axis + spec.mask_rank)
      merged.push_back(extent_of(tensor, axis));
  return reshaped(tensor, merged);
}

/// Gathers along one axis; a mask's axes are made one before, and its bools numbers.
Tensor gathered(const SliceSpec& spec, Tensor tensor) {
  static const OpDef& gather = required_op("gather");
  static const OpDef& where_indices = required_op("where_indices");
  Tensor indices = spec.gather_indices;
  if (spec.mask_rank > 0) {
    if (spec.mask_rank > 1) {
      tensor = unknown_of(tensor) ? with_mask_axes_as_one(spec, tensor) : with_mask_axes_merged(spec, tensor);
      indices = reshaped(indices, {unknown_of(indices) ? -1 : indices.count()});
    }
    indices = run_op1(where_indices, {indices});
    indices = reshaped(indices, {unknown_of(indices) ? -1 : indices.count()});
  }
  return run_op1(gather, {tensor, indices},
                 named_attributes(gather, {{"axis", static_cast<std::int64_t>(spec.gather_axis)}}));
}

Attributes slicing_of(const SliceSpec& spec, const OpDef& op) {
  return named_attributes(op, {{"begin", spec.begin},
                               {"end", spec.end},
                               {"strides", spec.strides},
                               {"begin_mask", spec.begin_mask},
                               {"end_mask", spec.end_mask},
                               {"new_axis_mask", spec.new_axis_mask},
                               {"shrink_axis_mask", spec.shrink_axis_mask}});
}

/// The items of an index of several, one after the other.
SliceSpec spec_of_tuple(PyObject* index, const Tensor& tensor) {
  SliceSpec spec;
  const Py_ssize_t count = PyTuple_GET_SIZE(index);
  int used = 0, ellipses = 0;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(index, i);
    if (item != Py_None && item != Py_Ellipsis) used += std::max(1, mask_rank_of(item));
    ellipses += item == Py_Ellipsis;
  }
  if (ellipses > 1) fail<InvalidArgumentError>("index: only one ... can be used");
  check_axes(used, tensor);
  if (ellipses > 0 && unknown_of(tensor).rank)
    fail<UnimplementedError>("index: ... in an index of a tensor of unknown rank; set_shape says it");
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(index, i);
    if (item != Py_Ellipsis) {
      add_item(spec, item, tensor);
      continue;
    }
    for (int skipped = used; skipped < tensor.rank(); ++skipped) spec.add_whole_axis();
  }
  return spec;
}

PyObject* subscript(PyObject* self, PyObject* index) {
  return guarded([&] {
    const Tensor tensor = tensor_like(self);
    SliceSpec spec;
    if (PyTuple_Check(index))
      spec = spec_of_tuple(index, tensor);
    else if (index != Py_Ellipsis)
      add_item(spec, index, tensor);
    Tensor part = take(spec, tensor);
    // Numbers that only a run knows go to the next call of an op alone: such a part cannot be assigned to.
    return is_variable(self) && !spec.has_late_numbers()
               ? wrap_part(variable_of(self), std::move(spec), std::move(part))
               : wrap(std::move(part));
  });
}

PyObject* item(PyObject* self, Py_ssize_t index) {
  return guarded([&] {
    const Tensor tensor = tensor_like(self);
    if (tensor.rank() == 0 && !unknown_of(tensor))
      fail<TypeMismatchError>("cannot index or iterate over a scalar tensor");
    SliceSpec spec;
    spec.add_integer(checked_index(index, tensor, 0));
    return wrap(take(spec, tensor));
  });
}

/// Of a symbolic tensor whose first extent is not known.
void check_extent(const Tensor& tensor, const char* reader) {
  if (unknown_of(tensor).has(0) && (unknown_of(tensor).rank || tensor.rank() > 0))
    fail<SymbolicValueError>(
        reader, " needs the first extent of a tensor of shape ", shape_text(tensor),
        ", which is known when the graph function runs that is being traced; tf.shape(x)[0] "
        "gives it to ops, a for loop of a converted function runs over it");
}

Py_ssize_t length(PyObject* self) {
  return guarded_or(Py_ssize_t{-1}, [&]() -> Py_ssize_t {
    if (is_tensor(self)) check_extent(tensor_of(self), "len()");
    const Shape& shape = is_tensor(self) ? tensor_of(self).shape() : variable_of(self).shape();
    if (shape.rank() == 0) fail<TypeMismatchError>("a scalar tensor has no len()");
    return shape[0];
  });
}

PyObject* iterate(PyObject* self) {
  return guarded([&] {
    if (is_tensor(self)) check_extent(tensor_of(self), "iteration");
    const int rank = is_tensor(self) ? tensor_of(self).rank() : variable_of(self).shape().rank();
    if (rank == 0) fail<TypeMismatchError>("cannot iterate over a scalar tensor");
    return PySeqIter_New(self);
  });
}

}  // namespace

Tensor take(const SliceSpec& spec, const Tensor& tensor) {
  static const OpDef& strided_slice = required_op("strided_slice");
  const auto mask_axes = static_cast<std::size_t>(spec.mask_rank);
  const bool whole = spec.begin_mask == (std::int64_t{1} << spec.begin.size()) - 1 &&
                     spec.end_mask == spec.begin_mask && spec.gather_axis >= 0 && spec.new_axis_mask == 0 &&
                     spec.begin.size() == std::max<std::size_t>(1, mask_axes);
  Tensor result = tensor;
  if (!whole && !spec.begin.empty())
    result = run_op1(strided_slice, {tensor}, slicing_of(spec, strided_slice));
  if (spec.gather_axis >= 0) result = gathered(spec, result);
  static const OpDef& gather = required_op("gather");
  for (std::size_t i = spec.traced_indices.size(); i-- > 0;) {
    const auto& [axis, index] = spec.traced_indices[i];
    result = run_op1(gather, {result, index},
                     named_attributes(gather, {{"axis", static_cast<std::int64_t>(axis)}}));
  }
  return result;
}

Tensor put(const SliceSpec& spec, const Tensor& tensor, const Tensor& value) {
  static const OpDef& update = required_op("tensor_strided_slice_update");
  static const OpDef& scatter = required_op("tensor_scatter_nd_update");
  if (spec.gather_axis < 0 && spec.traced_indices.empty())
    return spec.begin.empty() ? value : run_op1(update, {tensor, value}, slicing_of(spec, update));
  // Where a list or a mask picks: the same index, asked of the elements' numbers, says which they are.
  static const OpDef& range = required_op("range");
  const std::int64_t count = tensor.count();
  const Tensor numbers =
      run_op1(range, {},
              named_attributes(
                  range, {{"start", 0.0}, {"limit", static_cast<double>(count)}, {"dtype", DType::int64}}));
  const Tensor places = take(spec, reshaped(numbers, {tensor.shape().begin(), tensor.shape().end()}));
  const Tensor changed = run_op1(scatter, {reshaped(tensor, {count}), reshaped(places, {places.count(), 1}),
                                           reshaped(value, {value.count()})});
  return reshaped(changed, {tensor.shape().begin(), tensor.shape().end()});
}

void add_indexing(PyTypeObject& type) {
  static PyMappingMethods mapping = {length, subscript, nullptr};
  static PySequenceMethods sequence = [] {
    PySequenceMethods methods{};
    methods.sq_length = length;
    methods.sq_item = item;
    return methods;
  }();
  type.tp_as_mapping = &mapping;
  type.tp_as_sequence = &sequence;
  type.tp_iter = iterate;
}

}  // namespace tapedeck::python
