#include "engine/cuda/convolutions/convolution_windows.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/products/products.h"

namespace tapedeck::cuda {
namespace {

/// Values of unfolded images processed at once: they stay in a large GPU's L2 cache.
constexpr std::int64_t most_unfolded = 1 << 23;

/// Contiguous channels, which move at once.
template <class T>
struct alignas(16) Pack {
  static constexpr std::int64_t channels = 16 / sizeof(T);
  T of[channels];
  __device__ Pack& operator+=(const Pack& other) {
    for (int k = 0; k < channels; ++k) of[k] += other.of[k];
    return *this;
  }
};

/// to: groups × pixels × taps, the taps of the output pixels from `first` on.
template <class T, class Index>
__global__ void unfold(Windows<Index> w, Divisor<Index> taps, Index first, Divisor<Index> pixels,
                       const T* input, T* to) {
  const std::int64_t count = static_cast<std::int64_t>(w.groups) * pixels * taps;
  const Index channels = w.groups * w.channels_in;
  for (std::int64_t at = thread_number(); at < count; at += thread_count()) {
    const Index row = static_cast<Index>(at) / taps, tap = static_cast<Index>(at) - row * taps;
    const Index group = row / pixels, position = tap / w.channels_in;
    const Index i = position / w.kernel[1];
    const Index from = w.under(Windows<Index>::pixel_of(first + row - group * pixels, w.output), i,
                               position - i * w.kernel[1]);
    const Index channel = group * w.channels_in + (tap - position * w.channels_in);
    to[at] = from < 0 ? T{} : input[static_cast<std::int64_t>(from) * channels + channel];
  }
}

/// Adds to each value of the input all that unfold took from it, for the same output pixels; from the input
/// pixel `begin` to `end`.
template <class T, class Index>
__global__ void fold(Windows<Index> w, Index taps, Index first, Index pixels, Index begin, Index end,
                     Divisor<Index> channels, const T* from, T* out) {
  const std::int64_t last = static_cast<std::int64_t>(end) * channels;
  for (std::int64_t at = static_cast<std::int64_t>(begin) * channels + thread_number(); at < last;
       at += thread_count()) {
    const Index i_pixel = static_cast<Index>(at) / channels,
                channel = static_cast<Index>(at) - i_pixel * channels;
    const Index group = channel / w.channels_in;
    const auto pixel = Windows<Index>::pixel_of(i_pixel, w.input);
    T sum = out[at];
    for (Index i = 0; i < w.kernel[0]; ++i) {
      const Index row = w.over(0, pixel.row, i);
      if (row < 0) continue;
      for (Index j = 0; j < w.kernel[1]; ++j) {
        const Index column = w.over(1, pixel.column, j);
        if (column < 0) continue;
        const Index own = (pixel.image * w.output[0] + row) * w.output[1] + column - first;
        if (own < 0 || own >= pixels) continue;
        sum += from[static_cast<std::int64_t>(group * pixels + own) * taps +
                    ((i * w.kernel[1] + j) * w.channels_in + channel - group * w.channels_in)];
      }
    }
    out[at] = sum;
  }
}

/// The unfolded image and the gradient of a group are matrices with a row for each output pixel; the filter
/// is one with a row for each tap.
struct Form {
  std::int64_t pixels, taps;
  std::int64_t row_in, row_out;  ///< channels of a pixel
  std::int64_t filter_row;       ///< the distance of the filter's rows

  explicit Form(const ConvolutionSize& s)
      : pixels(output_pixels(s)),
        taps(s.kernel[0] * s.kernel[1] * s.channels_in),
        row_in(s.groups * s.channels_in),
        row_out(s.groups * s.channels_out),
        filter_row(s.channels_in == 1 ? s.position_stride : s.in_stride) {}

  std::int64_t pixels_at_once(const ConvolutionSize& s) const {
    const std::int64_t most = std::max<std::int64_t>(1, most_unfolded / (s.groups * taps));
    const std::int64_t image = s.output[0] * s.output[1];
    return std::min(pixels, most < image ? most : most / image * image);
  }
};

/// The input is its own unfolded form.
bool is_pointwise(const ConvolutionSize& s) {
  return s.kernel == kernels::Extent2{1, 1} && s.stride == kernels::Extent2{1, 1} &&
         s.before == kernels::Extent2{0, 0} && s.input == s.output;
}

/// Rows of taps, in the input itself or unfolded.
template <class T>
struct Rows {
  T* first;
  std::int64_t row, group;  ///< the distances of rows and groups
};

/// Calls `f(first pixel, pixels, rows)` for one block of output pixels after another.
template <class T, class F>
void for_blocks(const ConvolutionSize& size, const T* pointwise, F&& f) {
  const Form form(size);
  if (is_pointwise(size)) {
    f(std::int64_t{0}, form.pixels, Rows<T>{const_cast<T*>(pointwise), form.row_in, size.channels_in});
    return;
  }
  const std::int64_t step = form.pixels_at_once(size);
  const Scratch rows(static_cast<std::size_t>(size.groups * step * form.taps) * sizeof(T));
  for (std::int64_t first = 0; first < form.pixels; first += step) {
    const std::int64_t pixels = std::min(step, form.pixels - first);
    f(first, pixels, Rows<T>{rows.as<T>(), form.taps, pixels * form.taps});
  }
}

/// Calls `f(size, T*)`, with packs of values if the number and alignment of channels permit.
template <class T, class F>
void in_packs(ConvolutionSize size, const T* image, F&& f) {
  if (size.channels_in % Pack<T>::channels != 0 ||
      reinterpret_cast<std::uintptr_t>(image) % alignof(Pack<T>) != 0)
    return f(size, T{});
  size.channels_in /= Pack<T>::channels;
  f(size, Pack<T>{});
}

template <class T>
void unfold_block(const ConvolutionSize& whole, std::int64_t first, std::int64_t pixels, const T* input,
                  T* to) {
  if (is_pointwise(whole)) return;
  in_packs(whole, input, [&]<class V>(const ConvolutionSize& size, V) {
    const Form form(size);
    const std::int64_t count = size.groups * pixels * form.taps;
    with_windows(size, count, [&]<class Index>(const Windows<Index>& windows) {
      launch("convolution_unfold", grid_for(count), unfold<V, Index>, windows, Divisor<Index>(form.taps),
             static_cast<Index>(first), Divisor<Index>(pixels), reinterpret_cast<const V*>(input),
             reinterpret_cast<V*>(to));
    });
  });
}

template <class T>
void fold_block(const ConvolutionSize& whole, std::int64_t first, std::int64_t pixels, const T* from,
                T* out) {
  if (is_pointwise(whole)) return;
  in_packs(whole, out, [&]<class V>(const ConvolutionSize& size, V) {
    const Form form(size);
    const std::int64_t image = size.output[0] * size.output[1], input = size.input[0] * size.input[1];
    const std::int64_t begin = first / image * input, end = ((first + pixels - 1) / image + 1) * input;
    with_windows(size, size.groups * pixels * form.taps, [&]<class Index>(const Windows<Index>& windows) {
      launch("convolution_fold", grid_for((end - begin) * form.row_in), fold<V, Index>, windows,
             static_cast<Index>(form.taps), static_cast<Index>(first), static_cast<Index>(pixels),
             static_cast<Index>(begin), static_cast<Index>(end), Divisor<Index>(form.row_in),
             reinterpret_cast<const V*>(from), reinterpret_cast<V*>(out));
    });
  });
}

template <class T>
void forward(const ConvolutionSize& size, const T* input, const T* filter, T* out) {
  const Form form(size);
  for_blocks(size, input, [&](std::int64_t first, std::int64_t pixels, const Rows<T>& rows) {
    unfold_block(size, first, pixels, input, rows.first);
    multiply({.dtype = dtype_of<T>(),
              .m = pixels,
              .n = size.channels_out,
              .k = form.taps,
              .lda = rows.row,
              .ldb = form.filter_row,
              .ldc = form.row_out,
              .batch = size.groups,
              .a_step = rows.group,
              .b_step = size.group_stride,
              .out_step = size.channels_out},
             rows.first, filter, out + first * form.row_out);
  });
  if (reaches_padding(size)) repair_convolution(size, input, filter, out);
}

template <class T>
void input_gradient(const ConvolutionSize& size, const T* filter, const T* gradient, T* out) {
  const Form form(size);
  if (!is_pointwise(size))
    check(cudaMemsetAsync(out, 0, static_cast<std::size_t>(size.input_count()) * sizeof(T), stream()),
          "convolution_input_gradient");
  for_blocks(size, out, [&](std::int64_t first, std::int64_t pixels, const Rows<T>& rows) {
    multiply({.dtype = dtype_of<T>(),
              .m = pixels,
              .n = form.taps,
              .k = size.channels_out,
              .transpose_b = true,
              .lda = form.row_out,
              .ldb = form.filter_row,
              .ldc = rows.row,
              .batch = size.groups,
              .a_step = size.channels_out,
              .b_step = size.group_stride,
              .out_step = rows.group},
             gradient + first * form.row_out, filter, rows.first);
    fold_block(size, first, pixels, rows.first, out);
  });
}

template <class T>
void filter_gradient(const ConvolutionSize& size, const T* input, const T* gradient, T* out) {
  const Form form(size);
  for_blocks(size, input, [&](std::int64_t first, std::int64_t pixels, const Rows<T>& rows) {
    unfold_block(size, first, pixels, input, rows.first);
    multiply({.dtype = dtype_of<T>(),
              .m = form.taps,
              .n = size.channels_out,
              .k = pixels,
              .transpose_a = true,
              .lda = rows.row,
              .ldb = form.row_out,
              .ldc = form.filter_row,
              .batch = size.groups,
              .a_step = rows.group,
              .b_step = size.channels_out,
              .out_step = size.group_stride,
              .beta = first == 0 ? 0.0 : 1.0},
             rows.first, gradient + first * form.row_out, out);
  });
  if (reaches_padding(size)) repair_filter_gradient(size, input, gradient, out);
}

bool is_depthwise(const ConvolutionSize& s) {
  return s.channels_in == 1 && s.groups > 1;
}

/// Calls `f(T{})` if there is something to multiply; else sets the `count` sums to 0.
template <class F>
void with_floating(const char* name, DType dtype, const ConvolutionSize& s, std::int64_t count, void* out,
                   F&& f) {
  const bool matrix = s.channels_in == 1 || s.position_stride == s.channels_in * s.in_stride;
  if ((dtype != DType::float32 && dtype != DType::float64) || !matrix) throw NoKernel(name);
  if (s.input_count() == 0 || s.output_count() == 0 || s.filter_count() == 0) {
    if (count > 0)
      check(cudaMemsetAsync(out, 0, static_cast<std::size_t>(count) * item_size(dtype), stream()), name);
    return;
  }
  if (dtype == DType::float32)
    f(float{});
  else
    f(double{});
}
template <class T>
const T* of(const void* values) {
  return static_cast<const T*>(values);
}

}  // namespace

void convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter, void* out) {
  with_floating("convolution", dtype, size, size.output_count(), out, [&]<class T>(T) {
    const auto kernel = is_depthwise(size) ? depthwise_convolution<T> : forward<T>;
    kernel(size, of<T>(input), of<T>(filter), static_cast<T*>(out));
  });
}

void convolution_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                                const void* gradient, void* out) {
  with_floating("convolution_input_gradient", dtype, size, size.input_count(), out, [&]<class T>(T) {
    const auto kernel = is_depthwise(size) ? depthwise_input_gradient<T> : input_gradient<T>;
    kernel(size, of<T>(filter), of<T>(gradient), static_cast<T*>(out));
  });
}

void convolution_filter_gradient(DType dtype, const ConvolutionSize& size, const void* input,
                                 const void* gradient, void* out) {
  with_floating("convolution_filter_gradient", dtype, size, size.filter_count(), out, [&]<class T>(T) {
    const auto kernel = is_depthwise(size) ? depthwise_filter_gradient<T> : filter_gradient<T>;
    kernel(size, of<T>(input), of<T>(gradient), static_cast<T*>(out));
  });
}

}  // namespace tapedeck::cuda
