#include "engine/python/torch/torch_ops.h"

#include <memory>
#include <unordered_map>

#include "engine/python/torch/torch_tensors.h"
#include "engine/python/torch/torch_variables.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck::python::torch {
namespace {

struct OpRows {
  std::unordered_map<PyObject*, std::unique_ptr<Row>> by_overload;
  std::unordered_map<const ForeignOp*, Row*> by_op;
};

OpRows& op_rows() {
  static auto* all = new OpRows;
  return *all;
}

std::string utf8(PyObject* object) {
  const auto text = py::reinterpret_steal<py::object>(PyObject_Str(object));
  const char* letters = text ? PyUnicode_AsUTF8(text.ptr()) : nullptr;
  if (!letters) PyErr_Clear();
  return letters ? letters : "?";
}

bool has_tag(PyObject* overload, const char* name) {
  const auto tags = py::reinterpret_steal<py::object>(PyObject_GetAttrString(overload, "tags"));
  const auto iterator = tags ? py::reinterpret_steal<py::object>(PyObject_GetIter(tags.ptr())) : py::object();
  bool found = false;
  while (iterator) {
    const auto tag = py::reinterpret_steal<py::object>(PyIter_Next(iterator.ptr()));
    if (!tag) break;
    found = found || utf8(tag.ptr()).find(name) != std::string::npos;
  }
  PyErr_Clear();
  return found;
}

/// Contents that nothing wrote, clocks, communication: another run need not give the same.
bool never_repeats(const std::string& name) {
  return !name.starts_with("aten.") || name.starts_with("aten.empty") || name.starts_with("aten.new_empty") ||
         name.starts_with("aten.resize") || name.starts_with("aten.set_") || name.starts_with("aten.record_");
}

std::unique_ptr<Row> make_row(PyObject* overload) {
  const Library& torch = *library();
  auto row = std::make_unique<Row>();
  if (!PyType_IsSubtype(Py_TYPE(overload), torch.overload)) return row;
  const auto schema = py::reinterpret_steal<py::object>(PyObject_GetAttr(overload, torch.name_schema));
  if (!schema) {
    PyErr_Clear();
    return row;
  }
  try {
    row->op = &foreign_op(utf8(schema.ptr()));
  } catch (const Error&) {  // a schema that this build cannot read: its calls go unrecorded
    return row;
  }
  // Marks for PyTorch's profiler, which no program wrote: an optimiser's step begins and ends with one.
  if (row->op->row->name.starts_with("profiler.")) {
    row->op = nullptr;
    return row;
  }
  row->callable = PyObject_GetAttr(overload, torch.name_op);
  if (!row->callable) {
    PyErr_Clear();
    row->callable = Py_NewRef(overload);
  }
  const std::string& name = row->op->row->name;
  if (name.starts_with("aten._neg_view") || name.starts_with("aten._conj") || name.starts_with("aten.imag"))
    note_negatives();
  row->random = has_tag(overload, "nondeterministic");
  if (row->random || never_repeats(row->op->row->name)) row->repeats.fill(Repeats::no);
  row->only_reads_in_evaluation = name.ends_with("batch_norm");
  row->is_read = name.starts_with("aten._local_scalar_dense");
  row->ends_graph = row->is_read || name.starts_with("aten.detach");
  for (const ForeignValue& result : row->op->results)
    row->is_view = row->is_view || (!result.alias.empty() && !result.written);
  std::vector<Attribute> defaults;
  for (const AttributeSpec& attribute : row->op->row->attributes) defaults.push_back(attribute.fallback);
  row->defaults = defaults.empty() ? Attributes() : Attributes(std::move(defaults));
  return row;
}

/// A list of whole numbers; nullopt for another one.
std::optional<std::vector<std::int64_t>> whole_numbers(PyObject* sequence) {
  std::vector<std::int64_t> numbers;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(sequence);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PySequence_Fast_GET_ITEM(sequence, i);
    if (!PyLong_CheckExact(item)) return std::nullopt;
    numbers.push_back(PyLong_AsLongLong(item));
    if (PyErr_Occurred()) {
      PyErr_Clear();
      return std::nullopt;
    }
  }
  return numbers;
}

Attribute attribute_of(const Library& torch, PyObject* value) {
  if (value == Py_None) return std::monostate();
  if (PyBool_Check(value)) return value == Py_True;
  if (PyLong_Check(value)) {
    const long long number = PyLong_AsLongLong(value);
    if (!PyErr_Occurred()) return std::int64_t{number};
    PyErr_Clear();
    return utf8(value);
  }
  if (PyFloat_Check(value)) return PyFloat_AS_DOUBLE(value);
  if (PyList_Check(value) || PyTuple_Check(value))
    if (auto numbers = whole_numbers(value)) return std::move(*numbers);
  if (Py_IS_TYPE(value, torch.dtype))
    if (const auto dtype = dtype_named(torch, value)) return *dtype;
  return utf8(value);
}

/// A number where the schema has a tensor: `x + 1`.
Tensor number_tensor(PyObject* value) {
  if (PyBool_Check(value)) return Tensor::scalar(value == Py_True, DType::bool_);
  if (PyLong_Check(value)) {
    const long long number = PyLong_AsLongLong(value);
    if (!PyErr_Occurred())
      return Tensor::from_values<std::int64_t>(
          std::span<const std::int64_t>(std::initializer_list<std::int64_t>{number}.begin(), 1), {});
    PyErr_Clear();
  }
  if (PyFloat_Check(value)) return Tensor::scalar(PyFloat_AS_DOUBLE(value), DType::float64);
  if (PyComplex_Check(value)) {
    Tensor number = Tensor::allocate(DType::complex128, {}, Device{});
    *number.writable_data<std::complex<double>>() = {PyComplex_RealAsDouble(value),
                                                     PyComplex_ImagAsDouble(value)};
    return number;
  }
  return {};
}

class CallReader {
 public:
  CallReader(const Row& row, PyObject* args, PyObject* kwargs)
      : torch_(*library()), row_(row), args_(args), kwargs_(kwargs) {}

  Call read() {
    const ForeignOp& op = *row_.op;
    const Py_ssize_t given = PyTuple_GET_SIZE(args_);
    for (std::size_t i = 0; i < op.arguments.size(); ++i) {
      const ForeignValue& argument = op.arguments[i];
      PyObject* value = static_cast<Py_ssize_t>(i) < given
                            ? PyTuple_GET_ITEM(args_, static_cast<Py_ssize_t>(i))
                        : kwargs_ ? PyDict_GetItemString(kwargs_, argument.name.c_str())
                                  : nullptr;
      if (argument.is_tensor)
        take_tensors(argument, value, i);
      else if (value)
        take_attribute(argument, value);
    }
    find_gradient_facts();
    set_attributes();
    return std::move(call_);
  }

 private:
  void find_gradient_facts() {
    if (call_.requiring.empty()) return;
    const auto asked = [](PyObject* function) {
      const auto on = py::reinterpret_steal<py::object>(PyObject_CallNoArgs(function));
      if (!on) PyErr_Clear();
      return on && on.ptr() == Py_True;
    };
    call_.taped = asked(torch_.grad_enabled);
    if (call_.taped) {
      // Where all do, as usual, nothing is kept.
      if (differentiable_ > call_.requiring.size()) facts_ |= requiring_bits_;
      return;
    }
    facts_ |= ForeignFacts::gradients_off;
    if (torch_.inference_enabled && asked(torch_.inference_enabled)) facts_ |= ForeignFacts::inference;
  }

  void take_tensors(const ForeignValue& argument, PyObject* value, std::size_t place) {
    if (!argument.is_list) return take_tensor(argument, value, place);
    const bool is_sequence = value && (PyList_Check(value) || PyTuple_Check(value));
    const Py_ssize_t count = is_sequence ? PySequence_Fast_GET_SIZE(value) : 0;
    lengths_.push_back(is_sequence ? count : -1);
    for (Py_ssize_t i = 0; i < count; ++i) take_tensor(argument, PySequence_Fast_GET_ITEM(value, i), place);
  }

  void take_tensor(const ForeignValue& argument, PyObject* value, std::size_t place) {
    call_.problems.emplace_back();
    if (!value || value == Py_None || !is_tensor(torch_, value)) {
      call_.input_objects.push_back(nullptr);
      call_.inputs.push_back(value && value != Py_None ? number_tensor(value) : Tensor());
      if (call_.inputs.back()) facts_ |= ForeignFacts::number(place);
      return;
    }
    call_.input_objects.push_back(value);
    std::uint64_t writer = 0;
    call_.inputs.push_back(tensor_of(value, &call_.problems.back(), &writer));
    const std::size_t input = call_.inputs.size() - 1;
    call_.is_elsewhere = call_.is_elsewhere || is_foreign(call_.inputs[input].device());
    if (writer) {
      memory_.push_back(static_cast<std::int64_t>(input));
      memory_.push_back(static_cast<std::int64_t>(writer));
    }
    if (argument.written) {
      call_.written.push_back(value);
      if (call_.problems.back().empty()) call_.inputs[input] = buffer_value(value, call_.inputs[input]);
    }
    const DType dtype = call_.inputs[input].dtype();
    const bool known = call_.problems.back().empty();
    if (known && !is_floating(dtype) && !is_complex(dtype)) return;
    const py::object wanted = torch_.requires_grad(value);
    if (!wanted) PyErr_Clear();
    const bool requires_gradient = wanted && wanted.ptr() == Py_True;
    if (known || requires_gradient) ++differentiable_;
    if (!requires_gradient) return;
    call_.requiring.push_back(static_cast<std::uint32_t>(input));
    requiring_bits_ |= ForeignFacts::requires_gradient(input);
    if (known) call_.inputs[input] = variable_value(value, call_.inputs[input]);
  }

  void take_attribute(const ForeignValue& argument, PyObject* value) {
    Attribute attribute = attribute_of(torch_, value);
    if (values_.empty()) {
      if (attribute == row_.defaults[argument.place]) return;
      for (std::size_t i = 0; i < row_.defaults.size(); ++i) values_.push_back(row_.defaults[i]);
    }
    values_[argument.place] = std::move(attribute);
  }

  void set_attributes() {
    if (values_.empty() && facts_ == 0 && lengths_.empty() && memory_.empty()) {
      call_.attributes = row_.defaults;
      return;
    }
    if (values_.empty())
      for (std::size_t i = 0; i < row_.defaults.size(); ++i) values_.push_back(row_.defaults[i]);
    if (facts_ != 0 || !lengths_.empty() || !memory_.empty()) {
      values_.emplace_back(facts_);
      for (const std::int64_t length : lengths_) values_.emplace_back(length);
    }
    if (!memory_.empty()) values_.emplace_back(std::move(memory_));
    call_.attributes = Attributes(std::move(values_));
  }

  const Library& torch_;
  const Row& row_;
  PyObject* args_;
  PyObject* kwargs_;
  Call call_;
  std::vector<Attribute> values_;
  std::vector<std::int64_t> lengths_;
  std::vector<std::int64_t> memory_;  ///< pairs: see ForeignMemory
  std::int64_t facts_ = 0, requiring_bits_ = 0;
  std::size_t differentiable_ = 0;
};

}  // namespace

Row* row_of(PyObject* overload) {
  OpRows& all = op_rows();
  const auto [found, is_new] = all.by_overload.try_emplace(overload);
  if (!is_new) return found->second && found->second->op ? found->second.get() : nullptr;
  Py_INCREF(overload);
  std::unique_ptr<Row> row = make_row(overload);
  row->overload = overload;
  Row* const made = row.get();
  all.by_overload[overload] = std::move(row);
  if (!made->op) return nullptr;
  all.by_op.emplace(made->op, made);
  return made;
}

Row* row_of(const ForeignOp& op) {
  const auto found = op_rows().by_op.find(&op);
  return found == op_rows().by_op.end() ? nullptr : found->second;
}

Call read_call(const Row& row, PyObject* args, PyObject* kwargs) {
  return CallReader(row, args, kwargs).read();
}

std::size_t hidden_place(const ForeignOp& op) {
  return op.row->attributes.size();
}

}  // namespace tapedeck::python::torch
