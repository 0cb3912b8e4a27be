// Products of two real matrices.
#pragma once

#include <cstdint>

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

/// c = op(A)·op(B), or c += with `add`; c's rows are `ldc` values apart. The order of summation depends only
/// on the sizes, so results do not depend on the number of threads; between tasks the calling thread checks
/// for interrupts. For float and double.
template <class T>
void gemm(const MatmulSize& size, const T* a, const T* b, bool add, T* c, std::int64_t ldc);

extern template void gemm(const MatmulSize&, const float*, const float*, bool, float*, std::int64_t);
extern template void gemm(const MatmulSize&, const double*, const double*, bool, double*, std::int64_t);

}  // namespace tapedeck::cpu
