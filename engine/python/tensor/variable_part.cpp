// variable[…]: a tensor that can also be assigned to, as TensorFlow's slices of variables.
#include <algorithm>
#include <memory>

#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/slice_spec.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tape/tape.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::python {

PyTypeObject variable_part_type = blank_type();

namespace {

/// Begins as every tensor object does, so that whatever takes a tensor takes it.
struct VariablePartObject {
  TensorObject base;
  Variable variable;
  std::unique_ptr<const SliceSpec> spec;
};

VariablePartObject& part_of(PyObject* self) {
  return *reinterpret_cast<VariablePartObject*>(self);
}

void deallocate(PyObject* self) {
  VariablePartObject& part = part_of(self);
  if (part.base.weak_references) PyObject_ClearWeakRefs(self);
  part.base.tensor.~Tensor();
  part.variable.~Variable();
  std::destroy_at(&part.spec);
  PyObject_Free(self);
}

/// The value, repeated where it is smaller than the part.
Tensor fitted(const Tensor& value, const Shape& shape, const std::string& variable, const char* method) {
  if (value.shape() == shape && !unknown_of(value)) return value;
  const int added = shape.rank() - value.rank();
  bool fits = added >= 0 || unknown_of(value).rank;
  for (int axis = 0; fits && axis < value.rank(); ++axis)
    fits = unknown_of(value).has(axis) || value.dim(axis) == 1 || value.dim(axis) == shape[axis + added];
  if (!fits)
    fail<InvalidArgumentError>(method, " to a part of ", variable, ": the part has shape ", to_string(shape),
                               ", the value ", shape_text(value));
  static const OpDef& broadcast = required_op("broadcast_to");
  return run_op1(
      broadcast, {value},
      named_attributes(broadcast, {{"shape", std::vector<std::int64_t>(shape.begin(), shape.end())}}));
}

/// Replaces the part by the value, or by what the op makes of it and the value.
PyObject* assign_by(PyObject* self, PyObject* args, PyObject* keywords, const char* method,
                    const char* op_name) {
  static const char* names[] = {"value", "use_locking", "name", "read_value", nullptr};
  PyObject *value = nullptr, *locking = nullptr, *name = nullptr, *read = nullptr;
  const std::string format = std::string("O|OOO:") + method;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, format.c_str(), const_cast<char**>(names), &value,
                                   &locking, &name, &read))
    return nullptr;
  return guarded([&] {
    const VariablePartObject& part = part_of(self);
    Variable variable = part.variable;
    const DefaultDeviceScope beside(variable.device());
    const Tensor given = to_tensor(value, variable.dtype(), {variable.name().c_str(), method});
    const StopRecording unrecorded;  // the new value is a new leaf to every tape
    variable.update([&](const Tensor& whole) {
      const Tensor change = fitted(given, part.base.tensor.shape(), variable.name(), method);
      const Tensor now = op_name ? run_op1(required_op(op_name), {take(*part.spec, whole), change}) : change;
      return put(*part.spec, whole, now);
    });
    return after_assignment(checked(wrap(variable)).ptr());
  });
}

PyObject* assign(PyObject* self, PyObject* args, PyObject* keywords) {
  return assign_by(self, args, keywords, "assign", nullptr);
}
PyObject* assign_add(PyObject* self, PyObject* args, PyObject* keywords) {
  return assign_by(self, args, keywords, "assign_add", "add");
}
PyObject* assign_sub(PyObject* self, PyObject* args, PyObject* keywords) {
  return assign_by(self, args, keywords, "assign_sub", "subtract");
}

PyCFunction with_keywords(PyCFunctionWithKeywords function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef part_methods[] = {
    {"assign", with_keywords(assign), METH_VARARGS | METH_KEYWORDS,
     "assign($self, /, value, use_locking=None, name=None, read_value=True)\n--\n\n"
     "Replaces this part of the variable by a value that broadcasts to it.\nReturns: Variable."},
    {"assign_add", with_keywords(assign_add), METH_VARARGS | METH_KEYWORDS,
     "assign_add($self, /, value, use_locking=None, name=None, read_value=True)\n--\n\n"
     "Adds a value that broadcasts to it to this part of the variable.\nReturns: Variable."},
    {"assign_sub", with_keywords(assign_sub), METH_VARARGS | METH_KEYWORDS,
     "assign_sub($self, /, value, use_locking=None, name=None, read_value=True)\n--\n\n"
     "Subtracts a value that broadcasts to it from this part of the variable.\nReturns: Variable."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* wrap_part(const Variable& variable, SliceSpec spec, Tensor part) {
  auto held = std::make_unique<const SliceSpec>(std::move(spec));
  auto* object = static_cast<VariablePartObject*>(PyObject_Malloc(sizeof(VariablePartObject)));
  if (!object) return PyErr_NoMemory();
  PyObject_Init(reinterpret_cast<PyObject*>(object), &variable_part_type);
  object->base.weak_references = nullptr;
  new (&object->base.tensor) Tensor(std::move(part));
  new (&object->variable) Variable(variable);
  new (&object->spec) std::unique_ptr<const SliceSpec>(std::move(held));
  return reinterpret_cast<PyObject*>(object);
}

void bind_variable_part(py::module_& module) {
  variable_part_type.tp_name = "tapedeck.VariablePart";
  variable_part_type.tp_doc = PyDoc_STR(
      "What variable[…] gives: a tensor, the part's value when it was read, with methods that assign to the "
      "part.\nWhere a list of indices names a place several times, the last value stays.");
  variable_part_type.tp_base = &tensor_type;
  variable_part_type.tp_basicsize = sizeof(VariablePartObject);
  variable_part_type.tp_flags = Py_TPFLAGS_DEFAULT;
  variable_part_type.tp_dealloc = deallocate;
  variable_part_type.tp_methods = part_methods;
  checked(PyType_Ready(&variable_part_type));
  module.add_object("VariablePart", reinterpret_cast<PyObject*>(&variable_part_type));
}

}  // namespace tapedeck::python
