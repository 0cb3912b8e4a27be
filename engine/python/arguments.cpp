#include "engine/python/arguments.h"

#include <algorithm>
#include <array>

#include "engine/ops/random/random_state.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tensor/narrow.h"

namespace tapedeck::python {

namespace {

constexpr std::size_t max_parameters = 16;

PyObject* interned(const std::string& text) {
  PyObject* object = PyUnicode_InternFromString(text.c_str());
  if (!object) throw py::error_already_set();
  return object;
}

PyObject* name_keyword() {
  static PyObject* const keyword = interned("name");
  return keyword;
}

/// "reshape: shape", for those who read a value.
std::string reader_of(const Where& where) {
  const std::string prefix = where.prefix();
  return prefix.empty() ? "an argument" : prefix.substr(0, prefix.size() - 2);
}

/// A symbolic tensor as one with a value, where it is known while a function is traced.
py::object with_value(PyObject* value, const Where& where) {
  if (!is_tensor(value) || !tensor_of(value).is_symbolic()) [[likely]]
    return py::reinterpret_borrow<py::object>(value);
  return checked(wrap(readable(tensor_of(value), reader_of(where).c_str())));
}

bool is_one_integer(PyObject* value) {
  if (is_tensor_like(value)) return tensor_like(value).rank() == 0;
  if (is_numpy_array(value)) return py::cast<int>(py::handle(value).attr("ndim")) == 0;
  return PyIndex_Check(value);
}

bool may_have_one_axis(PyObject* value) {
  const Tensor tensor = tensor_like(value);
  return tensor.rank() == 1 || unknown_of(tensor).rank;
}

/// Whether it is a tensor of integers that are known only when the graph runs that this thread traces.
bool is_late(PyObject* value) {
  if (!is_tensor_like(value) || !is_tracing()) [[likely]]
    return false;
  const Tensor tensor = tensor_like(value);
  return tensor.is_symbolic() && (tensor.dtype() == DType::int32 || tensor.dtype() == DType::int64) &&
         !has_known_value(tensor);
}

/// What goes to an op in place of such a number.
std::optional<std::int64_t> late_integer(PyObject* value) {
  return is_late(value) ? late_number(tensor_like(value), 0) : std::nullopt;
}

std::int64_t to_integer(PyObject* given, const Where& where) {
  if (is_late(given) && is_one_integer(given))
    if (const auto late = late_integer(given)) return *late;
  const py::object held = with_value(given, where);
  PyObject* value = held.ptr();
  const py::object index =
      py::reinterpret_steal<py::object>(PyBool_Check(value) ? nullptr : PyNumber_Index(value));
  if (!index) {
    keep_symbolic_error();
    PyErr_Clear();
    refuse<TypeMismatchError>(where, short_repr(value), " is not an integer");
  }
  int overflow = 0;
  const std::int64_t number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) refuse<InvalidArgumentError>(where, short_repr(value), " does not fit in int64");
  return number;
}

/// The same of a list.
std::vector<std::int64_t> late_integers(const Tensor& tensor, const Where& where) {
  const auto number_at = [&](std::int64_t index) {
    const auto late = late_number(tensor, index);
    if (!late) readable(tensor, reader_of(where).c_str());  // throws: its trace has ended
    return late.value_or(0);
  };
  if (unknown_of(tensor)) return {number_at(-1)};
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < tensor.count(); ++i) numbers.push_back(number_at(i));
  return numbers;
}

std::vector<std::int64_t> to_integers(PyObject* value, const Where& where) {
  if (is_one_integer(value)) return {to_integer(value, where)};
  if (is_tensor_like(value) && is_integer(tensor_like(value).dtype()) && may_have_one_axis(value)) {
    if (is_late(value)) return late_integers(tensor_like(value), where);
    const Tensor given = readable(tensor_like(value), reader_of(where).c_str());
    const Tensor tensor = widened(given.on_host()).make_contiguous();  // no op for each element
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(tensor.count()));
    if (tensor.dtype() == DType::int32)
      std::copy_n(tensor.data<std::int32_t>(), tensor.count(), numbers.begin());
    else
      std::copy_n(tensor.data<std::int64_t>(), tensor.count(), numbers.begin());
    return numbers;
  }
  const py::object items = py::reinterpret_steal<py::object>(PySequence_Fast(value, ""));
  if (!items || PyUnicode_Check(value)) {
    PyErr_Clear();
    refuse<TypeMismatchError>(where, short_repr(value), " is neither an integer nor a list of integers");
  }
  std::vector<std::int64_t> numbers;
  const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.ptr());
  numbers.reserve(static_cast<std::size_t>(count));
  for (Py_ssize_t i = 0; i < count; ++i)
    numbers.push_back(to_integer(PySequence_Fast_GET_ITEM(items.ptr(), i), where));
  return numbers;
}

bool is_whole_number(PyObject* value) {
  if (is_tensor_like(value)) return is_integer(tensor_like(value).dtype());
  return PyIndex_Check(value) && !PyBool_Check(value);
}

// An integer stays one, so that an op can tell range(3) from range(3.).
Attribute to_real(PyObject* given, const Where& where) {
  if (is_late(given) && is_one_integer(given))
    if (const auto late = late_integer(given)) return *late;
  const py::object held = with_value(given, where);
  PyObject* value = held.ptr();
  if (PyBool_Check(value)) return value == Py_True;
  if (is_whole_number(value)) return to_integer(value, where);
  const double number = PyFloat_AsDouble(value);
  if (number == -1. && PyErr_Occurred()) {
    keep_symbolic_error();
    PyErr_Clear();
    refuse<TypeMismatchError>(where, short_repr(value), " is not a number");
  }
  return number;
}

std::string to_text(PyObject* value, const Where& where) {
  const char* text = PyUnicode_Check(value) ? PyUnicode_AsUTF8(value) : nullptr;
  if (!text) {
    PyErr_Clear();
    refuse<TypeMismatchError>(where, short_repr(value), " is not a string");
  }
  return text;
}

bool to_boolean(PyObject* given, const Where& where) {
  const py::object held = with_value(given, where);
  PyObject* value = held.ptr();
  const int truth = PyUnicode_Check(value) ? -1 : PyObject_IsTrue(value);
  if (truth < 0) {
    keep_symbolic_error();
    PyErr_Clear();
    refuse<TypeMismatchError>(where, short_repr(value), " is neither True nor False");
  }
  return truth == 1;
}

}  // namespace

Attributes named_attributes(const OpDef& op,
                            std::initializer_list<std::pair<std::string_view, Attribute>> given) {
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : op.attributes) values.push_back(spec.fallback);
  for (const auto& [name, value] : given) {
    const auto found = std::find_if(op.attributes.begin(), op.attributes.end(),
                                    [&](const AttributeSpec& spec) { return spec.name == name; });
    if (found == op.attributes.end())
      throw std::logic_error("op " + op.name + " has no attribute " + std::string(name));
    values[static_cast<std::size_t>(found - op.attributes.begin())] = value;
  }
  return Attributes(std::move(values));
}

const OpDef& required_op(const char* name) {
  const OpDef* op = Registry::instance().find(name);
  if (!op) fail<UnimplementedError>("the engine has no op ", name);
  return *op;
}

Attribute to_attribute(const AttributeSpec& spec, PyObject* value, const Where& where) {
  if (value == Py_None && !spec.required) return spec.fallback;
  switch (spec.kind) {
    case AttributeKind::boolean:
      return to_boolean(value, where);
    case AttributeKind::integer:
      return to_integer(value, where);
    case AttributeKind::real:
      return to_real(value, where);
    case AttributeKind::text:
      return to_text(value, where);
    case AttributeKind::dtype:
      if (const auto dtype = to_dtype(value, where)) return *dtype;
      refuse<TypeMismatchError>(where, "None is not a dtype");
    case AttributeKind::integers:
      if (is_one_integer(value)) return to_integer(value, where);  // split tells 3 from [3]
      break;
    case AttributeKind::shape:
      break;
  }
  return to_integers(value, where);
}

Signature::Signature(const OpDef& op) : op_(op) {
  is_random_ = op.has("seed") && op.has("key") && op.has("counter");
  const auto add = [this](const std::string& name, bool is_input, std::size_t index) {
    parameters_.push_back({interned(name), is_input, static_cast<int>(index), false});
  };
  const auto add_by_name = [&](const std::string& name) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i)
      if (op.inputs[i].name == name) return add(name, true, i);
    for (std::size_t i = 0; i < op.attributes.size(); ++i)
      if (op.attributes[i].name == name) return add(name, false, i);
    if (name == "name") return parameters_.push_back({interned(name), false, 0, true});
    throw std::logic_error("op " + op.name + ": python_order names " + name + ", which it does not have");
  };
  if (op.python_order.empty()) {
    for (std::size_t i = 0; i < op.inputs.size(); ++i) add(op.inputs[i].name, true, i);
    for (std::size_t i = 0; i < op.attributes.size(); ++i)
      if (!is_random_ || (op.attributes[i].name != "key" && op.attributes[i].name != "counter"))
        add(op.attributes[i].name, false, i);
  } else {
    for (const std::string& name : op.python_order) add_by_name(name);
  }
  if (parameters_.size() > max_parameters)
    throw std::logic_error("op " + op.name + " has too many parameters");
  bool optional = false;
  for (const Parameter& parameter : parameters_) {
    if (optional && is_required(parameter))
      throw std::logic_error("op " + op.name +
                             ": a required argument follows an optional one; set python_order");
    optional = !is_required(parameter);
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].changes_nothing) continue;
    const auto index = static_cast<std::size_t>(parameters_[i].index);
    const std::string& old_name =
        parameters_[i].is_input ? op.inputs[index].old_name : op.attributes[index].old_name;
    if (!old_name.empty()) aliases_.emplace_back(interned(old_name), static_cast<int>(i));
  }
  for (const std::string& hint : op.python_hints)
    aliases_.emplace_back(interned(hint), static_cast<int>(parameters_.size()));
  std::vector<Attribute> defaults;
  for (const AttributeSpec& spec : op.attributes) defaults.push_back(spec.fallback);
  if (!defaults.empty()) defaults_ = Attributes(std::move(defaults));
}

std::string Signature::text() const {
  std::string text = "(";
  for (const Parameter& parameter : parameters_) {
    text += PyUnicode_AsUTF8(parameter.name);
    if (parameter.changes_nothing) {
      text += "=None";
    } else if (!is_required(parameter)) {
      const Attribute& fallback = op_.attributes[static_cast<std::size_t>(parameter.index)].fallback;
      const auto* dtype = std::get_if<DType>(&fallback);
      text += dtype ? "='" + std::string(dtype_name(*dtype)) + "'" : "=" + to_string(fallback);
    }
    text += ", ";
  }
  if (!has_name_inside()) return text + "name=None)";
  text.resize(text.size() - 2);
  return text + ")";
}

bool Signature::has_name_inside() const {
  return std::ranges::any_of(parameters_, [](const Parameter& each) { return each.name == name_keyword(); });
}

bool Signature::is_required(const Parameter& parameter) const {
  if (parameter.changes_nothing) return false;
  return parameter.is_input || op_.attributes[static_cast<std::size_t>(parameter.index)].required;
}

int Signature::slot_of(PyObject* keyword) const {
  // Keywords in Python source are interned, so the same name is nearly always the same object.
  const auto count = static_cast<int>(parameters_.size());
  for (int i = 0; i < count; ++i)
    if (parameters_[static_cast<std::size_t>(i)].name == keyword) return i;
  if (keyword == name_keyword() || PyUnicode_Compare(keyword, name_keyword()) == 0) return count;
  for (int i = 0; i < count; ++i)
    if (PyUnicode_Compare(parameters_[static_cast<std::size_t>(i)].name, keyword) == 0) return i;
  for (const auto& [alias, slot] : aliases_)
    if (PyUnicode_Compare(alias, keyword) == 0) return slot;
  fail<TypeMismatchError>(op_.name, "() has no argument ", short_repr(keyword), "; it takes ", text());
}

void Signature::fill_slots(PyObject* const* arguments, std::size_t positional, PyObject* keyword_names,
                           PyObject** slots) const {
  const std::size_t count = parameters_.size();
  const std::size_t most = count + (has_name_inside() ? 0 : 1);
  if (positional > most)
    fail<TypeMismatchError>(op_.name, "() takes at most ", most, " arguments ", text(), ", ", positional,
                            " were given");
  std::copy(arguments, arguments + positional, slots);
  if (!keyword_names) return;
  const Py_ssize_t keywords = PyTuple_GET_SIZE(keyword_names);
  for (Py_ssize_t i = 0; i < keywords; ++i) {
    PyObject* keyword = PyTuple_GET_ITEM(keyword_names, i);
    PyObject*& slot = slots[slot_of(keyword)];
    if (slot && &slot != slots + count)
      fail<TypeMismatchError>(op_.name, "() got several values for argument ", short_repr(keyword));
    slot = arguments[positional + static_cast<std::size_t>(i)];
  }
}

void Signature::parse(PyObject* const* arguments, std::size_t positional, PyObject* keyword_names,
                      Tensors& inputs, Attributes& attributes) const {
  std::array<PyObject*, max_parameters + 1> slots{};
  fill_slots(arguments, positional, keyword_names, slots.data());

  std::array<PyObject*, max_parameters> values{};
  std::vector<Attribute> given;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    if (parameter.changes_nothing) continue;
    const auto index = static_cast<std::size_t>(parameter.index);
    if (parameter.is_input) {
      if (!slots[i])
        fail<TypeMismatchError>(op_.name, "() is missing argument ", short_repr(parameter.name),
                                "; it takes ", text());
      values[index] = slots[i];
      continue;
    }
    const AttributeSpec& spec = op_.attributes[index];
    if (!slots[i]) {
      if (spec.required)
        fail<TypeMismatchError>(op_.name, "() is missing argument ", short_repr(parameter.name),
                                "; it takes ", text());
      continue;
    }
    if (given.empty())
      for (const AttributeSpec& each : op_.attributes) given.push_back(each.fallback);
    given[index] = to_attribute(spec, slots[i], {op_.name.c_str(), spec.name.c_str()});
  }
  convert_inputs(op_, values.data(), inputs);
  if (is_random_) resolve_random(op_, given, inputs);
  attributes = given.empty() ? defaults_ : Attributes(std::move(given));
}

}  // namespace tapedeck::python
