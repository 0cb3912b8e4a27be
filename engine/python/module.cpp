// The extension module tapedeck._engine. The package beside it (tapedeck/*.py) gives it TensorFlow's shape.
#include <pybind11/stl.h>

#include <cmath>

#ifdef TAPEDECK_ISOLATE_ONEDNN
#include "engine/cpu/isolated/onednn_problem.h"
#endif
#include "engine/cpu/parallel.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"
#include "engine/python/arguments.h"
#include "engine/python/errors.h"
#include "engine/python/host.h"
#include "engine/python/modules/checkpoint_module.h"
#include "engine/python/modules/data_module.h"
#include "engine/python/modules/debug_module.h"
#include "engine/python/modules/devices_module.h"
#include "engine/python/modules/event_module.h"
#include "engine/python/modules/graph_module.h"
#include "engine/python/modules/lockstep_module.h"
#include "engine/python/modules/saved_model_module.h"
#include "engine/python/modules/tape_module.h"
#include "engine/python/modules/update_module.h"
#include "engine/python/op_function.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"
#include "engine/python/torch/torch_mode.h"
#include "engine/record/trace/scope.h"
#include "engine/tape/tape.h"
#include "engine/tensor/subnormals.h"

namespace tapedeck::python {

namespace {

py::object same(const py::handle object) {
  return py::reinterpret_borrow<py::object>(object);
}

/// `placed`: a number becomes a tensor on the default device, too. Inside of the package it stays on the
/// host, from where ops take it wherever they run.
Tensor new_tensor(const py::handle value, std::optional<DType> wanted, const Where& where, bool placed) {
  return placed ? to_placed_tensor(value.ptr(), wanted, where) : to_tensor(value.ptr(), wanted, where);
}

py::object constant(const py::handle value, const py::handle dtype, const py::handle shape, bool placed) {
  const auto wanted = to_dtype(dtype.ptr(), {"constant", "dtype"});
  Tensor tensor;
  if (is_tensor_like(value.ptr())) {
    tensor = tensor_like(value.ptr());
    if (wanted && tensor.dtype() != *wanted) {
      const OpDef& cast = required_op("cast");
      tensor = run_op1(cast, {tensor}, named_attributes(cast, {{"dtype", *wanted}}));
    } else if (is_tensor(value.ptr()) && shape.is_none()) {
      return same(value);
    }
  } else {
    tensor = new_tensor(value, wanted, {"constant", "value"}, placed);
  }
  if (shape.is_none()) return checked(wrap(std::move(tensor)));
  const AttributeSpec spec{"shape", AttributeKind::shape, {}, true};
  const auto extents =
      std::get<std::vector<std::int64_t>>(to_attribute(spec, shape.ptr(), {"constant", "shape"}));
  const OpDef& reshape = required_op("reshape");
  if (tensor.count() == 1) {
    const OpDef& broadcast = required_op("broadcast_to");
    if (tensor.rank() > 0)
      tensor =
          run_op1(reshape, {tensor}, named_attributes(reshape, {{"shape", std::vector<std::int64_t>{}}}));
    return checked(wrap(run_op1(broadcast, {tensor}, named_attributes(broadcast, {{"shape", extents}}))));
  }
  double wanted_count = 1;
  for (const std::int64_t extent : extents)
    wanted_count = extent < 0 ? std::nan("") : wanted_count * static_cast<double>(extent);
  if (static_cast<double>(tensor.count()) != wanted_count)
    fail<TypeMismatchError>("constant: value has shape ", to_string(tensor.shape()), ", ", tensor.count(),
                            " elements; shape is ", short_repr(shape.ptr()));
  return checked(wrap(run_op1(reshape, {tensor}, named_attributes(reshape, {{"shape", extents}}))));
}

py::object convert_to_tensor(const py::handle value, const py::handle dtype, const py::handle hint,
                             bool placed) {
  const auto wanted = to_dtype(dtype.ptr(), {"convert_to_tensor", "dtype"});
  const Where where{"convert_to_tensor", "value"};
  if ((is_tensor(value.ptr()) && !wanted) || is_symbolic(value.ptr())) return same(value);
  if (wanted || hint.is_none()) return checked(wrap(new_tensor(value, wanted, where, placed)));
  const auto preferred = to_dtype(hint.ptr(), {"convert_to_tensor", "dtype_hint"});
  try {
    return checked(wrap(new_tensor(value, preferred, where, placed)));
  } catch (const Error&) {  // a hint may be ignored
    return checked(wrap(new_tensor(value, {}, where, placed)));
  }
}

/// For what is read on the host, as data sets' elements are.
py::object host_tensor(const py::handle value, const py::handle dtype) {
  const DeviceScope on_cpu(Device{});
  return convert_to_tensor(value, dtype, py::none(), false);
}

void bind_values(py::module_& module) {
  module.def("constant", &constant, py::arg("value"), py::arg("dtype") = py::none(),
             py::arg("shape") = py::none(), py::arg("placed") = false);
  module.def("convert_to_tensor", &convert_to_tensor, py::arg("value"), py::arg("dtype") = py::none(),
             py::arg("dtype_hint") = py::none(), py::arg("placed") = false);
  module.def("host_tensor", &host_tensor, py::arg("value"), py::arg("dtype") = py::none(),
             "As convert_to_tensor; what is not a tensor yet becomes one on the CPU.");
  module.def(
      "from_dlpack",
      [](const py::handle capsule) { return checked(wrap(tensor_from_dlpack(capsule.ptr()))); },
      py::arg("capsule"));
}

void bind_settings(py::module_& module) {
  module.def("set_random_seed", &set_random_seed, py::arg("seed"),
             "Starts the sequences of random numbers anew; None: from a random state.");
  module.def("set_random_place", &set_random_place, py::arg("place"),
             "(key, counter) that random ops of this thread take instead of their seed's; None ends that.");
  module.def(
      "random_state",
      [] {
        const RandomState now = random_state();
        return py::make_tuple(now.global, now.chosen_by_nobody, now.shared_counter, now.counters);
      },
      "The state of the sequences of random numbers, for set_random_state.");
  module.def(
      "set_random_state",
      [](const py::tuple& state) {
        set_random_state({state[0].cast<std::optional<std::int64_t>>(), state[1].cast<std::uint64_t>(),
                          state[2].cast<std::uint64_t>(),
                          state[3].cast<std::map<std::int64_t, std::uint64_t>>()});
      },
      py::arg("state"));
  module.def("flush_denormal", &flush_denormal, "Whether ops take subnormal numbers for 0.");
  module.def("set_flush_denormal", &set_flush_denormal, py::arg("flush"),
             "Whether ops take subnormal numbers for 0; False where this processor cannot.");
  module.def("thread_count", &cpu::thread_count, "Threads that kernels may use.");
  module.def("set_thread_count", &cpu::set_thread_count, py::arg("count"),
             "InvalidArgumentError for less than 1.");
  module.def(
      "set_v1_behavior",
      [](bool v1) {
        v1_behavior = {v1, v1};
        set_integer_gradients(v1);
      },
      py::arg("v1"),
      "Whether tensors behave as in TensorFlow 1.5: equality by identity, repr with the id, gradients of "
      "integers.");
  module.def(
      "set_tensor_equality", [](bool by_value) { v1_behavior.identity_equality = !by_value; },
      py::arg("by_value"), "Whether == and != of tensors compare elements, else identity.");
  module.def(
      "push_scope",
      [](const std::string& name) {
        push_scope(name);
        return scope_text(current_scope());
      },
      py::arg("name"),
      "Opens a name scope on this thread. Returns its name with those around it: \"outer/inner\".");
  module.def(
      "current_scope", [] { return scope_text(current_scope()); },
      "The innermost name scope of this thread with those around it: \"outer/inner\"; empty where none is "
      "open.");
  module.def("pop_scope", &pop_scope,
             "Closes the innermost one. FailedPreconditionError where none is open.");
}

}  // namespace

PYBIND11_MODULE(_engine, module) {
#ifdef TAPEDECK_ISOLATE_ONEDNN
  if (const std::string& problem = cpu::onednn_problem(); !problem.empty())
    throw py::import_error("oneDNN can't be loaded: " + problem);
#endif
  module.doc() = "The engine's tensors, ops and tape as Python sees them.";
  import_numpy();
  install_host_hooks();
  bind_errors(module);
  bind_tensor(module);
  bind_variable(module);
  bind_variable_part(module);
  bind_op_functions(module);
  bind_tape(module);
  bind_graph(module);
  bind_saved_model(module);
  bind_updates(module);
  bind_values(module);
  bind_settings(module);
  bind_devices(module);
  bind_checkpoint(module);
  bind_debug(module);
  bind_lockstep(module);
  bind_callbacks(module);
  bind_events(module);
  bind_data(module);
  torch::bind_torch(module);
}

}  // namespace tapedeck::python
