#include <cmath>

#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T>
void mark_top(const T* values, std::int64_t rows, std::int64_t count, const std::int64_t* targets,
              std::int64_t k, bool* out) {
  for (std::int64_t row = 0; row < rows; ++row, values += count) {
    bool finite = targets[row] >= 0 && targets[row] < count;
    std::int64_t better = 0;
    for (std::int64_t j = 0; finite && j < count; ++j) {
      finite = std::isfinite(values[j]);
      better += values[j] > values[targets[row]];
    }
    out[row] = finite && better < k;
  }
}

}  // namespace

void in_top_k(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
              const std::int64_t* targets, std::int64_t k, bool* out) {
  if (dtype == DType::float32)
    mark_top(static_cast<const float*>(values), rows, count, targets, k, out);
  else
    mark_top(static_cast<const double*>(values), rows, count, targets, k, out);
}

}  // namespace tapedeck::cpu
