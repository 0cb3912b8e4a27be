#include <cmath>

#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/packs.h"

namespace tapedeck::cuda {
namespace {

// Sums and products are rounded one by one, as on the CPU.

template <class T>
__device__ __forceinline__ T term(const kernels::Sequence& of, bool whole, std::int64_t i) {
  return whole ? static_cast<T>(static_cast<std::uint64_t>(of.whole_start) +
                                static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(of.whole_delta))
               : static_cast<T>(__dadd_rn(of.start, __dmul_rn(static_cast<double>(i), of.delta)));
}
template <class T>
__global__ void sequence_kernel(kernels::Sequence of, bool whole, T* out, std::int64_t count) {
  constexpr int width = pack_width<T>;
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    Pack<T, width> terms;
    for (int k = 0; k < width; ++k) terms.values[k] = term<T>(of, whole, i + k);
    store_pack(out, i, count, terms);
  }
}

/// A value, or its address on the device.
template <class T>
struct End {
  const T* place;
  T value;

  explicit End(const kernels::Values& of)
      : place(of.immediate ? nullptr : static_cast<const T*>(of.data)),
        value(of.immediate ? *static_cast<const T*>(of.data) : T(0)) {}
  __device__ double get() const { return static_cast<double>(place ? *place : value); }
};

template <class T>
__global__ void linspace_kernel(End<T> start_at, End<T> stop_at, T* out, std::int64_t count) {
  const double start = start_at.get(), stop = stop_at.get();
  const double distance = __dadd_rn(stop, -start);
  const bool is_short = std::isfinite(distance);
  const std::int64_t last = count - 1;
  constexpr int width = pack_width<T>;
  for (std::int64_t first = thread_number() * width; first < count; first += thread_count() * width) {
    Pack<T, width> points;
    for (int k = 0; k < width; ++k) {
      const std::int64_t i = first + k;
      const double part = last == 0 ? 0.0 : static_cast<double>(i) / static_cast<double>(last);
      const double point = is_short ? __dadd_rn(start, __dmul_rn(distance, part))
                                    : __dadd_rn(__dmul_rn(start, 1.0 - part), __dmul_rn(stop, part));
      points.values[k] = static_cast<T>(i == last && last > 0 ? stop : point);
    }
    store_pack(out, first, count, points);
  }
}

}  // namespace

void sequence(DType dtype, const Sequence& of, void* out, std::int64_t count) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    launch("sequence", grid_for(count, pack_width<T>), sequence_kernel<T>, of, is_integer(dtype) && of.whole,
           static_cast<T*>(out), count);
  });
}

void linspace(DType dtype, const Values& start, const Values& stop, void* out, std::int64_t count) {
  if (dtype == DType::float32)
    launch("linspace", grid_for(count, pack_width<float>), linspace_kernel<float>, End<float>(start),
           End<float>(stop), static_cast<float*>(out), count);
  else
    launch("linspace", grid_for(count, pack_width<double>), linspace_kernel<double>, End<double>(start),
           End<double>(stop), static_cast<double*>(out), count);
}

}  // namespace tapedeck::cuda
