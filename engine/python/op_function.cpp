#include "engine/python/op_function.h"

#include <pybind11/stl.h>

#include <memory>

#include "engine/ops/core/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {

namespace {

/// What Python's built-in function of an op has as `__self__`. It counts as a module, so that the function is
/// a function of a module as all built-in ones are, to pickle, help() and profilers; and its layout begins
/// with a module's.
struct OpRow {
  const Signature* signature;  ///< lives as long as the process, as the registry does
  PyObject* tuple_class;  ///< the named tuple of the results; nullptr: a plain tuple, a list, or one tensor
  PyMethodDef method;
  std::string name, doc;  ///< what the method points to
};
PyTypeObject op_type = blank_type();
Py_ssize_t row_offset = 0;

OpRow*& row_of(PyObject* self) {
  return *reinterpret_cast<OpRow**>(reinterpret_cast<char*>(self) + row_offset);
}

const OpDef& op_of(PyObject* self) {
  return row_of(self)->signature->op();
}

PyObject* wrap_list(Tensors& outputs) {
  const py::object list = checked(PyList_New(static_cast<Py_ssize_t>(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PyObject* item = wrap(std::move(outputs[i]));
    if (!item) throw ForeignException{};
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), item);
  }
  return py::object(list).release().ptr();
}

/// As ResultForm says.
PyObject* wrap_results(const OpRow& row, Tensors& outputs) {
  const OpDef& op = row.signature->op();
  if (op.returns_list) return wrap_list(outputs);
  if (outputs.size() == 1) return wrap(std::move(outputs[0]));
  const py::object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PyObject* item = wrap(std::move(outputs[i]));
    if (!item) throw ForeignException{};
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), item);
  }
  if (!row.tuple_class) return py::object(tuple).release().ptr();
  const py::object arguments = checked(PyTuple_Pack(1, tuple.ptr()));
  // tuple.__new__(class, values), as the class's own _make does.
  return PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(row.tuple_class), arguments.ptr(), nullptr);
}

// The class of symbolic tensors (the functional way of building models), and the function that calls ops on
// them. Guarded by Python's lock.
PyObject* symbolic_type = nullptr;
PyObject* symbolic_call = nullptr;

bool holds_symbolic(PyObject* value, int depth) {
  if (PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(symbolic_type))) return true;
  if (depth == 0 || !(PyList_Check(value) || PyTuple_Check(value))) return false;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); ++i)
    if (holds_symbolic(PySequence_Fast_GET_ITEM(value, i), depth - 1)) return true;
  return false;
}

/// Asked only where an op refused its arguments, so that it costs other calls nothing.
PyObject* call_symbolic(PyObject* self, PyObject* const* arguments, std::size_t count,
                        PyObject* keyword_names) {
  const auto named = static_cast<std::size_t>(keyword_names ? PyTuple_GET_SIZE(keyword_names) : 0);
  bool any = false;
  for (std::size_t i = 0; i < count + named; ++i) any = any || holds_symbolic(arguments[i], 2);
  if (!any) return nullptr;
  PyErr_Clear();
  return guarded([&]() -> PyObject* {
    const py::object positional = checked(PyTuple_New(static_cast<Py_ssize_t>(count)));
    for (std::size_t i = 0; i < count; ++i) {
      Py_INCREF(arguments[i]);
      PyTuple_SET_ITEM(positional.ptr(), static_cast<Py_ssize_t>(i), arguments[i]);
    }
    py::dict by_name;
    for (std::size_t i = 0; i < named; ++i)
      by_name[py::handle(PyTuple_GET_ITEM(keyword_names, static_cast<Py_ssize_t>(i)))] =
          py::handle(arguments[count + i]);
    return PyObject_CallFunctionObjArgs(symbolic_call, self, positional.ptr(), by_name.ptr(), nullptr);
  });
}

PyObject* call_on_tensors(const OpRow& row, PyObject* const* arguments, std::size_t count,
                          PyObject* keyword_names) {
  return guarded([&]() -> PyObject* {
    const Signature& signature = *row.signature;
    Tensors inputs;
    Attributes attributes;
    try {
      signature.parse(arguments, count, keyword_names, inputs, attributes);
    } catch (Error& error) {
      if (error.op_name.empty()) error.op_name = signature.op().name;
      throw;
    }
    Tensors outputs = run_op(signature.op(), inputs, attributes);
    return wrap_results(row, outputs);
  });
}

PyObject* call_op(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keyword_names) {
  PyObject* result =
      call_on_tensors(*row_of(self), arguments, static_cast<std::size_t>(count), keyword_names);
  if (!result && symbolic_type) [[unlikely]]
    return call_symbolic(op_function_of(op_of(self)), arguments, static_cast<std::size_t>(count),
                         keyword_names);
  return result;
}

PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(row_of(self)->name.c_str());
}
PyObject* get_op_name(PyObject* self, void*) {
  return PyUnicode_FromString(op_of(self).name.c_str());
}

const char* kind_name(AttributeKind kind) {
  constexpr const char* names[] = {"boolean", "integer", "real", "text", "dtype", "integers", "shape"};
  return names[static_cast<std::size_t>(kind)];
}

PyObject* get_parameters(PyObject* self, void*) {
  return guarded([&] {
    const Signature& signature = *row_of(self)->signature;
    py::list list;
    for (const Parameter& parameter : signature.parameters()) {
      const auto index = static_cast<std::size_t>(parameter.index);
      const py::object ellipsis = py::ellipsis();
      if (parameter.changes_nothing) {
        list.append(py::make_tuple(py::handle(parameter.name), "any", py::none()));
      } else if (parameter.is_input) {
        const char* kind = signature.op().inputs[index].variadic ? "tensors" : "tensor";
        list.append(py::make_tuple(py::handle(parameter.name), kind, ellipsis));
      } else {
        const AttributeSpec& spec = signature.op().attributes[index];
        list.append(py::make_tuple(py::handle(parameter.name), kind_name(spec.kind),
                                   spec.required ? ellipsis : attribute_object(spec.fallback)));
      }
    }
    return list.release().ptr();
  });
}

PyObject* get_returns_list(PyObject* self, void*) {
  return PyBool_FromLong(op_of(self).returns_list);
}
PyObject* get_result_fields(PyObject* self, void*) {
  return guarded([&] { return py::cast(op_of(self).results.fields).release().ptr(); });
}
PyObject* get_alone_without(PyObject* self, void*) {
  return PyUnicode_FromString(op_of(self).results.alone_without.c_str());
}
PyObject* get_tuple_class(PyObject* self, void*) {
  PyObject* tuple_class = row_of(self)->tuple_class;
  PyObject* result = tuple_class ? tuple_class : Py_None;
  Py_INCREF(result);
  return result;
}
PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<op %s>", op_of(self).name.c_str());
}

PyGetSetDef properties[] = {
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"op_name", get_op_name, nullptr, "The op's name in records and errors.", nullptr},
    {"parameters", get_parameters, nullptr,
     "(name, kind, default) of each argument; default ... where it is required.", nullptr},
    {"returns_list", get_returns_list, nullptr, "True where the result is a list of tensors.", nullptr},
    {"result_fields", get_result_fields, nullptr, "The names of the results, where there are several.",
     nullptr},
    {"alone_without", get_alone_without, nullptr,
     "The argument without which the first result comes alone; \"\" where there is none.", nullptr},
    {"tuple_class", get_tuple_class, nullptr,
     "The class of the results where they are a named tuple, or None.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};

void ready_type() {
  row_offset = PyModule_Type.tp_basicsize;
  PyTypeObject& type = op_type;
  type.tp_name = "tapedeck.Op";
  type.tp_doc = "The registry's row of an op: `__self__` of its function.";
  type.tp_base = &PyModule_Type;
  type.tp_basicsize = row_offset + static_cast<Py_ssize_t>(sizeof(OpRow*));
  type.tp_flags = Py_TPFLAGS_DEFAULT;
  type.tp_new = [](PyTypeObject*, PyObject*, PyObject*) -> PyObject* {
    PyErr_SetString(PyExc_TypeError, "the registry alone makes ops");
    return nullptr;
  };
  type.tp_repr = represent;
  type.tp_getset = properties;
  checked(PyType_Ready(&type));
}

/// The class of the op's results, which is an attribute of the module so that pickle finds it.
py::object make_tuple_class(py::module_& module, const ResultForm& results) {
  if (results.tuple_name.empty()) return {};
  const py::object made = py::module_::import("collections")
                              .attr("namedtuple")(results.tuple_name, results.fields,
                                                  py::arg("module") = module.attr("__name__"));
  module.attr(results.tuple_name.c_str()) = made;
  return made;
}

std::vector<PyObject*>& functions() {
  static auto* const all =
      new std::vector<PyObject*>;  // by the op's index; Python may end after the program's statics
  return *all;
}

/// A built-in function, of the very type whose calls the interpreter tells profilers of.
py::object make_function(const Signature& signature, const std::string& python_name, py::object tuple_class) {
  const py::object self = checked(PyModule_Type.tp_new(&op_type, py::tuple().ptr(), nullptr));
  auto* row = new OpRow{&signature, tuple_class.release().ptr(), {}, python_name, {}};  // as the registry's
  row->doc = python_name + signature.text() + "\n--\n\n" + signature.op().doc;
  row->method = {row->name.c_str(), reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(call_op)),
                 METH_FASTCALL | METH_KEYWORDS, row->doc.c_str()};
  row_of(self.ptr()) = row;
  return checked(PyCFunction_NewEx(&row->method, self.ptr(), py::str("tapedeck").ptr()));
}

}  // namespace

void bind_op_functions(py::module_& module) {
  ready_type();
  static std::vector<std::unique_ptr<Signature>> signatures;
  py::dict by_python_name, by_op_name;
  for (int i = 0; i < static_cast<int>(Registry::instance().size()); ++i) {
    const OpDef& op = Registry::instance().at(i);
    signatures.push_back(std::make_unique<Signature>(op));
    const std::string& first = op.python_names.empty() ? op.name : op.python_names.front();
    const py::object function = make_function(*signatures.back(), first.substr(first.rfind('.') + 1),
                                              make_tuple_class(module, op.results));
    functions().push_back(py::object(function).release().ptr());
    for (const std::string& name : op.python_names) by_python_name[py::str(name)] = function;
    by_op_name[py::str(op.name)] = function;
  }
  module.attr("op_functions") = by_python_name;
  module.attr("_functions_by_op") = by_op_name;
  module.attr("_Op") = py::handle(reinterpret_cast<PyObject*>(&op_type));
  module.def(
      "op_function", [by_op_name](const std::string& name) { return py::object(by_op_name[py::str(name)]); },
      py::arg("name"), "The Python function of the op of that name.");
  module.def(
      "_set_symbolic",
      [](py::object type, py::object function) {
        symbolic_type = type.release().ptr();  // once for a process
        symbolic_call = function.release().ptr();
      },
      py::arg("type"), py::arg("function"),
      "Ops that are given objects of this class call function(op function, arguments, keyword arguments).");
}

py::object attribute_object(const Attribute& attribute) {
  struct Visitor {
    py::object operator()(std::monostate) const { return py::none(); }
    py::object operator()(bool value) const { return py::bool_(value); }
    py::object operator()(std::int64_t value) const { return py::int_(value); }
    py::object operator()(double value) const { return py::float_(value); }
    py::object operator()(const std::string& value) const { return py::str(value); }
    py::object operator()(DType value) const { return checked(dtype_object(value)); }
    py::object operator()(const std::vector<std::int64_t>& values) const {
      py::tuple tuple(values.size());
      for (std::size_t i = 0; i < values.size(); ++i) tuple[i] = py::int_(values[i]);
      return tuple;
    }
  };
  return std::visit(Visitor{}, attribute);
}

PyObject* op_function_of(const OpDef& op) {
  return functions().at(static_cast<std::size_t>(op.index));
}

bool is_symbolic(PyObject* value) {
  return symbolic_type && PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(symbolic_type));
}

}  // namespace tapedeck::python
