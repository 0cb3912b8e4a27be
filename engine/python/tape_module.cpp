#include "engine/python/tape_module.h"

#include "engine/python/convert.h"
#include "engine/python/errors.h"
#include "engine/python/tensor_object.h"
#include "engine/tape/tape.h"

namespace tapedeck::python {

namespace {

py::object to_python(const Tensor& tensor) {
  return checked(wrap(tensor));
}

py::list to_list(std::span<const Tensor> tensors) {
  py::list list(tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) list[i] = to_python(tensors[i]);
  return list;
}

Tensors targets_of(const py::sequence& objects) {
  Tensors tensors;
  for (const py::handle object : objects)
    tensors.push_back(to_tensor(object.ptr(), {}, {"gradient", "target"}));
  return tensors;
}

/// None stands for an undefined tensor.
Tensors cotangents_of(const py::sequence& objects, std::span<const Tensor> targets) {
  Tensors tensors;
  std::size_t i = 0;
  for (const py::handle object : objects) {
    const Where where{"gradient", "output_gradients"};
    tensors.push_back(object.is_none() ? Tensor() : to_tensor(object.ptr(), targets[i].dtype(), where));
    ++i;
  }
  return tensors;
}

py::list gradient(Tape& tape, const py::sequence& target_objects, const py::sequence& source_objects,
                  const py::object& output_gradients, bool zero_unconnected) {
  const Tensors targets = targets_of(target_objects);
  Tensors cotangents;
  if (!output_gradients.is_none()) {
    const py::sequence given(output_gradients);
    if (given.size() != targets.size())
      fail<InvalidArgumentError>("gradient: ", given.size(), " output_gradients for ", targets.size(),
                                 " targets");
    cotangents = cotangents_of(given, targets);
  }
  std::vector<Tape::Source> sources;
  for (const py::handle object : source_objects) {
    if (is_variable(object.ptr()))
      sources.push_back({{}, variable_of(object.ptr())});
    else if (is_tensor(object.ptr()))
      sources.push_back({tensor_of(object.ptr()), {}});
    else
      fail<TypeMismatchError>("gradient: sources: ", short_repr(object.ptr()),
                              " is neither a tensor nor a variable");
  }
  const auto unconnected = zero_unconnected ? Unconnected::zero : Unconnected::none;
  return to_list(tape.gradient(targets, std::span<const Tape::Source>(sources), cotangents, unconnected));
}

void watch(Tape& tape, const py::handle object) {
  if (is_variable(object.ptr())) return tape.watch(variable_of(object.ptr()));
  if (!is_tensor(object.ptr()))
    fail<TypeMismatchError>("watch: ", short_repr(object.ptr()), " is neither a tensor nor a variable");
  const Tensor& tensor = tensor_of(object.ptr());
  tape.watch(tensor);
}

/// A VJP written in Python.
struct PythonVjp {
  std::shared_ptr<SharedObject> function;
  std::string name;

  Tensors operator()(std::span<const Tensor> cotangents) const {
    const py::object gradients = checked(PyObject_CallOneArg(function->get(), to_list(cotangents).ptr()));
    Tensors tensors;
    for (const py::handle gradient : py::sequence(gradients))
      tensors.push_back(gradient.is_none() ? Tensor()
                                           : to_tensor(gradient.ptr(), {}, {name.c_str(), "gradient"}));
    return tensors;
  }
};

// What the user's function returned: (outputs, vjp, variables), Python objects; outputs flat.
CustomResult custom_result(const py::object& function, const std::string& name) {
  const py::object result = checked(PyObject_CallNoArgs(function.ptr()));
  const py::tuple parts(result);
  CustomResult custom;
  for (const py::handle variable : py::sequence(parts[2]))
    custom.variables.push_back(variable_of(variable.ptr()));
  for (const py::handle output : py::sequence(parts[0]))
    custom.outputs.push_back(to_tensor(output.ptr(), {}, {name.c_str(), "output"}));
  custom.vjp = PythonVjp{std::make_shared<SharedObject>(py::object(parts[1])), name};
  return custom;
}

// The Python exception is set while it travels through the engine, and is thrown again behind it.
template <class Function>
auto through_engine(Function&& function) {
  try {
    return function();
  } catch (py::error_already_set& error) {
    error.restore();
    throw ForeignException{};
  }
}

py::list run_custom_gradient(const std::string& name, const py::sequence& input_objects,
                             const py::object& function) {
  const Tensors inputs = targets_of(input_objects);
  const auto run = [&] { return through_engine([&] { return custom_result(function, name); }); };
  return to_list(custom_gradient(name, inputs, run));
}

py::list watched_variables(const Tape& tape) {
  py::list list;
  for (const Variable& variable : tape.watched_variables()) list.append(checked(wrap(variable)));
  return list;
}

/// nullptr while the object is being made.
Tape* tape_in(PyObject* self) {
  auto holder = reinterpret_cast<py::detail::instance*>(self)->get_value_and_holder();
  return holder.holder_constructed() ? holder.value_ptr<Tape>() : nullptr;
}

/// A VJP on a tape may hold, by what it captured, the tape: Python's collector sees and ends such circles.
int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  int result = 0;
  if (const Tape* tape = tape_in(self))
    tape->visit_own_vjps([&](const CustomVjp& vjp) {
      const auto* held = vjp.target<PythonVjp>();
      if (result == 0 && held && held->function.use_count() == 1) result = visit(held->function->get(), arg);
    });
  return result;
}

int clear(PyObject* self) {
  if (Tape* tape = tape_in(self)) tape->reset();  // nobody reaches it, so it is not played
  return 0;
}

void collect_garbage(PyHeapTypeObject* type) {
  type->ht_type.tp_flags |= Py_TPFLAGS_HAVE_GC;
  type->ht_type.tp_traverse = traverse;
  type->ht_type.tp_clear = clear;
}

struct StopRecordingContext {
  explicit StopRecordingContext(py::object one) : tape(std::move(one)) {}
  py::object tape;  ///< the one to stop
  std::optional<StopRecording> scope;
};

}  // namespace

void bind_tape(py::module_& module) {
  py::class_<Tape>(module, "Tape", "One gradient tape of the engine; tf.GradientTape is made of it.",
                   py::custom_type_setup(&collect_garbage))
      .def(py::init<bool, bool>(), py::arg("persistent") = false, py::arg("watch_accessed_variables") = true)
      .def("start", &Tape::start)
      .def("stop", &Tape::stop)
      .def("active", &Tape::active)
      .def("reset", &Tape::reset)
      .def("watch", &watch)
      .def("gradient", &gradient, py::arg("targets"), py::arg("sources"),
           py::arg("output_gradients") = py::none(), py::arg("zero_unconnected") = false)
      .def("begin_many", &Tape::begin_many)
      .def("end_many", &Tape::end_many)
      .def("watched_variables", &watched_variables)
      .def_property_readonly("id", &Tape::id);

  py::class_<StopRecordingContext>(module, "StopRecording", "While it is entered, the tape does not record.")
      .def(py::init<py::object>(), py::arg("tape"))
      .def("__enter__",
           [](StopRecordingContext& context) { context.scope.emplace(context.tape.cast<Tape&>()); })
      .def("__exit__", [](StopRecordingContext& context, const py::args&) { context.scope.reset(); });

  module.def("custom_gradient", &run_custom_gradient, py::arg("name"), py::arg("inputs"), py::arg("function"),
             "Runs function() → (outputs, vjp, variables) as one op; vjp(cotangents) → one gradient or None "
             "per input "
             "and variable.");
}

}  // namespace tapedeck::python
