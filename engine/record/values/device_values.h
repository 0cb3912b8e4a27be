// Values on a GPU, as those of its kernels read them that tell something of them (backend/inspection.h). All
// run on the calling thread's stream, behind what is done with the tensor already; from any thread.
#pragma once

#include "engine/tensor/tensor.h"

namespace tapedeck {

/// Whether the tensor's own device tells what is asked of it: a GPU, where its kernels know the dtype.
/// Complex numbers and uint64 are brought to the host.
bool is_inspected_there(const Tensor& tensor);

/// Row-major on the same device, narrow values widened: itself where it is so already.
Tensor in_kernel_dtype_there(const Tensor& tensor);

/// The magnitudes, of whole numbers as float64.
Tensor absolutes_there(const Tensor& tensor);

/// now − before, of one device, dtype and shape.
Tensor change_there(const Tensor& before, const Tensor& now);

/// What a few values on the device are, copied into a row-major tensor of the host: a view that begins
/// `offset` elements behind the tensor's first one.
Tensor part_on_host(const Tensor& tensor, const Shape& shape, const Strides& strides, std::int64_t offset);

}  // namespace tapedeck
