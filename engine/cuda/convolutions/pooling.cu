#include <type_traits>

#include "engine/cuda/index.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {
namespace {

/// As PoolingSize. Index: std::int32_t where all places fit.
template <class Index>
struct Pools {
  Index batch;
  Divisor<Index> channels, input[2], output[2], stride[2];
  Index window[2], before[2];

  explicit Pools(const PoolingSize& s)
      : batch(static_cast<Index>(s.batch)),
        channels(s.channels),
        input{Divisor<Index>(s.input[0]), Divisor<Index>(s.input[1])},
        output{Divisor<Index>(s.output[0]), Divisor<Index>(s.output[1])},
        stride{Divisor<Index>(s.stride[0]), Divisor<Index>(s.stride[1])},
        window{static_cast<Index>(s.window[0]), static_cast<Index>(s.window[1])},
        before{static_cast<Index>(s.before[0]), static_cast<Index>(s.before[1])} {}

  /// The first and the last window along an axis that contain a place, cut to those that there are.
  __device__ Index first_window(int axis, Index place) const {
    const Index beyond = place + before[axis] - window[axis];
    return beyond < 0 ? 0 : beyond / stride[axis] + 1;
  }
  __device__ Index last_window(int axis, Index place) const {
    const Index last = (place + before[axis]) / stride[axis];
    return last < output[axis] ? last : output[axis] - 1;
  }
};

/// An element of images of this extent.
template <class Index>
struct Place {
  Index image, row, column, channel;
  __device__ Place(Index at, const Divisor<Index>* extent, const Divisor<Index>& channels) {
    const Index pixel = at / channels;
    channel = at - pixel * channels;
    const Index line = pixel / extent[1];
    column = pixel - line * extent[1];
    image = line / extent[0];
    row = line - image * extent[0];
  }
};

/// The window of an output element, cut to the image, and where its channel begins in the input.
template <class Index>
struct Window {
  Index top, bottom, left, right;
  Index first;
  __device__ Window(const Pools<Index>& s, const Place<Index>& of) : Window(s, of.row, of.column) {
    first = of.image * s.input[0] * s.input[1] * s.channels + of.channel;
  }
  __device__ Window(const Pools<Index>& s, Index row, Index column) : first(0) {
    const Index y = row * s.stride[0] - s.before[0], x = column * s.stride[1] - s.before[1];
    top = y > 0 ? y : 0;
    left = x > 0 ? x : 0;
    bottom = y + s.window[0] < s.input[0] ? y + s.window[0] : s.input[0];
    right = x + s.window[1] < s.input[1] ? x + s.window[1] : s.input[1];
  }
  __device__ bool empty() const { return bottom <= top || right <= left; }
  __device__ Index count() const { return (bottom - top) * (right - left); }
  __device__ Index at(const Pools<Index>& s, Index y, Index x) const {
    return first + (y * s.input[1] + x) * s.channels;
  }
};

template <class T>
__device__ bool is_nan(T value) {
  if constexpr (std::is_floating_point_v<T>)
    return value != value;
  else
    return false;
}

/// What is written for an output element's window.
enum class Wanted { largest, number, value, position };

/// `number`: which place of the whole window, counted from 0, the first largest value has; -1 where the
/// window lies outside. `position`: which of its image.
template <Wanted wanted, class T, class Out, class Index>
__global__ void largest_kernel(Pools<Index> s, std::int64_t count, const T* input, const T* values,
                               Out* out) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const Place<Index> of(static_cast<Index>(i), s.output, s.channels);
    const Window<Index> window(s, of);
    if (window.empty()) {
      if constexpr (wanted == Wanted::number) out[i] = -1;
      continue;
    }
    Index best_y = window.top, best_x = window.left;
    T best = input[window.at(s, best_y, best_x)];
    for (Index y = window.top; y < window.bottom; ++y)
      for (Index x = window.left; x < window.right; ++x) {
        const T value = input[window.at(s, y, x)];
        if (value > best || (is_nan(value) && !is_nan(best))) {
          best = value;
          best_y = y;
          best_x = x;
        }
      }
    if constexpr (wanted == Wanted::largest)
      out[i] = best;
    else if constexpr (wanted == Wanted::number)
      out[i] = static_cast<Out>((best_y - (of.row * s.stride[0] - s.before[0])) * s.window[1] +
                                (best_x - (of.column * s.stride[1] - s.before[1])));
    else if constexpr (wanted == Wanted::value)
      out[i] = values[window.at(s, best_y, best_x)];
    else
      out[i] = static_cast<Out>(best_y * s.input[1] + best_x) * s.channels + of.channel;
  }
}

/// Integers are added as unsigned ones: overflow wraps around.
template <class T>
__device__ T add(T a, T b) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) + static_cast<std::make_unsigned_t<T>>(b));
  else
    return a + b;
}

/// Each input element adds the windows that contain it, in order.
template <class T, class Index>
__global__ void scatter_to_largest(Pools<Index> s, std::int64_t count, const Index* numbers,
                                   const T* gradient, T* out) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const Place<Index> of(static_cast<Index>(i), s.input, s.channels);
    T sum{};
    for (Index row = s.first_window(0, of.row); row <= s.last_window(0, of.row); ++row)
      for (Index column = s.first_window(1, of.column); column <= s.last_window(1, of.column); ++column) {
        const Index number = (of.row + s.before[0] - row * s.stride[0]) * s.window[1] +
                             (of.column + s.before[1] - column * s.stride[1]);
        const Index at = ((of.image * s.output[0] + row) * s.output[1] + column) * s.channels + of.channel;
        if (numbers[at] == number) sum = add(sum, gradient[at]);
      }
    out[i] = sum;
  }
}

template <class T, class Index>
__global__ void mean_kernel(Pools<Index> s, std::int64_t count, const T* input, T* out) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const Window<Index> window(s, Place<Index>(static_cast<Index>(i), s.output, s.channels));
    if (window.empty()) continue;
    T sum{};
    for (Index y = window.top; y < window.bottom; ++y)
      for (Index x = window.left; x < window.right; ++x) sum += input[window.at(s, y, x)];
    out[i] = sum / static_cast<T>(window.count());
  }
}

template <class T, class Index>
__global__ void scatter_evenly(Pools<Index> s, std::int64_t count, const T* gradient, T* out) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const Place<Index> of(static_cast<Index>(i), s.input, s.channels);
    T sum{};
    for (Index row = s.first_window(0, of.row); row <= s.last_window(0, of.row); ++row)
      for (Index column = s.first_window(1, of.column); column <= s.last_window(1, of.column); ++column) {
        const Window<Index> window(s, row, column);
        const Index at = ((of.image * s.output[0] + row) * s.output[1] + column) * s.channels + of.channel;
        sum += gradient[at] / static_cast<T>(window.count());
      }
    out[i] = sum;
  }
}

std::int64_t input_count(const PoolingSize& s) {
  return s.batch * s.input[0] * s.input[1] * s.channels;
}
std::int64_t output_count(const PoolingSize& s) {
  return s.batch * s.output[0] * s.output[1] * s.channels;
}

/// Calls `f(T{}, pools)` with the kernels' types.
template <class F>
void with_types(const char* name, DType dtype, bool integers, const PoolingSize& s, F&& f) {
  const std::int64_t most =
      std::max({input_count(s), output_count(s), (s.input[0] + s.window[0]) * s.window[1]});
  const auto of = [&]<class T>(T) {
    visit_index(most, [&]<class Index>(Index) { f(T{}, Pools<Index>(s)); });
  };
  if (dtype == DType::float32)
    of(float{});
  else if (dtype == DType::float64)
    of(double{});
  else if (integers && dtype == DType::int32)
    of(std::int32_t{});
  else if (integers && dtype == DType::int64)
    of(std::int64_t{});
  else
    throw NoKernel(name);
}

template <Wanted wanted, class Out>
void launch_largest(const char* name, DType dtype, const PoolingSize& size, const void* input,
                    const void* values, void* out) {
  with_types(name, dtype, true, size, [&]<class T, class Index>(T, const Pools<Index>& pools) {
    using Written = std::conditional_t<std::is_void_v<Out>, T, Out>;
    launch(name, grid_for(output_count(size)), largest_kernel<wanted, T, Written, Index>, pools,
           output_count(size), static_cast<const T*>(input), static_cast<const T*>(values),
           static_cast<Written*>(out));
  });
}

}  // namespace

void max_pool(DType dtype, const PoolingSize& size, const void* input, void* out) {
  launch_largest<Wanted::largest, void>("max_pool", dtype, size, input, nullptr, out);
}

void max_pool_scatter(DType dtype, const PoolingSize& size, const void* input, const void* gradient,
                      void* out) {
  with_types("max_pool_scatter", dtype, true, size, [&]<class T, class Index>(T, const Pools<Index>& pools) {
    const Scratch numbers(static_cast<std::size_t>(output_count(size)) * sizeof(Index));
    launch("max_pool_numbers", grid_for(output_count(size)), largest_kernel<Wanted::number, T, Index, Index>,
           pools, output_count(size), static_cast<const T*>(input), static_cast<const T*>(nullptr),
           numbers.as<Index>());
    launch("max_pool_scatter", grid_for(input_count(size)), scatter_to_largest<T, Index>, pools,
           input_count(size), numbers.as<Index>(), static_cast<const T*>(gradient), static_cast<T*>(out));
  });
}

void max_pool_gather(DType dtype, const PoolingSize& size, const void* input, const void* values, void* out) {
  launch_largest<Wanted::value, void>("max_pool_gather", dtype, size, input, values, out);
}

void max_pool_positions(DType dtype, const PoolingSize& size, const void* input, std::int64_t* out) {
  launch_largest<Wanted::position, std::int64_t>("max_pool_positions", dtype, size, input, nullptr, out);
}

void avg_pool(DType dtype, const PoolingSize& size, const void* input, void* out) {
  with_types("avg_pool", dtype, false, size, [&]<class T, class Index>(T, const Pools<Index>& pools) {
    if constexpr (std::is_floating_point_v<T>)
      launch("avg_pool", grid_for(output_count(size)), mean_kernel<T, Index>, pools, output_count(size),
             static_cast<const T*>(input), static_cast<T*>(out));
  });
}

void avg_pool_scatter(DType dtype, const PoolingSize& size, const void* gradient, void* out) {
  with_types("avg_pool_scatter", dtype, false, size, [&]<class T, class Index>(T, const Pools<Index>& pools) {
    if constexpr (std::is_floating_point_v<T>)
      launch("avg_pool_scatter", grid_for(input_count(size)), scatter_evenly<T, Index>, pools,
             input_count(size), static_cast<const T*>(gradient), static_cast<T*>(out));
  });
}

}  // namespace tapedeck::cuda
