#include <algorithm>
#include <complex>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

template <class T>
void transform(bool inverse, std::complex<T>* values, std::int64_t outer, std::int64_t count,
               std::int64_t inner) {
  const auto grain = std::max<std::int64_t>(1, 16384 / count);
  for_blocks(outer * inner, grain, [&](std::int64_t begin, std::int64_t end) {
    Eigen::FFT<T> plan;
    std::vector<std::complex<T>> line(static_cast<std::size_t>(count)), result(line.size());
    for (std::int64_t i = begin; i < end; ++i) {
      std::complex<T>* first = values + i / inner * inner * count + i % inner;
      for (std::size_t k = 0; k < line.size(); ++k) line[k] = first[static_cast<std::int64_t>(k) * inner];
      if (inverse)
        plan.inv(result.data(), line.data(), static_cast<Eigen::Index>(count));
      else
        plan.fwd(result.data(), line.data(), static_cast<Eigen::Index>(count));
      for (std::size_t k = 0; k < line.size(); ++k) first[static_cast<std::int64_t>(k) * inner] = result[k];
    }
  });
}

}  // namespace

void fourier(bool inverse, DType dtype, void* values, std::int64_t outer, std::int64_t count,
             std::int64_t inner) {
  if (count <= 1) return;
  if (dtype == DType::complex64)
    transform(inverse, static_cast<std::complex<float>*>(values), outer, count, inner);
  else
    transform(inverse, static_cast<std::complex<double>*>(values), outer, count, inner);
}

}  // namespace tapedeck::cpu
