#include "engine/python/modules/host_function.h"

#include <cstring>
#include <mutex>
#include <unordered_map>

#include "engine/python/errors.h"
#include "engine/python/modules/tape_object.h"
#include "engine/python/tensor/convert.h"
#include "engine/python/tensor/tensor_object.h"

namespace tapedeck::python {
namespace {

/// Used with Python's lock held, but for its end.
class HostFunction {
 public:
  explicit HostFunction(const py::object& function)
      : owned_(std::make_shared<SharedObject>(py::object(function))),
        reference_(checked(PyWeakref_NewRef(function.ptr(), nullptr))) {}

  /// FailedPreconditionError where nothing owns it any more. name: of the call.
  py::object living(const std::string& name) const {
    auto found = py::reinterpret_borrow<py::object>(PyWeakref_GetObject(reference_.get()));
    if (found.is_none())
      fail<FailedPreconditionError>(name, ": the graph function that calls it was deleted");
    return found;
  }
  void disown() const { owned_.reset(); }

 private:
  mutable std::shared_ptr<SharedObject> owned_;
  SharedObject reference_;
};

/// What HostCall::function is.
struct Caller {
  std::shared_ptr<const HostFunction> held;
  std::string name;
  bool has_results = false;

  Tensors operator()(std::span<const Tensor> values) const {
    const py::gil_scoped_acquire lock;
    const py::object function = held->living(name);
    const py::object returned = checked(PyObject_CallOneArg(function.ptr(), list_of(values).ptr()));
    Tensors results;
    if (!has_results) return results;
    const py::object list = checked(PySequence_Fast(returned.ptr(), "a host call returns a list of tensors"));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.ptr()); ++i) {
      PyObject* each = PySequence_Fast_GET_ITEM(list.ptr(), i);
      results.push_back(is_tensor_like(each) ? tensor_like(each) : required_tensor(each, name.c_str()));
    }
    return results;
  }
};

/// The objects by the numbers that their carriers hold.
class Carried {
 public:
  /// As long as the process runs: storages may go when it ends.
  static Carried& instance() {
    static Carried* carried = new Carried;
    return *carried;
  }

  Tensor add(const py::object& object) {
    Tensor carrier = Tensor::allocate(DType::int64, {}, Device{});
    const std::scoped_lock lock(mutex_);
    const std::int64_t number = ++newest_;
    std::memcpy(carrier.storage()->data(), &number, sizeof number);
    auto owned = std::make_unique<std::int64_t>(number);
    objects_.emplace(number, py::object(object).release().ptr());
    carrier.storage()->keep(owned.release(), [](void* owner) {
      const std::unique_ptr<std::int64_t> key(static_cast<std::int64_t*>(owner));
      SharedObject::drop(instance().taken(*key));
    });
    return carrier;
  }

  /// A new reference, or an empty object.
  py::object find(std::int64_t number) {
    const std::scoped_lock lock(mutex_);
    const auto found = objects_.find(number);
    return found == objects_.end() ? py::object() : py::reinterpret_borrow<py::object>(found->second);
  }

 private:
  PyObject* taken(std::int64_t number) {
    const std::scoped_lock lock(mutex_);
    return objects_.extract(number).mapped();
  }

  std::mutex mutex_;
  std::unordered_map<std::int64_t, PyObject*> objects_;
  std::int64_t newest_ = 0;
};

}  // namespace

Tensor carrier_of(const py::object& object) {
  return Carried::instance().add(object);
}

py::object carried_by(const Tensor& tensor) {
  py::object object;
  if (tensor.dtype() == DType::int64 && tensor.count() == 1)
    object = Carried::instance().find(static_cast<std::int64_t>(tensor.item()));
  if (!object) fail<InvalidArgumentError>("a tensor does not carry an object");
  return object;
}

graph::HostCall host_call_of(const std::string& name, const py::object& function, bool has_results,
                             bool differentiable) {
  const auto held = std::make_shared<const HostFunction>(function);
  const auto owning = [held, name, has_results, differentiable] {
    const py::gil_scoped_acquire lock;
    return host_call_of(name, held->living(name), has_results, differentiable);
  };
  return {name, Caller{held, name, has_results}, differentiable, owning};
}

void own_host_functions(const graph::Graph& graph, py::list& list) {
  for (const graph::Node& node : graph.nodes) {
    if (node.host)
      if (const auto* caller = node.host->function.target<Caller>()) {
        list.append(caller->held->living(caller->name));
        caller->held->disown();
      }
    for (const auto& inner : node.graphs) own_host_functions(*inner, list);
  }
}

}  // namespace tapedeck::python
