#include "engine/cpu/convolutions/convolution_products.h"

#include <algorithm>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/sum_parts.h"
#include "engine/cpu/products/gemm.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t large_filter = 1 << 19;  ///< values: 2 MiB
constexpr std::int64_t channels_at_once = 128;  ///< input channels that make a task
constexpr std::int64_t pixels_at_once = 2048;   ///< their values stay in the cache
constexpr std::int64_t enough_tasks = 16;       ///< for the threads of a large machine

std::int64_t parts_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

std::int64_t output_pixels(const ConvolutionSize& size) {
  return size.batch * size.output[0] * size.output[1];
}

/// Copies `channels` values from each pixel of the input under position `tap` of the windows [first, last),
/// zeros where the window reaches into the padding.
void gather_pixels(const ConvolutionSize& size, const float* input, std::int64_t tap, std::int64_t channel,
                   std::int64_t channels, std::int64_t first, std::int64_t last, float* to) {
  const std::int64_t shift_y = tap / size.kernel[1] * size.dilation[0] - size.before[0];
  const std::int64_t shift_x = tap % size.kernel[1] * size.dilation[1] - size.before[1];
  std::int64_t x = first % size.output[1];
  std::int64_t y = first / size.output[1] % size.output[0];
  std::int64_t image = first / (size.output[1] * size.output[0]);
  for (std::int64_t pixel = first; pixel < last; ++pixel, to += channels) {
    const std::int64_t from_y = y * size.stride[0] + shift_y;
    const std::int64_t from_x = x * size.stride[1] + shift_x;
    if (from_y >= 0 && from_y < size.input[0] && from_x >= 0 && from_x < size.input[1])
      std::copy_n(
          input + ((image * size.input[0] + from_y) * size.input[1] + from_x) * size.channels_in + channel,
          channels, to);
    else
      std::fill_n(to, channels, 0.0F);
    if (++x < size.output[1]) continue;
    x = 0;
    if (++y < size.output[0]) continue;
    y = 0;
    ++image;
  }
}

MatmulSize pixels_times_filter(const ConvolutionSize& size) {
  return {output_pixels(size), size.channels_out, size.channels_in, false, false,
          size.channels_in,    size.in_stride};
}

}  // namespace

bool is_pointwise(const ConvolutionSize& size) {
  const Extent2 ones{1, 1};
  return size.groups == 1 && size.kernel == ones && size.stride == ones && size.before == Extent2{0, 0} &&
         size.input == size.output;
}

void pointwise_convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                           void* out) {
  matmul(dtype, pixels_times_filter(size), std::span(&input, 1), std::span(&filter, 1), out);
}

void pointwise_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                              const void* gradient, void* out) {
  const MatmulSize product{output_pixels(size), size.channels_in, size.channels_out, false, true,
                           size.channels_out,   size.in_stride};
  matmul(dtype, product, std::span(&gradient, 1), std::span(&filter, 1), out);
}

bool has_large_filter(const ConvolutionSize& size) {
  return size.groups == 1 && size.filter_count() >= large_filter;
}

void filter_gradient_by_taps(const ConvolutionSize& size, const float* input, const float* gradient,
                             float* out) {
  const bool pointwise = is_pointwise(size);
  const std::int64_t taps = size.kernel[0] * size.kernel[1];
  const std::int64_t blocks = parts_of(size.channels_in, channels_at_once);
  const std::int64_t pixels = output_pixels(size);
  // Few tasks: separate sums over several runs of pixels, combined at the end.
  std::int64_t parts = 1;
  if (!has_large_filter(size))
    parts = std::min(parts_of(enough_tasks, taps * blocks), parts_of(pixels, pixels_at_once));
  const std::int64_t run = parts_of(pixels, parts);
  const std::int64_t count = size.filter_count();
  const std::int64_t filter_row = std::max(size.in_stride, size.channels_out);  // 0 where there is one row
  const StoragePointer others =
      StoragePointer::allocate(static_cast<std::size_t>((parts - 1) * count) * sizeof(float));
  auto* other_parts = reinterpret_cast<float*>(others->data());
  const double multiplications = static_cast<double>(std::min(channels_at_once, size.channels_in)) *
                                 static_cast<double>(size.channels_out) * static_cast<double>(run);
  const std::int64_t grain = grain_for(multiplications / 100);  // nanoseconds
  for_blocks(taps * blocks * parts, grain, [&](std::int64_t begin, std::int64_t end) {
    StoragePointer gathered;
    if (!pointwise)
      gathered = StoragePointer::allocate(static_cast<std::size_t>(pixels_at_once * channels_at_once) *
                                          sizeof(float));
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t part = task / (taps * blocks);
      const std::int64_t tap = task / blocks % taps;
      const std::int64_t channel = task % blocks * channels_at_once;
      const std::int64_t channels = std::min(channels_at_once, size.channels_in - channel);
      float* sum = part == 0 ? out : other_parts + (part - 1) * count;
      sum += tap * size.position_stride + channel * size.in_stride;
      const std::int64_t stop = std::min(pixels, (part + 1) * run);
      for (std::int64_t first = part * run; first < stop; first += pixels_at_once) {
        check_stop();
        const std::int64_t last = std::min(stop, first + pixels_at_once);
        const float* under = input + first * size.channels_in + channel;
        if (!pointwise) {
          auto* to = reinterpret_cast<float*>(gathered->data());
          gather_pixels(size, input, tap, channel, channels, first, last, to);
          under = to;
        }
        gemm({channels, size.channels_out, last - first, true, false, pointwise ? size.channels_in : channels,
              size.channels_out},
             under, gradient + first * size.channels_out, first > part * run, sum, filter_row);
      }
    }
  });
  add_parts(out, other_parts, parts - 1, count);
}

}  // namespace tapedeck::cpu
