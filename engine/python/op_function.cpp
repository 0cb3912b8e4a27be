#include "engine/python/op_function.h"

#include <pybind11/stl.h>
#include <structmember.h>

#include <memory>

#include "engine/ops/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/convert.h"
#include "engine/python/errors.h"
#include "engine/python/tensor_object.h"

namespace tapedeck::python {

namespace {

struct OpFunctionObject {
  PyObject_HEAD vectorcallfunc vectorcall;
  const Signature* signature;  ///< lives as long as the process, as the registry does
  PyObject* name;
  PyObject* tuple_class;  ///< the named tuple of the results; nullptr: a plain tuple, a list, or one tensor
};
PyTypeObject op_function_type = blank_type();

const OpDef& op_of(PyObject* self) {
  return reinterpret_cast<OpFunctionObject*>(self)->signature->op();
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
PyObject* wrap_results(const OpFunctionObject& function, Tensors& outputs) {
  const OpDef& op = function.signature->op();
  if (op.returns_list) return wrap_list(outputs);
  if (outputs.size() == 1) return wrap(std::move(outputs[0]));
  const py::object tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    PyObject* item = wrap(std::move(outputs[i]));
    if (!item) throw ForeignException{};
    PyTuple_SET_ITEM(tuple.ptr(), static_cast<Py_ssize_t>(i), item);
  }
  if (!function.tuple_class) return py::object(tuple).release().ptr();
  const py::object arguments = checked(PyTuple_Pack(1, tuple.ptr()));
  // tuple.__new__(class, values), as the class's own _make does.
  return PyTuple_Type.tp_new(reinterpret_cast<PyTypeObject*>(function.tuple_class), arguments.ptr(), nullptr);
}

// What stands for tensors that are not there yet (the functional way of building models), and who calls ops
// on it. Guarded by Python's lock.
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

PyObject* call_on_tensors(PyObject* self, PyObject* const* arguments, std::size_t flagged_count,
                          PyObject* keyword_names) {
  return guarded([&]() -> PyObject* {
    const OpFunctionObject& function = *reinterpret_cast<OpFunctionObject*>(self);
    const Signature& signature = *function.signature;
    Tensors inputs;
    Attributes attributes;
    signature.parse(arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flagged_count)), keyword_names,
                    inputs, attributes);
    Tensors outputs = run_op(signature.op(), inputs, attributes);
    return wrap_results(function, outputs);
  });
}

PyObject* call(PyObject* self, PyObject* const* arguments, std::size_t flagged_count,
               PyObject* keyword_names) {
  PyObject* result = call_on_tensors(self, arguments, flagged_count, keyword_names);
  if (!result && symbolic_type) [[unlikely]]
    return call_symbolic(self, arguments, static_cast<std::size_t>(PyVectorcall_NARGS(flagged_count)),
                         keyword_names);
  return result;
}

PyObject* get_doc(PyObject* self, void*) {
  return PyUnicode_FromString(op_of(self).doc.c_str());
}
PyObject* get_name(PyObject* self, void*) {
  PyObject* name = reinterpret_cast<OpFunctionObject*>(self)->name;
  Py_INCREF(name);
  return name;
}
PyObject* get_module(PyObject*, void*) {
  return PyUnicode_FromString("tapedeck");
}
PyObject* get_text_signature(PyObject* self, void*) {
  return PyUnicode_FromString(reinterpret_cast<OpFunctionObject*>(self)->signature->text().c_str());
}
PyObject* get_op_name(PyObject* self, void*) {
  return PyUnicode_FromString(op_of(self).name.c_str());
}

py::object to_python(const Attribute& attribute) {
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

const char* kind_name(AttributeKind kind) {
  constexpr const char* names[] = {"boolean", "integer", "real", "text", "dtype", "integers", "shape"};
  return names[static_cast<std::size_t>(kind)];
}

PyObject* get_parameters(PyObject* self, void*) {
  return guarded([&] {
    const Signature& signature = *reinterpret_cast<OpFunctionObject*>(self)->signature;
    py::list list;
    for (const Parameter& parameter : signature.parameters()) {
      const auto index = static_cast<std::size_t>(parameter.index);
      const py::object ellipsis = py::ellipsis();
      if (parameter.is_input) {
        const char* kind = signature.op().inputs[index].variadic ? "tensors" : "tensor";
        list.append(py::make_tuple(py::handle(parameter.name), kind, ellipsis));
      } else {
        const AttributeSpec& spec = signature.op().attributes[index];
        list.append(py::make_tuple(py::handle(parameter.name), kind_name(spec.kind),
                                   spec.required ? ellipsis : to_python(spec.fallback)));
      }
    }
    return list.release().ptr();
  });
}

PyObject* get_signature(PyObject* self, void*) {
  return guarded([&] {
    const py::object parameters = checked(get_parameters(self, nullptr));
    return py::module_::import("tapedeck.signatures").attr("signature_of")(parameters).release().ptr();
  });
}

PyObject* get_returns_list(PyObject* self, void*) {
  return PyBool_FromLong(op_of(self).returns_list);
}
PyObject* get_result_fields(PyObject* self, void*) {
  return guarded([&] { return py::cast(op_of(self).results.fields).release().ptr(); });
}
PyObject* get_tuple_class(PyObject* self, void*) {
  PyObject* tuple_class = reinterpret_cast<OpFunctionObject*>(self)->tuple_class;
  PyObject* result = tuple_class ? tuple_class : Py_None;
  Py_INCREF(result);
  return result;
}
PyObject* represent(PyObject* self) {
  return PyUnicode_FromFormat("<op %s>", op_of(self).name.c_str());
}

PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const py::object finder = py::module_::import("tapedeck.namespaces").attr("op_function");
    return py::make_tuple(finder, py::make_tuple(op_of(self).name)).release().ptr();
  });
}

PyGetSetDef properties[] = {
    {"__doc__", get_doc, nullptr, nullptr, nullptr},
    {"__name__", get_name, nullptr, nullptr, nullptr},
    {"__qualname__", get_name, nullptr, nullptr, nullptr},
    {"__module__", get_module, nullptr, nullptr, nullptr},
    {"__text_signature__", get_text_signature, nullptr, nullptr, nullptr},
    {"op_name", get_op_name, nullptr, "The op's name in records and errors.", nullptr},
    {"parameters", get_parameters, nullptr,
     "(name, kind, default) of each argument; default ... where it is required.", nullptr},
    {"returns_list", get_returns_list, nullptr, "True where the result is a list of tensors.", nullptr},
    {"result_fields", get_result_fields, nullptr, "The names of the results, where there are several.",
     nullptr},
    {"tuple_class", get_tuple_class, nullptr,
     "The class of the results where they are a named tuple, or None.", nullptr},
    {"__signature__", get_signature, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr}};
PyMethodDef methods[] = {{"__reduce__", reduce, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};

void ready_type() {
  PyTypeObject& type = op_function_type;
  type.tp_name = "tapedeck.op_function";
  type.tp_basicsize = sizeof(OpFunctionObject);
  type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL;
  type.tp_vectorcall_offset = offsetof(OpFunctionObject, vectorcall);
  type.tp_call = PyVectorcall_Call;
  type.tp_repr = represent;
  type.tp_getset = properties;
  type.tp_methods = methods;
  type.tp_dealloc = [](PyObject* self) {
    Py_DECREF(reinterpret_cast<OpFunctionObject*>(self)->name);
    Py_XDECREF(reinterpret_cast<OpFunctionObject*>(self)->tuple_class);
    PyObject_Free(self);
  };
  checked(PyType_Ready(&type));
}

/// The class of the op's results, which stands in the module so that pickle finds it.
py::object make_tuple_class(py::module_& module, const ResultForm& results) {
  if (results.tuple_name.empty()) return {};
  const py::object made = py::module_::import("collections")
                              .attr("namedtuple")(results.tuple_name, results.fields,
                                                  py::arg("module") = module.attr("__name__"));
  module.attr(results.tuple_name.c_str()) = made;
  return made;
}

py::object make_function(const Signature& signature, const std::string& python_name, py::object tuple_class) {
  auto* object = PyObject_New(OpFunctionObject, &op_function_type);
  if (!object) throw py::error_already_set();
  object->vectorcall = call;
  object->signature = &signature;
  object->name = PyUnicode_InternFromString(python_name.c_str());
  object->tuple_class = tuple_class.release().ptr();
  return py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(object));
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
    for (const std::string& name : op.python_names) by_python_name[py::str(name)] = function;
    by_op_name[py::str(op.name)] = function;
  }
  module.attr("op_functions") = by_python_name;
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

bool is_symbolic(PyObject* value) {
  return symbolic_type && PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(symbolic_type));
}

}  // namespace tapedeck::python
