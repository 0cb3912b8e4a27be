#include <cmath>
#include <complex>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T>
void write_magnitudes(const std::complex<T>* values, T* out, std::int64_t count) {
  for_blocks(count, grain_for(5), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) out[i] = std::hypot(values[i].real(), values[i].imag());
  });
}

}  // namespace

void magnitudes(DType dtype, const void* values, void* out, std::int64_t count) {
  if (dtype == DType::complex64)
    write_magnitudes(static_cast<const std::complex<float>*>(values), static_cast<float*>(out), count);
  else
    write_magnitudes(static_cast<const std::complex<double>*>(values), static_cast<double*>(out), count);
}

}  // namespace tapedeck::cpu
