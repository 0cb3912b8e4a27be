// Statistics of one tensor's values.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/record/cancel.h"
#include "engine/tensor/tensor.h"

namespace tapedeck {

struct Summary {
  std::uint64_t count = 0, finite = 0, zeros = 0, nan = 0, positive_infinity = 0, negative_infinity = 0;
  std::uint64_t subnormals = 0;              ///< in the dtype in which ops compute: these are slow
  double minimum, maximum, mean, deviation;  ///< of the finite values (population); NaN if there are none
  std::vector<std::uint64_t> histogram;      ///< finite values in equal bins from minimum to maximum
  Summary();
};

/// Row-major, in a dtype that has kernels: narrow values widened, complex numbers as magnitudes, uint64 as
/// the nearest float64. Not for strings.
Tensor in_kernel_dtype(const Tensor& tensor);

/// For strings only the count. Bit-identical for every number of threads. `threaded`: may use the engine's
/// threads (and then checks for interrupts); not to be set in the middle of an op's bookkeeping. Throws
/// Cancelled.
Summary summarize(const Tensor& tensor, std::uint32_t bins, bool threaded,
                  const CancelFlag* cancel = nullptr);

}  // namespace tapedeck
