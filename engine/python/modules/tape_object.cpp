#include "engine/python/modules/tape_object.h"

#include <optional>

#include "engine/python/errors.h"
#include "engine/python/recursion_guard.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tape/forward.h"
#include "engine/tape/tape.h"

namespace tapedeck::python {
namespace {

PyTypeObject tape_type = blank_type();

struct TapeObject {
  PyObject_HEAD std::optional<Tape> tape;  // empty until __init__ has run
  PyObject* weak_references;
  bool persistent;
};

TapeObject& object_of(PyObject* self) {
  return *reinterpret_cast<TapeObject*>(self);
}
}  // namespace

Tape& tape_of(PyObject* self) {
  std::optional<Tape>& tape = object_of(self).tape;
  if (!tape) fail<FailedPreconditionError>("GradientTape: __init__ of the base class was not called");
  return *tape;
}

py::object list_of(std::span<const Tensor> tensors) {
  py::object list = checked(PyList_New(static_cast<Py_ssize_t>(tensors.size())));
  for (std::size_t i = 0; i < tensors.size(); ++i)
    PyList_SET_ITEM(list.ptr(), static_cast<Py_ssize_t>(i), checked(wrap(tensors[i])).release().ptr());
  return list;
}

namespace {

/// An IndexedSlices of the variable's rows.
py::object slices_of(const Tape::RowGradient& rows, const Variable& variable) {
  static PyObject* const kind =
      py::object(py::module_::import("tapedeck._core.indexed_slices").attr("IndexedSlices")).release().ptr();
  const Shape& shape = variable.shape();
  const std::vector<std::int64_t> extents(shape.begin(), shape.end());
  const Tensor whole = Tensor::from_values<std::int64_t>(extents, {shape.rank()});
  announce_leaf(whole);
  const py::object values = checked(wrap(rows.values)), indices = checked(wrap(rows.indices)),
                   dense_shape = checked(wrap(whole));
  return checked(PyObject_CallFunctionObjArgs(kind, values.ptr(), indices.ptr(), dense_shape.ptr(), nullptr));
}

/// A gradient as Python gets it: an IndexedSlices where only rows have one.
py::object gradient_object(const Tensor& gradient, const Tape::RowGradient& rows,
                           const Tape::Source& source) {
  return rows.values ? slices_of(rows, *source.variable) : checked(wrap(gradient));
}

py::object gradient_list(std::span<const Tensor> gradients, const std::vector<Tape::RowGradient>& rows,
                         std::span<const Tape::Source> sources) {
  py::list list(gradients.size());
  for (std::size_t i = 0; i < gradients.size(); ++i)
    list[i] = gradient_object(gradients[i], rows[i], sources[i]);
  return list;
}

}  // namespace

Tensors PythonVjp::operator()(std::span<const Tensor> cotangents) const {
  const py::object gradients = checked(PyObject_CallOneArg(function->get(), list_of(cotangents).ptr()));
  Tensors tensors;
  for (const py::handle gradient : py::sequence(gradients))
    tensors.push_back(gradient.is_none() ? Tensor()
                                         : to_tensor(gradient.ptr(), {}, {name.c_str(), "gradient"}));
  return tensors;
}

namespace {

PyObject* none() {
  Py_RETURN_NONE;
}

PyObject* construct(PyTypeObject* type, PyObject*, PyObject*) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  new (&object_of(self).tape) std::optional<Tape>;
  object_of(self).weak_references = nullptr;
  object_of(self).persistent = false;
  return self;
}

int initialise(PyObject* self, PyObject* args, PyObject* keywords) {
  int persistent = 0, watches = 1;
  if (PyTuple_GET_SIZE(args) > 0 || keywords) {
    static const char* names[] = {"persistent", "watch_accessed_variables", nullptr};
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "|pp:GradientTape", const_cast<char**>(names),
                                     &persistent, &watches))
      return -1;
  }
  return guarded_or(-1, [&] {
    object_of(self).persistent = persistent != 0;
    object_of(self).tape.emplace(persistent != 0, watches != 0);
    return 0;
  });
}

/// A VJP on a tape may hold, by what it captured, the tape: Python's collector sees and ends such circles.
int traverse(PyObject* self, visitproc visit, void* arg) {
  int result = 0;
  if (const auto& tape = object_of(self).tape)
    tape->visit_own_vjps([&](const CustomVjp& vjp) {
      const auto* held = vjp.target<PythonVjp>();
      if (result == 0 && held && held->function.use_count() == 1) result = visit(held->function->get(), arg);
    });
  return result;
}

int clear(PyObject* self) {
  if (auto& tape = object_of(self).tape) tape->reset();  // nothing references it, so it is not played
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  if (object_of(self).weak_references) PyObject_ClearWeakRefs(self);
  object_of(self).tape.~optional();
  Py_TYPE(self)->tp_free(self);
}

template <void (Tape::*method)()>
PyObject* run(PyObject* self, PyObject*) {
  return guarded([&] {
    (tape_of(self).*method)();
    return none();
  });
}

PyObject* active(PyObject* self, PyObject*) {
  return guarded([&] { return PyBool_FromLong(tape_of(self).active()); });
}
PyObject* enter(PyObject* self, PyObject*) {
  return guarded([&] {
    tape_of(self).start();
    Py_INCREF(self);
    return self;
  });
}
PyObject* leave(PyObject* self, PyObject* const*, Py_ssize_t) {
  return guarded([&] {
    Tape& tape = tape_of(self);
    if (tape.active()) tape.stop();
    return none();
  });
}
/// As in TensorFlow, values that can have no gradient are ignored.
void warn_of(DType dtype) {
  if (has_gradients(dtype)) return;
  const std::string text = "watch: what is of dtype " + std::string(dtype_name(dtype)) +
                           " has no gradients; they need a floating-point dtype";
  checked(PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1));
}

/// Lists, tuples and dicts: what tapedeck.nest goes into.
void watch_all(Tape& tape, PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object) || PyDict_Check(object)) {
    const RecursionGuard guard;
    const py::object items =
        PyDict_Check(object) ? checked(PyDict_Values(object)) : py::reinterpret_borrow<py::object>(object);
    for (const py::handle item : items) watch_all(tape, item.ptr());
    return;
  }
  if (!is_tensor_like(object))
    fail<TypeMismatchError>("watch: ", short_repr(object), " is neither a tensor nor a variable");
  warn_of(is_tensor(object) ? tensor_of(object).dtype() : variable_of(object).dtype());
  is_tensor(object) ? tape.watch(tensor_of(object)) : tape.watch(variable_of(object));
}

PyObject* watch(PyObject* self, PyObject* tensor) {
  return guarded([&] {
    watch_all(tape_of(self), tensor);
    return none();
  });
}

/// None is an undefined tensor.
Tensors cotangents_of(const py::sequence& objects, std::span<const Tensor> targets) {
  if (objects.size() != targets.size())
    fail<InvalidArgumentError>("gradient: ", objects.size(), " output_gradients for ", targets.size(),
                               " targets");
  Tensors tensors;
  std::size_t i = 0;
  for (const py::handle object : objects) {
    const Where where{"gradient", "output_gradients"};
    tensors.push_back(object.is_none() ? Tensor() : to_tensor(object.ptr(), targets[i].dtype(), where));
    ++i;
  }
  return tensors;
}

Tape::Source source_of(PyObject* object) {
  if (is_variable(object)) return {{}, variable_of(object)};
  if (is_tensor(object)) return {tensor_of(object), {}};
  fail<TypeMismatchError>("gradient: sources: ", short_repr(object), " is neither a tensor nor a variable");
}

std::vector<Tape::Source> sources_of(PyObject* objects) {
  std::vector<Tape::Source> sources;
  for (const py::handle object : py::reinterpret_borrow<py::object>(objects))
    sources.push_back(source_of(object.ptr()));
  return sources;
}

/// _gradients(targets, sources, output_gradients, zero_unconnected, rows): lists in, a list out; rows: of
/// IndexedSlices for variables of which only rows were gathered.
PyObject* gradients(PyObject* self, PyObject* args) {
  PyObject *target_objects = nullptr, *source_objects = nullptr, *output_gradients = Py_None;
  int zero = 0, as_rows = 0;
  if (!PyArg_ParseTuple(args, "OO|Opp:_gradients", &target_objects, &source_objects, &output_gradients, &zero,
                        &as_rows))
    return nullptr;
  return guarded([&] {
    Tensors targets;
    for (const py::handle object : py::reinterpret_borrow<py::object>(target_objects))
      targets.push_back(is_variable(object.ptr()) ? tape_of(self).as_target(variable_of(object.ptr()))
                                                  : to_tensor(object.ptr(), {}, {"gradient", "target"}));
    Tensors cotangents;
    if (output_gradients != Py_None)
      cotangents = cotangents_of(py::reinterpret_borrow<py::sequence>(output_gradients), targets);
    const std::vector<Tape::Source> sources = sources_of(source_objects);
    const auto unconnected = zero ? Unconnected::zero : Unconnected::none;
    if (as_rows) {
      std::vector<Tape::RowGradient> rows;
      const Tensors found = tape_of(self).gradient(targets, sources, cotangents, unconnected, rows);
      return gradient_list(found, rows, sources).release().ptr();
    }
    return list_of(tape_of(self).gradient(targets, std::span<const Tape::Source>(sources), cotangents,
                                          unconnected))
        .release()
        .ptr();
  });
}

/// _forward_product(target, primals, tangents): None where the target does not depend on the primals.
PyObject* forward_product_of(PyObject* self, PyObject* args) {
  PyObject *target = nullptr, *primals = nullptr, *tangents = nullptr;
  if (!PyArg_ParseTuple(args, "OOO:_forward_product", &target, &primals, &tangents)) return nullptr;
  return guarded([&] {
    Tensors directions;
    for (const py::handle object : py::reinterpret_borrow<py::object>(tangents))
      directions.push_back(required_tensor(object.ptr(), "jvp: tangents"));
    return wrap(forward_product(tape_of(self), required_tensor(target, "jvp: target"), sources_of(primals),
                                directions));
  });
}

/// The value of a target, which may be a variable.
PyObject* target_value(PyObject* self, PyObject* target) {
  return guarded([&] {
    return wrap(is_variable(target) ? tape_of(self).as_target(variable_of(target))
                                    : to_tensor(target, {}, {"jacobian", "target"}));
  });
}

bool is_plain_list(PyObject* object) {
  if (!PyList_CheckExact(object)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(object); ++i)
    if (!is_tensor_like(PyList_GET_ITEM(object, i))) return false;
  return true;
}

/// What nearly every training step asks for: one target, and one source or a list of them.
PyObject* gradient_of_one(PyObject* self, PyObject* target_object, PyObject* source_object) {
  return guarded([&]() -> PyObject* {
    Tape& tape = tape_of(self);
    if (!object_of(self).persistent && tape.active()) tape.stop();
    const Tensor target = tensor_of(target_object);
    boost::container::small_vector<Tape::Source, 8> sources;
    const bool one = is_tensor_like(source_object);
    if (one)
      sources.push_back(source_of(source_object));
    else
      for (Py_ssize_t i = 0; i < PyList_GET_SIZE(source_object); ++i)
        sources.push_back(source_of(PyList_GET_ITEM(source_object, i)));
    std::vector<Tape::RowGradient> rows;
    const std::span<const Tape::Source> given{sources.data(), sources.size()};
    const Tensors found = tape.gradient({&target, 1}, given, {}, Unconnected::none, rows);
    return one ? gradient_object(found[0], rows[0], sources[0]).release().ptr()
               : gradient_list(found, rows, given).release().ptr();
  });
}

PyObject* gradient(PyObject* self, PyObject* const* args, Py_ssize_t count, PyObject* keywords) {
  if (count == 2 && !keywords && is_tensor(args[0]) && (is_tensor_like(args[1]) || is_plain_list(args[1])))
    return gradient_of_one(self, args[0], args[1]);
  static PyObject* const name = PyUnicode_InternFromString("_gradient_of_structures");
  boost::container::small_vector<PyObject*, 8> arguments = {self};
  arguments.insert(arguments.end(), args, args + count + (keywords ? PyTuple_GET_SIZE(keywords) : 0));
  return PyObject_VectorcallMethod(name, arguments.data(), static_cast<std::size_t>(count + 1), keywords);
}

PyObject* watched_variables(PyObject* self, PyObject*) {
  return guarded([&] {
    const std::vector<Variable> variables = tape_of(self).watched_variables();
    py::tuple tuple(variables.size());
    for (std::size_t i = 0; i < variables.size(); ++i) tuple[i] = checked(wrap(variables[i]));
    return tuple.release().ptr();
  });
}

PyObject* identifier(PyObject* self, void*) {
  return guarded([&] { return PyLong_FromUnsignedLongLong(tape_of(self).id()); });
}

PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, nullptr},
    {"__exit__", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(leave)), METH_FASTCALL, nullptr},
    {"watch", watch, METH_O,
     "watch($self, tensor, /)\n--\n\nRecords what becomes of this tensor, or of every tensor and variable of "
     "a "
     "nested structure.\nReturns: None."},
    {"gradient", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gradient)),
     METH_FASTCALL | METH_KEYWORDS,
     "gradient($self, /, target, sources, output_gradients=None, unconnected_gradients='none')\n--\n\n"
     "The gradient of the sum of target with respect to sources, in the form of sources.\n\n"
     "target: a tensor, a variable, or a nested structure of them. output_gradients: weights of the targets' "
     "elements, "
     "in\n"
     "the form of target; ones where None. A source that the target does not depend on gets None, or zeros "
     "with\n"
     "unconnected_gradients=\"zero\". RuntimeError at the second call of a tape that is not persistent."},
    {"reset", run<&Tape::reset>, METH_NOARGS,
     "reset($self, /)\n--\n\nForgets everything recorded so far, watched tensors too.\nReturns: None."},
    {"watched_variables", watched_variables, METH_NOARGS,
     "watched_variables($self, /)\n--\n\nThe variables that were read or watched, in the order of their "
     "first use.\nReturns: tuple[Variable, ...]."},
    {"_start", run<&Tape::start>, METH_NOARGS, nullptr},
    {"_stop", run<&Tape::stop>, METH_NOARGS, nullptr},
    {"_active", active, METH_NOARGS, nullptr},
    {"_gradients", gradients, METH_VARARGS, nullptr},
    {"_forward_product", forward_product_of, METH_VARARGS, nullptr},
    {"_target_value", target_value, METH_O, nullptr},
    {"_begin_many", run<&Tape::begin_many>, METH_NOARGS, nullptr},
    {"_end_many", run<&Tape::end_many>, METH_NOARGS, nullptr},
    {nullptr, nullptr, 0, nullptr},
};
PyObject* persistent(PyObject* self, void*) {
  return PyBool_FromLong(object_of(self).persistent);
}
PyGetSetDef properties[] = {
    {"_persistent", persistent, nullptr, nullptr, nullptr},
    {"_id", identifier, nullptr, nullptr, nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

void bind_tape_type(py::module_& module) {
  tape_type.tp_name = "tapedeck._engine.Tape";
  tape_type.tp_doc = PyDoc_STR(
      "Tape(persistent=False, watch_accessed_variables=True)\n--\n\n"
      "One gradient tape of the engine; tf.GradientTape is made of it.");
  tape_type.tp_basicsize = sizeof(TapeObject);
  tape_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  tape_type.tp_traverse = traverse;
  tape_type.tp_clear = clear;
  tape_type.tp_new = construct;
  tape_type.tp_init = initialise;
  tape_type.tp_dealloc = deallocate;
  tape_type.tp_weaklistoffset = offsetof(TapeObject, weak_references);
  tape_type.tp_methods = methods;
  tape_type.tp_getset = properties;
  checked(PyType_Ready(&tape_type));
  module.add_object("Tape", reinterpret_cast<PyObject*>(&tape_type));
}

}  // namespace tapedeck::python
