// Values on other devices than the CPU: they stay there. A snapshot is a flat torch.Tensor on the device
// (tapedeck/torch/devices.py), and a tensor of the engine's in it is read by PyTorch's own ops. Nothing here
// waits for the device unless it says so.
#pragma once

#include <span>

#include "engine/python/torch/torch_look.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::python::torch {

/// Needs the package's Python: once, after load_library().
void install_devices();

/// A clone of the bytes [low, high) of the tensor's storage. Empty where it is to be lazy and can't be.
/// Throws FailedPreconditionError with the reason: the budget, PyTorch's own exception.
StoragePointer cloned_there(PyObject* tensor, const Look& look, std::int64_t low, std::int64_t high,
                            bool lazily);
/// Whether the tensor's bytes are those of the snapshot, which begins with its storage's byte `low`. Waits
/// for the device, unless they are the same memory.
bool is_same_there(PyObject* tensor, const Look& look, const StoragePointer& snapshot, std::int64_t low);
/// What PyTorch would compute of numbers of the snapshot.
Tensor resolved_there(const Tensor& numbers, const Unresolved& how);
/// A copy of the tensor as it is.
Tensor copy_there(PyObject* tensor, const Look& look);
/// A torch.Tensor with a copy of the values, in the same layout, on their device.
py::object torch_tensor_there(const Tensor& tensor);
/// Bit by bit, of one shape and dtype. Waits for the device.
bool is_same_there(const Tensor& left, const Tensor& right);
/// devices.RandomState of the first device that one of them is on; None where they are on the CPU.
py::object random_state_there(std::span<const Tensor> tensors);

/// A graph of a device's work is being captured: memory that it reads and writes has no copies meanwhile.
bool is_captured();

void bind_devices(py::module_& torch);

}  // namespace tapedeck::python::torch
