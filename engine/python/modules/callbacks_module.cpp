// TensorFlow 1.5's execution callbacks: Python functions that are called after each op.
#include "engine/ops/core/front_observer.h"
#include "engine/python/errors.h"
#include "engine/python/modules/lockstep_module.h"
#include "engine/python/op_function.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {
namespace {

class ExecutionCallback final : public FrontObserver {
 public:
  /// nullptr: no callback. Guarded by Python's lock.
  void set(PyObject* callback) {
    if (!callback_ && callback) add_front_observer(*this);
    if (callback_ && !callback) remove_front_observer(*this);
    Py_XINCREF(callback);
    Py_XSETREF(callback_, callback);
  }

 protected:
  void begun(const Event&, std::uint64_t) override {}
  void ended(const Event& event, std::uint64_t, std::span<const Tensor> outputs, const char* error) override {
    static thread_local bool inside = false;  // what a callback computes calls none
    if (error || event.kind != EventKind::op || inside || !Py_IsInitialized()) return;
    const bool had_lock = PyGILState_Check() != 0;
    const py::gil_scoped_acquire lock;
    if (!callback_) return;
    inside = true;
    const py::object result = py::reinterpret_steal<py::object>(call(event, outputs));
    inside = false;
    if (result) return;
    if (had_lock) throw ForeignException{};
    const py::error_already_set raised;
    throw Error(raised.what());
  }

 private:
  PyObject* call(const Event& event, std::span<const Tensor> outputs) const {
    return guarded([&] {
      py::list inputs, results;
      for (const Tensor& input : event.inputs) inputs.append(checked(wrap(input)));
      for (const Tensor& output : outputs) results.append(checked(wrap(output)));
      const std::size_t count = event.op->attributes.size();
      py::tuple attributes(2 * count);
      for (std::size_t i = 0; i < count; ++i) {
        attributes[2 * i] = py::str(event.op->attributes[i].name);
        attributes[2 * i + 1] = attribute_object((*event.attributes)[i]);
      }
      const auto callback = py::reinterpret_borrow<py::object>(callback_);  // it may clear the callbacks
      return PyObject_CallFunctionObjArgs(callback.ptr(), py::str(event.op->name).ptr(), attributes.ptr(),
                                          inputs.ptr(), results.ptr(), nullptr);
    });
  }

  PyObject* callback_ = nullptr;
};

}  // namespace

void bind_callbacks(py::module_& module) {
  static auto* const observer = new ExecutionCallback;  // ops may run while the process ends
  module.def(
      "_set_execution_callback",
      [](const py::handle callback) { observer->set(callback.is_none() ? nullptr : callback.ptr()); },
      py::arg("callback"),
      "Called with op, attributes, inputs and outputs of each op that has run, on its thread; None: no "
      "callback.");
}

}  // namespace tapedeck::python
