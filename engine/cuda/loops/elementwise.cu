// Elementwise kernels that are not functions of the table. Compiled without contraction, like those.
#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/elementwise.h"
#include "engine/tensor/narrow_formats.h"

namespace tapedeck::cuda {
namespace {

template <class T, int width>
__global__ void clip_kernel(Source<T> x, Source<T> low, Source<T> high, T* out, std::int64_t count) {
  const T least = low.at(0), highest = high.at(0);
  const T most = least != least ? least : highest;  // either limit that is NaN makes all NaN
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    Pack<T, width> values = x.template pack<width>(i, count);
    for (T& value : values.values) {
      const T raised = value > least ? value : least;
      const T cut = raised < most ? raised : most;
      value = value != value ? value : cut;
    }
    store_pack(out, i, count, values);
  }
}

template <class T, int width>
__global__ void scaled_sum_kernel(Source<T> a, Source<T> x, Source<T> b, Source<T> y, T* out,
                                  std::int64_t count) {
  const T left = a.at(0), right = b.at(0);
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    Pack<T, width> values = x.template pack<width>(i, count);
    const Pack<T, width> others = y.template pack<width>(i, count);
    for (int k = 0; k < width; ++k) values.values[k] = left * values.values[k] + right * others.values[k];
    store_pack(out, i, count, values);
  }
}

template <class T, int width>
__global__ void select_kernel(Source<std::uint8_t> condition, Source<T> a, Source<T> b, T* out,
                              Walk<3> walk) {
  for (std::int64_t i = thread_number(); i < walk.steps; i += thread_count()) {
    std::int64_t place[3];
    walk.offsets(static_cast<std::uint32_t>(i), place);
    if (width == 1 || walk.width == 1) {
      out[i] = condition.at(place[0]) != 0 ? a.at(place[1]) : b.at(place[2]);
      continue;
    }
    const std::int64_t first = i * width, here = walk.count - first;
    const auto flags = condition.template step_of<width>(walk, 0, place[0], here);
    Pack<T, width> result = a.template step_of<width>(walk, 1, place[1], here);
    const Pack<T, width> other = b.template step_of<width>(walk, 2, place[2], here);
    for (int k = 0; k < width; ++k)
      if (flags.values[k] == 0) result.values[k] = other.values[k];
    store_pack(out, first, walk.count, result);
  }
}

template <class Format, int width>
__global__ void widen_kernel(Source<std::uint16_t> from, float* to, std::int64_t count) {
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    const Pack<std::uint16_t, width> bits = from.template pack<width>(i, count);
    Pack<float, width> values;
    for (int k = 0; k < width; ++k) values.values[k] = Format::to_float(bits.values[k]);
    store_pack(to, i, count, values);
  }
}
template <class Format, int width>
__global__ void narrow_kernel(Source<float> from, std::uint16_t* to, std::int64_t count) {
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    const Pack<float, width> values = from.template pack<width>(i, count);
    Pack<std::uint16_t, width> bits;
    for (int k = 0; k < width; ++k) bits.values[k] = Format::from_float(values.values[k]);
    store_pack(to, i, count, bits);
  }
}

/// Calls `f(T{})` with the C++ type of a dtype that GPUs compute with.
template <class F>
void with_number(const char* name, DType dtype, F&& f) {
  switch (dtype) {
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    default:
      throw NoKernel(name);
  }
}

/// For contiguous values, and single ones.
template <class T>
Source<T> side_by_side(const void* data) {
  return Source<T>(data, 1, false);
}
template <class T>
Source<T> single(const Values& value) {
  return Source<T>(value.data, 0, value.immediate);
}

}  // namespace

void clip(DType dtype, const void* x, const Values& low, const Values& high, void* out, std::int64_t count) {
  with_number("clip", dtype, [&]<class T>(T) {
    constexpr int width = pack_width<T>;
    launch("clip", grid_for(count, width), clip_kernel<T, width>, side_by_side<T>(x), single<T>(low),
           single<T>(high), static_cast<T*>(out), count);
  });
}

void scaled_sum(DType dtype, const Values& a, const void* x, const Values& b, const void* y, void* out,
                std::int64_t count) {
  with_number("scaled_sum", dtype, [&]<class T>(T) {
    if constexpr (std::is_floating_point_v<T>) {
      constexpr int width = pack_width<T>;
      launch("scaled_sum", grid_for(count, width), scaled_sum_kernel<T, width>, single<T>(a),
             side_by_side<T>(x), single<T>(b), side_by_side<T>(y), static_cast<T*>(out), count);
    } else {
      throw NoKernel("scaled_sum");
    }
  });
}

void select(DType dtype, const Operand& condition, const Operand& a, const Operand& b, void* out,
            const Shape& shape) {
  const Strides condition_strides = strides_of(condition), a_strides = strides_of(a),
                b_strides = strides_of(b);
  const auto of = [&]<class T>(T) {
    for_walks<3>(shape, {&condition_strides, &a_strides, &b_strides},
                 [&](Walk<3> walk, const std::array<std::int64_t, 3>& at, std::int64_t first) {
                   walk.widen(pack_width<T>);
                   launch("select", grid_for(walk.steps), select_kernel<T, pack_width<T>>,
                          source_at<std::uint8_t>(condition, at[0]), source_at<T>(a, at[1]),
                          source_at<T>(b, at[2]), static_cast<T*>(out) + first, walk);
                 });
  };
  switch (item_size(dtype)) {
    case 1:
      return of(std::uint8_t{});
    case 2:
      return of(std::uint16_t{});
    case 4:
      return of(std::uint32_t{});
    case 8:
      return of(std::uint64_t{});
    default:
      throw NoKernel("select");
  }
}

void widen(DType narrow, const std::uint16_t* from, float* to, std::int64_t count) {
  const auto kernel = narrow == DType::float16 ? widen_kernel<Float16, 4> : widen_kernel<BFloat16, 4>;
  launch("widen", grid_for(count, 4), kernel, side_by_side<std::uint16_t>(from), to, count);
}
void narrow(DType narrow, const float* from, std::uint16_t* to, std::int64_t count) {
  const auto kernel = narrow == DType::float16 ? narrow_kernel<Float16, 4> : narrow_kernel<BFloat16, 4>;
  launch("narrow", grid_for(count, 4), kernel, side_by_side<float>(from), to, count);
}

}  // namespace tapedeck::cuda
