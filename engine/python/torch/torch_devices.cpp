#include "engine/python/torch/torch_devices.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include "engine/ops/core/observer.h"
#include "engine/python/torch/torch_storages.h"
#include "engine/record/recorder.h"
#include "engine/tensor/error.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck::python::torch {
namespace {

/// Of clones that share no memory with tensors of the program's.
constinit std::atomic<std::int64_t> copied_bytes{0};
int captures = 0;  // guarded by Python's lock

/// Of tapedeck.torch.devices.
py::object function(const char* name) {
  static PyObject* const module = py::module_::import("tapedeck.torch.devices").release().ptr();
  return checked(PyObject_GetAttrString(module, name));
}

/// Calls it; PyTorch's exceptions become errors with their text.
template <class... Arguments>
py::object called(const char* name, Arguments&&... arguments) {
  const py::error_scope raised_before;
  try {
    return function(name)(std::forward<Arguments>(arguments)...);
  } catch (py::error_already_set& error) {
    fail<FailedPreconditionError>("on its device: ", error.what());
  } catch (const ForeignException&) {
    py::error_already_set error;
    fail<FailedPreconditionError>("on its device: ", error.what());
  }
}

struct Owner {
  PyObject* flat;
  std::int64_t copied;
};

void release_owner(void* pointer) {
  auto* owner = static_cast<Owner*>(pointer);
  copied_bytes.fetch_sub(owner->copied, std::memory_order_relaxed);
  SharedObject::drop(owner->flat);
  delete owner;
}

py::handle flat_of(const StoragePointer& storage) {
  return static_cast<Owner*>(foreign_owner(*storage.get()))->flat;
}

StoragePointer storage_of_flat(Device device, py::object flat, std::int64_t bytes, bool copied) {
  if (copied) copied_bytes.fetch_add(bytes, std::memory_order_relaxed);
  return foreign_storage(device, static_cast<std::size_t>(bytes), &release_owner,
                         new Owner{flat.release().ptr(), copied ? bytes : 0});
}

py::tuple tuple_of(const Dims& dims) {
  py::tuple tuple(static_cast<std::size_t>(dims.rank()));
  for (int axis = 0; axis < dims.rank(); ++axis) tuple[static_cast<std::size_t>(axis)] = dims[axis];
  return tuple;
}

py::handle dtype_of(const Tensor& tensor) {
  PyObject* dtype = dtype_object(*library(), tensor.dtype());
  if (!dtype) fail<UnimplementedError>("PyTorch has no dtype ", dtype_name(tensor.dtype()));
  return dtype;
}

py::object view_there(const Tensor& tensor) {
  return called("view", flat_of(tensor.storage()), dtype_of(tensor), tuple_of(tensor.shape()),
                tuple_of(tensor.strides()), tensor.offset());
}

/// A row-major torch.Tensor on the device that nothing else has.
Tensor taken(py::object values, Device device, DType dtype, const Shape& shape) {
  const std::int64_t bytes = element_count(shape) * static_cast<std::int64_t>(item_size(dtype));
  StoragePointer storage = storage_of_flat(device, std::move(values).attr("reshape")(-1), bytes, true);
  return Tensor::view(std::move(storage), dtype, shape, contiguous_strides(shape), 0);
}

void check_budget(const Look& look, std::int64_t bytes) {
  const auto* recorder = dynamic_cast<const Recorder*>(current_observer());
  if (!recorder) return;
  const std::uint64_t budget = recorder->values().options().budget_bytes;
  const auto copied = static_cast<std::uint64_t>(copied_bytes.load(std::memory_order_relaxed));
  if (copied + static_cast<std::uint64_t>(bytes) > budget)
    fail<ResourceExhaustedError>("a copy of its ", bytes, " bytes on ", to_string(look.device),
                                 " would exceed the recording's budget of ", budget,
                                 " bytes, of which such copies have ", copied);
}

/// What PyTorch uses of each device that has values, asked at most ten times a second.
class Uses {
 public:
  void ask(Device device, const py::handle tensor) {
    const auto now = std::chrono::steady_clock::now();
    Use& use = uses_[static_cast<std::size_t>(device.index)];
    if (use.asked && now - use.when < std::chrono::milliseconds(100)) return;
    use.when = now;
    try {
      const py::tuple found = called("memory_of", tensor.attr("device"));
      const std::lock_guard lock(mutex_);
      use.asked = true;
      use.known = {device, found[0].cast<std::uint64_t>(), found[1].cast<std::uint64_t>()};
    } catch (const std::exception&) {  // of a module that has no such functions
      PyErr_Clear();
    }
  }
  std::vector<ForeignUse> all() const {
    const std::lock_guard lock(mutex_);
    std::vector<ForeignUse> found;
    for (const Use& use : uses_)
      if (use.asked) found.push_back(use.known);
    return found;
  }

 private:
  struct Use {
    bool asked = false;
    std::chrono::steady_clock::time_point when;
    ForeignUse known;
  };
  mutable std::mutex mutex_;
  std::array<Use, 256> uses_;
};

Uses& uses() {
  static auto* one = new Uses;
  return *one;
}

class TorchDevices final : public ForeignDevices {
 public:
  Tensor on_host(const Tensor& tensor) override {
    const py::gil_scoped_acquire locked;
    py::object host = called("on_host", view_there(tensor));
    const auto address =
        checked(PyObject_CallOneArg(library()->data_pointer, host.ptr())).cast<std::uintptr_t>();
    StoragePointer memory = StoragePointer::borrow(
        reinterpret_cast<const void*>(address), tensor.bytes(),
        [](void* object) { SharedObject::drop(static_cast<PyObject*>(object)); }, host.release().ptr());
    return Tensor::view(std::move(memory), tensor.dtype(), tensor.shape(), contiguous_strides(tensor.shape()),
                        0);
  }

  Tensor absolutes(const Tensor& tensor) override {
    const py::gil_scoped_acquire locked;
    return computed(called("absolutes", view_there(tensor)), tensor);
  }

  Tensor difference(const Tensor& now, const Tensor& before) override {
    const py::gil_scoped_acquire locked;
    return computed(called("difference", view_there(now), view_there(before)), now);
  }

  std::vector<ForeignStatistics> statistics(const Tensor& tensor) override {
    const py::gil_scoped_acquire locked;
    std::vector<ForeignStatistics> found;
    for (const py::handle part : called("statistics", view_there(tensor))) {
      const auto numbers = part.cast<std::array<double, 10>>();
      const auto count = [&](std::size_t at) { return static_cast<std::uint64_t>(numbers[at]); };
      found.push_back({count(0), count(1), count(2), count(3), count(4), count(5), numbers[6], numbers[7],
                       numbers[8], numbers[9]});
    }
    return found;
  }

  void histogram(const Tensor& tensor, double low, double high, std::span<std::uint64_t> bins) override {
    const py::gil_scoped_acquire locked;
    const auto counts =
        called("histogram", view_there(tensor), low, high, bins.size()).cast<std::vector<std::uint64_t>>();
    std::copy_n(counts.begin(), std::min(counts.size(), bins.size()), bins.begin());
  }

  std::vector<double> cells(const Tensor& matrix, std::int64_t rows, std::int64_t columns,
                            int which) override {
    const py::gil_scoped_acquire locked;
    return called("cells", view_there(matrix), rows, columns, which).cast<std::vector<double>>();
  }

  std::vector<ForeignUse> use() override { return uses().all(); }

 private:
  /// What a function made, row-major, of a tensor of that shape.
  static Tensor computed(py::object values, const Tensor& like) {
    const auto dtype = dtype_named(*library(), values.attr("dtype").ptr());
    if (!dtype) fail<UnimplementedError>("a value on ", to_string(like.device()), " has an unknown dtype");
    return taken(std::move(values), like.device(), *dtype, like.shape());
  }
};

/// Lazy clones of memory that a graph is about to write at its address must not move it afterwards.
void end_sharing() {
  std::vector<py::object> shared;  // Python's code may change the map
  for (auto& [unused, known] : tensors().storages) {
    if (!known.elsewhere) continue;
    known.exported = true;
    PyObject* storage = known.reference ? PyWeakref_GetObject(known.reference) : Py_None;
    if (storage && storage != Py_None) shared.push_back(py::reinterpret_borrow<py::object>(storage));
  }
  for (const py::object& storage : shared) storage.attr("data_ptr")();
}

}  // namespace

StoragePointer cloned_there(PyObject* tensor, const Look& look, std::int64_t low, std::int64_t high,
                            bool lazily) {
  if (captures > 0)
    fail<FailedPreconditionError>("it was made while a graph of the device's work was captured");
  const auto size = static_cast<std::int64_t>(item_size(look.dtype));
  if (lazily && (low % size != 0 || high % size != 0)) return {};
  if (!lazily) check_budget(look, high - low);
  py::object flat = called("clone", py::handle(tensor), low / size, (high - low) / size, lazily);
  if (flat.is_none()) return {};
  uses().ask(look.device, flat);
  return storage_of_flat(look.device, std::move(flat), high - low, !lazily);
}

bool is_same_there(PyObject* tensor, const Look& look, const StoragePointer& snapshot, std::int64_t low) {
  const auto size = static_cast<std::int64_t>(item_size(look.dtype));
  try {
    return is_true(called("has_bytes", py::handle(tensor), look.low / size, (look.high - look.low) / size,
                          flat_of(snapshot), look.low - low));
  } catch (const Error&) {  // a late error of the device, which the program will meet
    return false;
  }
}

Tensor resolved_there(const Tensor& numbers, const Unresolved& how) {
  return taken(called("resolved", view_there(numbers), how.conjugate, how.negative), numbers.device(),
               numbers.dtype(), numbers.shape());
}

Tensor copy_there(PyObject* tensor, const Look& look) {
  py::object flat = called("flat_copy", py::handle(tensor));
  const auto size = static_cast<std::int64_t>(item_size(look.dtype));
  return Tensor::view(storage_of_flat(look.device, std::move(flat), look.high - look.low, true), look.dtype,
                      look.shape, look.strides, look.offset - look.low / size);
}

py::object torch_tensor_there(const Tensor& tensor) {
  return called("copy_to_write", view_there(tensor));
}

bool is_same_there(const Tensor& left, const Tensor& right) {
  return is_true(called("is_same", view_there(left), view_there(right)));
}

py::object random_state_there(std::span<const Tensor> tensors) {
  for (const Tensor& tensor : tensors)
    if (tensor && tensor.storage() && is_foreign(tensor.device()))
      return called("RandomState", flat_of(tensor.storage()).attr("device"));
  return py::none();
}

bool is_captured() {
  return captures > 0;
}

void install_devices() {
  static auto* memory = new TorchDevices;
  set_foreign_devices(*memory);
}

void bind_devices(py::module_& torch) {
  torch.def(
      "begin_capture",
      [] {
        ++captures;
        end_sharing();
      },
      "A graph of a device's work is captured from now on.");
  torch.def(
      "end_capture", [] { captures = std::max(0, captures - 1); }, "It is not any more.");
}

}  // namespace tapedeck::python::torch
