// Prepares values on a GPU for its inspection kernels (backend/inspection.h). All functions queue on the
// calling thread's stream, after pending work on the tensor; callable from any thread.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Whether the tensor's own device can inspect it: a GPU whose kernels support the dtype, or one of another
/// framework, which does it by its own ops (foreign_devices.h). Complex numbers and uint64 are copied to the
/// host.
bool is_inspected_there(const Tensor& tensor);

/// Row-major on the same device, narrow values widened; the tensor itself if it is so already, and where
/// another framework has it.
Tensor in_kernel_dtype_there(const Tensor& tensor);

/// The magnitudes; for integers as float64.
Tensor absolutes_there(const Tensor& tensor);

/// now − before, of one device, dtype and shape.
Tensor change_there(const Tensor& before, const Tensor& now);

/// Copies a few values on the device to a row-major host tensor: a view that begins `offset` elements after
/// the tensor's first one.
Tensor part_on_host(const Tensor& tensor, const Shape& shape, const Strides& strides, std::int64_t offset);

}  // namespace tapedeck
