// The extension module tapedeck._engine. The package beside it (tapedeck/*.py) gives it TensorFlow's shape.
#include <pybind11/stl.h>

#include "engine/cpu/parallel.h"
#include "engine/ops/random_state.h"
#include "engine/ops/run_op.h"
#include "engine/python/arguments.h"
#include "engine/python/convert.h"
#include "engine/python/errors.h"
#include "engine/python/host.h"
#include "engine/python/op_function.h"
#include "engine/python/tape_module.h"
#include "engine/python/tensor_object.h"

#include "engine/python/debug_module.h"
#include "engine/record/scope.h"

namespace tapedeck::python {

namespace {

template <class Function>
py::object call(Function&& function) {
  return py::reinterpret_steal<py::object>(guarded(std::forward<Function>(function)));
}

// A None result is a Python object as well; nullptr says that the exception is set.
py::object or_throw(py::object result) {
  if (!result) throw py::error_already_set();
  return result;
}

py::object constant(const py::handle value, const py::handle dtype, const py::handle shape) {
  return or_throw(call([&]() -> PyObject* {
    const auto wanted = to_dtype(dtype.ptr(), {"constant", "dtype"});
    if (is_tensor(value.ptr()) && shape.is_none() &&
        wanted.value_or(tensor_of(value.ptr()).dtype()) == tensor_of(value.ptr()).dtype())
      return py::reinterpret_borrow<py::object>(value).release().ptr();
    if (is_tensor_like(value.ptr()) && wanted && tensor_like(value.ptr()).dtype() != *wanted) {
      const OpDef& cast = required_op("cast");
      const Tensor converted =
          run_op1(cast, {tensor_like(value.ptr())}, named_attributes(cast, {{"dtype", *wanted}}));
      return wrap(converted);
    }
    Tensor tensor = to_tensor(value.ptr(), wanted, {"constant", "value"});
    if (shape.is_none()) return wrap(std::move(tensor));
    const AttributeSpec spec{"shape", AttributeKind::shape, {}, true};
    const auto extents =
        std::get<std::vector<std::int64_t>>(to_attribute(spec, shape.ptr(), {"constant", "shape"}));
    const OpDef& op = required_op(tensor.count() == 1 ? "broadcast_to" : "reshape");
    return wrap(run_op1(op, {tensor}, named_attributes(op, {{"shape", extents}})));
  }));
}

py::object convert_to_tensor(const py::handle value, const py::handle dtype, const py::handle hint) {
  return or_throw(call([&]() -> PyObject* {
    const auto wanted = to_dtype(dtype.ptr(), {"convert_to_tensor", "dtype"});
    const Where where{"convert_to_tensor", "value"};
    if (is_tensor(value.ptr()) && !wanted) return py::reinterpret_borrow<py::object>(value).release().ptr();
    if (wanted || hint.is_none()) return wrap(to_tensor(value.ptr(), wanted, where));
    const auto preferred = to_dtype(hint.ptr(), {"convert_to_tensor", "dtype_hint"});
    try {
      return wrap(to_tensor(value.ptr(), preferred, where));
    } catch (const Error&) {  // a hint is no demand
      return wrap(to_tensor(value.ptr(), {}, where));
    }
  }));
}

void bind_scopes(py::module_& module) {
  module.def(
      "push_scope", [](const std::string& name) { push_scope(name); }, py::arg("name"));
  module.def("pop_scope", [] {
    or_throw(call([] {
      pop_scope();
      return py::none().release().ptr();
    }));
  });
}

void bind_settings(py::module_& module) {
  module.def(
      "set_random_seed", [](std::optional<std::int64_t> seed) { set_random_seed(seed); }, py::arg("seed"),
      "Starts the sequences of random numbers anew; None: with numbers that nobody chose.");
  module.def(
      "gpu_count", [] { return gpu_count(); }, "How many GPUs this build can use on this machine.");
  module.def(
      "check_device",
      [](const std::string& name) {
        return or_throw(call([&] {
          const Device device = device_from_name(name);
          if (device.kind == DeviceKind::gpu && int{device.index} >= gpu_count())
            fail<NotFoundError>("device: there is no ", to_string(device), "; this machine has ", gpu_count(),
                                " GPUs that this build can use");
          return PyUnicode_FromString(to_string(device).c_str());
        }));
      },
      py::arg("name"), "The device's name as the engine writes it. NotFoundError where it is not there.");
  module.def("thread_count", &cpu::thread_count, "Threads that kernels may use.");
  module.def(
      "set_thread_count",
      [](int count) {
        return or_throw(call([&] {
          cpu::set_thread_count(count);
          return py::none().release().ptr();
        }));
      },
      py::arg("count"));
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
  module.doc() = "The engine's tensors, ops and tape as Python sees them.";
  import_numpy();
  register_all_ops();
  install_host_hooks();
  bind_errors(module);
  bind_tensor(module);
  bind_variable(module);
  bind_op_functions(module);
  bind_tape(module);
  bind_settings(module);
  bind_scopes(module);
  module.def("constant", &constant, py::arg("value"), py::arg("dtype") = py::none(),
             py::arg("shape") = py::none());
  module.def("convert_to_tensor", &convert_to_tensor, py::arg("value"), py::arg("dtype") = py::none(),
             py::arg("dtype_hint") = py::none());
  module.def(
      "from_dlpack",
      [](const py::handle capsule) {
        return or_throw(call([&] { return wrap(tensor_from_dlpack(capsule.ptr())); }));
      },
      py::arg("capsule"));
  bind_debug(module);
}

}  // namespace tapedeck::python
