// tf.Variable.
#include <array>
#include <unordered_map>

#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/core/tracer.h"
#include "engine/python/arguments.h"
#include "engine/python/device_policy.h"
#include "engine/python/errors.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/open_shape.h"
#include "engine/python/tensor/symbolic.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/record/trace/scope.h"
#include "engine/tape/tape.h"

namespace tapedeck::python {

PyTypeObject variable_type = blank_type();

namespace {

// A variable that comes back from the engine (a tape's watched variables) is the object that the user has.
// Guarded by Python's lock.
std::unordered_map<std::uint64_t, PyObject*>& living() {
  static auto* const objects = new std::unordered_map<std::uint64_t, PyObject*>;
  return *objects;
}

/// Where new variables are noted, as (weak reference, first value); nullptr: nowhere.
PyObject* creation_log = nullptr;

void log_creation(PyObject* self, const Variable& variable) {
  const py::object reference = checked(PyWeakref_NewRef(self, nullptr));
  const py::object entry = checked(PyTuple_Pack(2, reference.ptr(), checked(wrap(variable.peek())).ptr()));
  checked(PyList_Append(creation_log, entry.ptr()));
}

PyObject* make(PyTypeObject* type, const Variable& variable) {
  PyObject* self = type->tp_alloc(type, 0);
  if (!self) return nullptr;
  auto* object = reinterpret_cast<VariableObject*>(self);
  new (&object->variable) Variable(variable);
  object->weak_references = nullptr;
  object->constraint = nullptr;
  living()[variable.id()] = self;
  if (creation_log) [[unlikely]]
    log_creation(self, variable);
  return self;
}

// A constraint may hold, by what it captured, the variable.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(reinterpret_cast<VariableObject*>(self)->constraint);
  return 0;
}
int clear(PyObject* self) {
  Py_CLEAR(reinterpret_cast<VariableObject*>(self)->constraint);
  return 0;
}

void deallocate(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* object = reinterpret_cast<VariableObject*>(self);
  living().erase(object->variable.id());  // before other code runs and finds it there
  if (object->weak_references) PyObject_ClearWeakRefs(self);
  object->variable.~Variable();
  Py_CLEAR(object->constraint);
  Py_TYPE(self)->tp_free(self);
}

bool is_trainable(PyObject* trainable) {
  if (trainable == Py_None) return true;
  const int truth = PyUnicode_Check(trainable) ? -1 : PyObject_IsTrue(trainable);
  if (truth < 0) {
    PyErr_Clear();
    fail<TypeMismatchError>("Variable: trainable is ", short_repr(trainable), "; needs True, False or None");
  }
  return truth == 1;
}

/// The variable's name with a scope in front of it: import_scope, or, where that is None, the open ones.
std::string name_of(PyObject* name, PyObject* import_scope) {
  const auto text = [](const char* argument, PyObject* object) {
    const py::object string = checked(PyObject_Str(object));
    Py_ssize_t size = 0;
    const char* letters = PyUnicode_AsUTF8AndSize(string.ptr(), &size);
    const std::string found = letters ? std::string(letters, static_cast<std::size_t>(size)) : std::string();
    if (letters && found.find('\0') == std::string::npos) return found;
    PyErr_Clear();
    fail<InvalidArgumentError>("Variable: ", argument, " is ", short_repr(object),
                               ", which holds what no text in UTF-8 does, or a zero");
  };
  const std::string own = name == Py_None ? "Variable" : text("name", name);
  const std::string scope =
      import_scope == Py_None ? scope_text(current_scope()) : text("import_scope", import_scope);
  return scope.empty() ? own : scope + "/" + own;
}

/// What tfe.restore_variables_on_create has new variables call with their name and value, or nullptr.
PyObject* creation_hook = nullptr;

Tensor on_device(const Tensor& value, Device device) {
  if (has_partial_support(value.dtype())) return value;
  return ops::copy_to(value, device);
}

/// The value that a new variable gets.
Tensor first_value(const std::string& name, const Tensor& given, const Where& where) {
  if (!creation_hook) return given;
  const py::object hook = py::reinterpret_borrow<py::object>(creation_hook);
  const py::object value = checked(
      PyObject_CallFunctionObjArgs(hook.ptr(), py::str(name).ptr(), checked(wrap(given)).ptr(), nullptr));
  return on_device(to_tensor(value.ptr(), given.dtype(), where), given.device());
}

/// What makes variables of the graph of a program of TensorFlow 1, called with type, arguments and keywords;
/// or nullptr.
PyObject* graph_variable_hook = nullptr;

// TensorFlow's arguments in its order. Where values are placed, imported and gathered is nothing here.
PyObject* construct(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  if (graph_variable_hook && is_in_program_graph()) [[unlikely]] {
    const py::object named = keywords ? py::reinterpret_borrow<py::object>(keywords) : py::dict();
    return PyObject_CallFunctionObjArgs(graph_variable_hook, reinterpret_cast<PyObject*>(type), args,
                                        named.ptr(), nullptr);
  }
  static const char* names[] = {"initial_value", "trainable",       "validate_shape", "caching_device",
                                "name",          "variable_def",    "dtype",          "import_scope",
                                "constraint",    "synchronization", "aggregation",    "shape",
                                "collections",   "use_resource",    nullptr};
  std::array<PyObject*, 14> given;
  given.fill(Py_None);
  auto& [initial, trainable, validate, caching, name, definition, dtype, scope, constraint, synchronization,
         aggregation, shape, collections, use_resource] = given;
  initial = nullptr;
  if (!PyArg_ParseTupleAndKeywords(args, keywords, "O|OOOOOOOOOOOOO:Variable", const_cast<char**>(names),
                                   &initial, &trainable, &validate, &caching, &name, &definition, &dtype,
                                   &scope, &constraint, &synchronization, &aggregation, &shape, &collections,
                                   &use_resource))
    return nullptr;
  return guarded([&] {
    check_creation();
    // What a function makes while it is traced lasts longer than the trace: it is made at once.
    std::optional<TracerScope> outside;
    if (is_tracing() && !is_tensor_like(initial)) outside.emplace(nullptr);
    if (definition != Py_None)
      fail<TypeMismatchError>("Variable: variable_def is ", short_repr(definition),
                              "; only None is taken there");
    if (constraint != Py_None && !PyCallable_Check(constraint))
      fail<InvalidArgumentError>("The `constraint` argument must be a callable; it is ",
                                 short_repr(constraint));
    const bool callable = !is_tensor_like(initial) && PyCallable_Check(initial);
    const py::object value =
        callable ? checked(PyObject_CallNoArgs(initial)) : py::reinterpret_borrow<py::object>(initial);
    const auto wanted = to_dtype(dtype, {"Variable", "dtype"});
    Tensor tensor = initial_value_of(to_placed_tensor(value.ptr(), wanted, {"Variable", "initial_value"}));
    if (is_tracing()) outside.emplace(nullptr);
    // Also what a checkpoint holds, which was read on the CPU.
    if (device_scope() || tensor.on_cpu()) {
      check_assigned("Variable", value.ptr(), tensor, default_device());
      tensor = on_device(tensor, default_device());
    }
    std::optional<OpenShape> open = open_shape_of(tensor, shape);
    const std::string text = name_of(name, scope);
    const bool train = is_trainable(trainable);
    const StopRecording unrecorded;
    const py::object made =
        checked(make(type, Variable(first_value(text, tensor, {"Variable", "restored value"}), text, train,
                                    std::move(open))));
    if (constraint != Py_None)
      reinterpret_cast<VariableObject*>(made.ptr())->constraint = py::handle(constraint).inc_ref().ptr();
    return py::object(made).release().ptr();
  });
}

// ---- assignment ----

bool parse_value(PyObject* args, PyObject* keywords, const char* format, const char* value_name,
                 PyObject** value) {
  const char* names[] = {value_name, "use_locking", "name", "read_value", nullptr};
  PyObject *locking = nullptr, *name = nullptr, *read = nullptr;
  return PyArg_ParseTupleAndKeywords(args, keywords, format, const_cast<char**>(names), value, &locking,
                                     &name, &read);
}

PyObject* assign(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* value = nullptr;
  if (!parse_value(args, keywords, "O|OOO:assign", "value", &value)) return nullptr;
  return guarded([&] {
    Variable variable = variable_of(self);
    const DefaultDeviceScope beside(variable.device());
    const Tensor given = to_tensor(value, variable.dtype(), {variable.name().c_str(), "assign"});
    check_assigned("assign", value, given, variable.device());
    variable.assign(given);
    return after_assignment(self);
  });
}

PyObject* assign_result(PyObject* self, PyObject* delta, const char* op_name, const char* method) {
  return guarded([&] {
    Variable variable = variable_of(self);
    const DefaultDeviceScope beside(variable.device());
    const Tensor change = to_tensor(delta, variable.dtype(), {variable.name().c_str(), method});
    if (change.on_cpu() && change.rank() == 0) check_assigned(method, delta, change, variable.device());
    const StopRecording unrecorded;  // the new value is a new leaf to every tape
    variable.update([&](const Tensor& value) { return run_op1(required_op(op_name), {value, change}); });
    return after_assignment(self);
  });
}

PyObject* assign_add(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* delta = nullptr;
  if (!parse_value(args, keywords, "O|OOO:assign_add", "delta", &delta)) return nullptr;
  return assign_result(self, delta, "add", "assign_add");
}
PyObject* assign_sub(PyObject* self, PyObject* args, PyObject* keywords) {
  PyObject* delta = nullptr;
  if (!parse_value(args, keywords, "O|OOO:assign_sub", "delta", &delta)) return nullptr;
  return assign_result(self, delta, "subtract", "assign_sub");
}

PyObject* read_value(PyObject* self, PyObject*) {
  return guarded([&] { return wrap(variable_of(self).read()); });
}

PyObject* get_constraint(PyObject* self, void*) {
  PyObject* constraint = reinterpret_cast<VariableObject*>(self)->constraint;
  return py::handle(constraint ? constraint : Py_None).inc_ref().ptr();
}

PyObject* get_declared_shape(PyObject* self, void*) {
  return guarded([&] { return declared_shape(variable_of(self)).release().ptr(); });
}
PyObject* get_declared_shape_method(PyObject* self, PyObject*) {
  return get_declared_shape(self, nullptr);
}

// A copy is another variable, which has the same value at first.
PyObject* reduce(PyObject* self, PyObject*) {
  return guarded([&] {
    const Variable& variable = variable_of(self);
    const std::string name = variable.name().substr(0, variable.name().rfind(":0"));
    const py::object type = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(Py_TYPE(self)));
    const py::object value = checked(wrap(variable.peek()));
    const py::object attributes = py::getattr(py::handle(self), "__dict__", py::none());  // of a subclass
    const py::object shape = variable.open_shape() ? declared_shape(variable) : py::object(py::none());
    // As construct() takes them; the name has its scopes already.
    const auto arguments =
        py::make_tuple(value, variable.trainable(), py::none(), py::none(), name, py::none(), py::none(), "",
                       checked(get_constraint(self, nullptr)), py::none(), py::none(), shape);
    return py::make_tuple(type, arguments, attributes).release().ptr();
  });
}

// ---- properties ----

PyObject* get_name(PyObject* self, void*) {
  return PyUnicode_FromString(variable_of(self).name().c_str());
}
PyObject* get_trainable(PyObject* self, void*) {
  return PyBool_FromLong(variable_of(self).trainable());
}

int set_constraint(PyObject* self, PyObject* constraint, void*) {
  return guarded_or(-1, [&] {
    if (constraint && constraint != Py_None && !PyCallable_Check(constraint))
      fail<InvalidArgumentError>(variable_of(self).name(), ": constraint is ", short_repr(constraint),
                                 "; needs a function or None");
    PyObject*& held = reinterpret_cast<VariableObject*>(self)->constraint;
    PyObject* given = constraint == Py_None ? nullptr : constraint;
    Py_XINCREF(given);
    Py_XSETREF(held, given);
    return 0;
  });
}

PyObject* represent(PyObject* self) {
  return guarded([&] {
    const Variable& variable = variable_of(self);
    const auto& open = variable.open_shape();
    std::string text = "<tf.Variable '" + variable.name() +
                       "' shape=" + (open ? open->text() : to_string(variable.shape())) +
                       " dtype=" + std::string(dtype_name(variable.dtype()));
    if (!is_tracing()) text += ", numpy=" + numpy_text(variable.peek(), true);
    return PyUnicode_FromString((text + ">").c_str());
  });
}

template <class Function>
PyCFunction with_keywords(Function function) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

constexpr const char assign_doc[] =
    "assign($self, /, value, use_locking=None, name=None, read_value=True)\n--\n\n"
    "Replaces the value. The dtype stays, and the shape but for extents that are None in the variable's.\n"
    "Returns: Variable.";
constexpr const char assign_add_doc[] =
    "assign_add($self, /, delta, use_locking=None, name=None, read_value=True)\n--\n\n"
    "Adds delta to the value.\nReturns: Variable.";
constexpr const char assign_sub_doc[] =
    "assign_sub($self, /, delta, use_locking=None, name=None, read_value=True)\n--\n\n"
    "Subtracts delta from the value.\nReturns: Variable.";

// The variable's own methods, followed by those that it shares with tensors.
std::vector<PyMethodDef> variable_methods() {
  std::vector<PyMethodDef> methods = {
      {"assign", with_keywords(assign), METH_VARARGS | METH_KEYWORDS, assign_doc},
      {"assign_add", with_keywords(assign_add), METH_VARARGS | METH_KEYWORDS, assign_add_doc},
      {"assign_sub", with_keywords(assign_sub), METH_VARARGS | METH_KEYWORDS, assign_sub_doc},
      {"read_value", read_value, METH_NOARGS,
       "read_value($self, /)\n--\n\nThe value now, as a tensor.\nReturns: Tensor."},
      {"value", read_value, METH_NOARGS,
       "value($self, /)\n--\n\nThe value now, as a tensor.\nReturns: Tensor."},
      {"get_shape", get_declared_shape_method, METH_NOARGS,
       "get_shape($self, /)\n--\n\nThe shape, as the property shape.\nReturns: TensorShape."},
      {"__reduce__", reduce, METH_NOARGS, "__reduce__($self, /)\n--\n\nFor pickle and copy."},
  };
  for (const PyMethodDef* method = tensor_methods; method->ml_name; ++method) {
    const std::string_view name = method->ml_name;
    if (name != "__reduce__" && name != "__copy__" && name != "__deepcopy__" && name != "get_shape")
      methods.push_back(*method);
  }
  methods.push_back({nullptr, nullptr, 0, nullptr});
  return methods;
}

std::vector<PyGetSetDef> variable_properties() {
  std::vector<PyGetSetDef> properties = {
      {"name", get_name, nullptr, "The name, with TensorFlow's suffix \":0\".\nReturns: str.", nullptr},
      {"trainable", get_trainable, nullptr, "Whether tapes watch it by themselves.\nReturns: bool.", nullptr},
      {"constraint", get_constraint, set_constraint,
       "The function that optimisers apply to the value after a step, or None.", nullptr},
      {"shape", get_declared_shape, nullptr,
       "The extents, a TensorShape (a tuple); None for one that assignments may change.\nReturns: "
       "TensorShape.",
       nullptr},
  };
  for (const PyGetSetDef* property = tensor_properties; property->name; ++property)
    if (std::string_view(property->name) != "shape") properties.push_back(*property);
  properties.push_back({nullptr, nullptr, nullptr, nullptr, nullptr});
  return properties;
}

}  // namespace

PyObject* wrap(const Variable& variable) {
  const auto found = living().find(variable.id());
  if (found == living().end()) return make(&variable_type, variable);
  Py_INCREF(found->second);
  return found->second;
}

namespace {

/// The value becomes what the function makes of it; the function may be called again (see Variable::update).
void update_variable(const py::handle self, const py::function& change) {
  if (!is_variable(self.ptr()))
    fail<TypeMismatchError>("assignment: ", short_repr(self.ptr()), " is not a variable");
  Variable variable = variable_of(self.ptr());
  const StopRecording unrecorded;
  variable.update([&](const Tensor& value) {
    const py::object changed = change(checked(wrap(value)));
    return to_tensor(changed.ptr(), variable.dtype(), {variable.name().c_str(), "assignment"});
  });
}

/// `hook`: called with name and value of each new variable, returns its value; None for nothing. Returns the
/// one before.
py::object set_creation_hook(const py::handle hook) {
  const py::object before = py::reinterpret_steal<py::object>(creation_hook);
  creation_hook = hook.is_none() ? nullptr : py::reinterpret_borrow<py::object>(hook).release().ptr();
  return before ? before : py::none();
}

/// Each with its value, unseen by tapes.
py::list living_variables() {
  py::list all;
  for (const auto& [id, object] : living()) {
    const py::object value = checked(wrap(variable_of(object).peek()));
    all.append(py::make_tuple(py::handle(object), value));
  }
  return all;
}

void show_as(const py::handle variable, const std::string& name) {
  Variable shared = variable_of(variable.ptr());
  shared.show_as(name);
}

void put_back(const py::handle variable, const py::handle value) {
  Variable shared = variable_of(variable.ptr());
  shared.put_back(tensor_of(value.ptr()));
}

/// `log`: the list in which new variables are noted from now on, or None.
void log_creations(const py::handle log) {
  Py_XDECREF(std::exchange(creation_log, log.is_none() ? nullptr : log.inc_ref().ptr()));
}

/// What makes variables where a program of TensorFlow 1 builds a graph, and what its assignments return.
void set_graph_hooks(const py::object& make, const py::object& assigned) {
  Py_XDECREF(std::exchange(graph_variable_hook, py::object(make).release().ptr()));
  set_assignment_hook(assigned.ptr());
}

/// Methods that are written in Python.
void add_variable_methods(const py::dict& methods) {
  for (const auto& [name, method] : methods)
    checked(PyDict_SetItem(variable_type.tp_dict, name.ptr(), method.ptr()));
  PyType_Modified(&variable_type);
}

}  // namespace

void bind_variable(py::module_& module) {
  static std::vector<PyMethodDef> methods = variable_methods();
  static std::vector<PyGetSetDef> properties = variable_properties();
  variable_type.tp_name = "tapedeck.Variable";
  variable_type.tp_doc = PyDoc_STR(
      "Variable(initial_value, trainable=None, validate_shape=None, caching_device=None, name=None, "
      "variable_def=None, dtype=None, import_scope=None, constraint=None, synchronization=None, "
      "aggregation=None, shape=None)\n--\n\n"
      "A named holder of a tensor; assignment replaces the tensor, so values read earlier stay what they "
      "were.\nIts name begins with the name scopes that it is made in: \"outer/inner/name:0\".\n"
      "initial_value: what tf.constant takes, or a function of no arguments that returns it; the variable "
      "lives "
      "where that is, or on the device of a tf.device around. trainable: None "
      "and True let tapes watch it by themselves. dtype: None for that of the value. shape: None for "
      "that of the value; an extent that is None in it may be another one in each value that is assigned, "
      "and "
      "with tf.TensorShape(None) all may, and how many there are. import_scope: the prefix of the "
      "name in place of the "
      "name "
      "scopes, '' for nothing. constraint: a function of the value, which optimisers apply after a step. The "
      "others are TensorFlow's and change nothing; variable_def must be None.\n"
      "Errors: InvalidArgumentError for a value of another shape, and a name that is not a string; TypeError "
      "for "
      "what is not a value of a "
      "tensor.");
  variable_type.tp_basicsize = sizeof(VariableObject);
  variable_type.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC;
  variable_type.tp_traverse = traverse;
  variable_type.tp_clear = clear;
  variable_type.tp_new = construct;
  variable_type.tp_dealloc = deallocate;
  variable_type.tp_weaklistoffset = offsetof(VariableObject, weak_references);
  variable_type.tp_repr = represent;
  variable_type.tp_hash = [](PyObject* self) { return _Py_HashPointer(self); };
  variable_type.tp_methods = methods.data();
  variable_type.tp_getset = properties.data();
  add_operators(variable_type);
  add_indexing(variable_type);
  checked(PyType_Ready(&variable_type));
  checked(PyDict_SetItemString(variable_type.tp_dict, "__array_priority__", py::int_(1000).ptr()));
  module.add_object("Variable", reinterpret_cast<PyObject*>(&variable_type));
  module.def("_update_variable", &update_variable, py::arg("variable"), py::arg("change"));
  module.def("_set_creation_hook", &set_creation_hook, py::arg("hook"));
  module.def("_living_variables", &living_variables);
  module.def("_show_variable_as", &show_as);
  module.def("_put_back", &put_back, py::arg("variable"), py::arg("value"));
  module.def("_log_creations", &log_creations, py::arg("log"));
  module.def("_set_graph_hooks", &set_graph_hooks, py::arg("make"), py::arg("assigned"));
  module.def("_add_variable_methods", &add_variable_methods, py::arg("methods"));
}

}  // namespace tapedeck::python
