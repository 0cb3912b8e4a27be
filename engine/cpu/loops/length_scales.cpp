#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/backend/kernels.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T>
void write_scales(const T* sums, const T* largest, std::int64_t count, T* scales) {
  constexpr int most = std::numeric_limits<T>::max_exponent - 2;
  for (std::int64_t i = 0; i < count; ++i) {
    const bool scaled = !kernels::keeps_digits(sums[i]) && largest[i] > 0 && std::isfinite(largest[i]);
    scales[i] = scaled ? std::ldexp(T(1), -std::clamp(std::ilogb(largest[i]), -most, most)) : T(1);
  }
}

}  // namespace

void length_scales(DType dtype, const void* sums, const void* largest, std::int64_t count, void* scales) {
  if (dtype == DType::float32)
    write_scales(static_cast<const float*>(sums), static_cast<const float*>(largest), count,
                 static_cast<float*>(scales));
  else
    write_scales(static_cast<const double*>(sums), static_cast<const double*>(largest), count,
                 static_cast<double*>(scales));
}

}  // namespace tapedeck::cpu
