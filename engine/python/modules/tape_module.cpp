#include "engine/python/modules/tape_module.h"

#include "engine/graph/tracer.h"
#include "engine/ops/core/observer.h"
#include "engine/python/errors.h"
#include "engine/python/modules/tape_object.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/tape/tape.h"

namespace tapedeck::python {

namespace {

Tensors targets_of(const py::sequence& objects) {
  Tensors tensors;
  for (const py::handle object : objects)
    tensors.push_back(to_tensor(object.ptr(), {}, {"gradient", "target"}));
  return tensors;
}

// What the user's function returned: (outputs, vjp, variables), Python objects; outputs flat.
CustomResult custom_result(const py::object& function, const std::string& name) {
  const py::object result = checked(PyObject_CallNoArgs(function.ptr()));
  const py::tuple parts(result);
  CustomResult custom;
  for (const py::handle variable : py::sequence(parts[2]))
    custom.variables.push_back(required_variable(variable.ptr(), "custom_gradient: variables"));
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

/// The gradient function is traced, too. Its exceptions reach the caller that asks for the gradient.
CustomVjp with_engine_errors(const CustomVjp& vjp) {
  return [vjp](std::span<const Tensor> cotangents) {
    try {
      return through_engine([&] { return vjp(cotangents); });
    } catch (const ForeignException&) {
      PyObject *type = nullptr, *value = nullptr, *traceback = nullptr;
      PyErr_Fetch(&type, &value, &traceback);
      const auto kept = py::reinterpret_steal<py::object>(type);
      const auto raised = py::reinterpret_steal<py::object>(value);
      Py_XDECREF(traceback);
      fail<FailedPreconditionError>(py::cast<std::string>(py::str(py::handle(type).attr("__name__"))), ": ",
                                    raised ? py::cast<std::string>(py::str(raised)) : std::string());
    }
  };
}

Tensors trace_custom_gradient(graph::GraphTracer& tracer, const std::string& name, const Tensors& inputs,
                              const py::object& function) {
  const UnobservedScope unobserved;  // what is traced is not run
  CustomResult result;
  const Tensors outputs = custom_gradient(
      name, inputs, [&] { return through_engine([&] { return result = custom_result(function, name); }); });
  graph::OwnGradient own;
  own.name = name;
  own.variables = result.variables;
  tracer.add_own_gradient(std::move(own), inputs, outputs, with_engine_errors(result.vjp));
  return outputs;
}

py::object run_custom_gradient(const std::string& name, const py::sequence& input_objects,
                               const py::object& function) {
  const Tensors inputs = targets_of(input_objects);
  if (auto* tracer = dynamic_cast<graph::GraphTracer*>(current_tracer()))
    return list_of(trace_custom_gradient(*tracer, name, inputs, function));
  const auto run = [&] { return through_engine([&] { return custom_result(function, name); }); };
  return list_of(custom_gradient(name, inputs, run));
}

struct StopRecordingContext {
  explicit StopRecordingContext(py::object one) : tape(std::move(one)) {}
  py::object tape;  ///< the one to stop
  std::optional<StopRecording> scope;
};

struct QuietContext {
  std::optional<QuietScope> scope;
};

}  // namespace

void bind_tape(py::module_& module) {
  bind_tape_type(module);
  py::class_<StopRecordingContext>(module, "StopRecording", "While it is entered, the tape does not record.")
      .def(py::init<py::object>(), py::arg("tape"))
      .def("__enter__",
           [](StopRecordingContext& context) {
             Tape& tape = tape_of(context.tape.ptr());
             if (tape.active()) tape.trace_pause(true);
             context.scope.emplace(tape);
           })
      .def("__exit__", [](StopRecordingContext& context, const py::args&) {
        context.scope.reset();
        tape_of(context.tape.ptr()).trace_pause(false);
      });

  py::class_<QuietContext>(module, "QuietScope",
                           "While it is entered, ops of this thread are neither recorded nor taped.")
      .def(py::init<>())
      .def("__enter__", [](QuietContext& context) { context.scope.emplace(); })
      .def("__exit__", [](QuietContext& context, const py::args&) { context.scope.reset(); });

  module.def("custom_gradient", &run_custom_gradient, py::arg("name"), py::arg("inputs"), py::arg("function"),
             "Runs function() → (outputs, vjp, variables) as one op; vjp(cotangents) → one gradient or None "
             "per input "
             "and variable.");
}

}  // namespace tapedeck::python
