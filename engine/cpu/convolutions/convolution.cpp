// Convolutions of images and their gradients: oneDNN for float32, unfolded images and matrix products for
// float64.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/convolutions/convolution_exact.h"
#include "engine/cpu/convolutions/convolution_products.h"
#include "engine/cpu/convolutions/onednn_convolution.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/products/gemm.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t most_unfolded = 1 << 18;  ///< values of the unfolded image that stay in the cache

std::int64_t taps(const ConvolutionSize& size) {
  return size.kernel[0] * size.kernel[1] * size.channels_in;
}

/// Calls `f(position in the unfolded rows, position in the image, or −1 in the padding)` for each window
/// position of the output rows [first, last); both count blocks of `channels_in` values.
template <class F>
void for_taps(const ConvolutionSize& size, std::int64_t first, std::int64_t last, F&& f) {
  std::int64_t unfolded = 0;
  for (std::int64_t row = first; row < last; ++row)
    for (std::int64_t column = 0; column < size.output[1]; ++column)
      for (std::int64_t i = 0; i < size.kernel[0]; ++i)
        for (std::int64_t j = 0; j < size.kernel[1]; ++j, ++unfolded) {
          const std::int64_t y = row * size.stride[0] + i * size.dilation[0] - size.before[0];
          const std::int64_t x = column * size.stride[1] + j * size.dilation[1] - size.before[1];
          const bool inside = y >= 0 && y < size.input[0] && x >= 0 && x < size.input[1];
          f(unfolded, inside ? y * size.input[1] + x : -1);
        }
}

/// How many output rows to unfold at once.
std::int64_t rows_at_once(const ConvolutionSize& size) {
  return std::max<std::int64_t>(1, most_unfolded / std::max<std::int64_t>(1, size.output[1] * taps(size)));
}

/// rows of windows × taps, of one group's channels.
void unfold(const ConvolutionSize& size, const double* image, std::int64_t group, std::int64_t first,
            std::int64_t last, double* rows) {
  const std::int64_t channels = size.channels_in;
  const std::int64_t pixel = size.groups * channels;
  for_taps(size, first, last, [=](std::int64_t unfolded, std::int64_t at) {
    if (at < 0)
      std::fill_n(rows + unfolded * channels, channels, 0.0);
    else
      std::copy_n(image + at * pixel + group * channels, channels, rows + unfolded * channels);
  });
}

/// The transpose of unfold: adds each value to its source.
void fold(const ConvolutionSize& size, const double* rows, std::int64_t group, std::int64_t first,
          std::int64_t last, double* image) {
  const std::int64_t channels = size.channels_in;
  const std::int64_t pixel = size.groups * channels;
  for_taps(size, first, last, [=](std::int64_t unfolded, std::int64_t at) {
    if (at < 0) return;
    double* target = image + at * pixel + group * channels;
    for (std::int64_t c = 0; c < channels; ++c) target[c] += rows[unfolded * channels + c];
  });
}

/// Calls `f(filter's index, packed index)` for each run of output channels; packed: group, tap, output
/// channel.
template <class F>
void for_filter_runs(const ConvolutionSize& size, F&& f) {
  std::int64_t packed = 0;
  for (std::int64_t group = 0; group < size.groups; ++group)
    for (std::int64_t position = 0; position < size.kernel[0] * size.kernel[1]; ++position)
      for (std::int64_t c = 0; c < size.channels_in; ++c, packed += size.channels_out)
        f(group * size.group_stride + position * size.position_stride + c * size.in_stride, packed);
}

std::vector<double> packed_filter(const ConvolutionSize& size, const double* filter) {
  std::vector<double> packed(static_cast<std::size_t>(size.filter_count()));
  for_filter_runs(size, [&](std::int64_t at, std::int64_t to) {
    std::copy_n(filter + at, size.channels_out, packed.data() + to);
  });
  return packed;
}

/// Calls `f(image, group, first output row, last)` for one image after another.
template <class F>
void for_pieces(const ConvolutionSize& size, std::int64_t begin, std::int64_t end, F&& f) {
  const std::int64_t step = rows_at_once(size);
  for (std::int64_t image = begin; image < end; ++image)
    for (std::int64_t group = 0; group < size.groups; ++group)
      for (std::int64_t row = 0; row < size.output[0]; row += step) {
        check_stop();
        f(image, group, row, std::min(size.output[0], row + step));
      }
}

struct Steps {
  std::int64_t input, output, pixel, filter;
  explicit Steps(const ConvolutionSize& size)
      : input(size.input[0] * size.input[1] * size.groups * size.channels_in),
        output(size.output[0] * size.output[1] * size.groups * size.channels_out),
        pixel(size.groups * size.channels_out),
        filter(taps(size) * size.channels_out) {}
  std::int64_t output_at(const ConvolutionSize& size, std::int64_t image, std::int64_t group,
                         std::int64_t row) const {
    return image * output + row * size.output[1] * pixel + group * size.channels_out;
  }
};

std::unique_ptr<double[]> unfolded_rows(const ConvolutionSize& size) {
  const std::int64_t rows = std::min(size.output[0], rows_at_once(size));
  return std::make_unique_for_overwrite<double[]>(
      static_cast<std::size_t>(rows * size.output[1] * taps(size)));
}

void forward(const ConvolutionSize& size, const double* input, const double* filter, double* out) {
  const std::vector<double> packed = packed_filter(size, filter);
  const Steps step(size);
  for_blocks(size.batch, convolution_block(size), [&](std::int64_t begin, std::int64_t end) {
    const auto rows = unfolded_rows(size);
    for_pieces(size, begin, end, [&](std::int64_t n, std::int64_t g, std::int64_t first, std::int64_t last) {
      unfold(size, input + n * step.input, g, first, last, rows.get());
      gemm({(last - first) * size.output[1], size.channels_out, taps(size), false, false, taps(size),
            size.channels_out},
           rows.get(), packed.data() + g * step.filter, false, out + step.output_at(size, n, g, first),
           step.pixel);
    });
  });
}

void input_gradient(const ConvolutionSize& size, const double* filter, const double* gradient, double* out) {
  const std::vector<double> packed = packed_filter(size, filter);
  const Steps step(size);
  std::fill_n(out, size.input_count(), 0.0);
  for_blocks(size.batch, convolution_block(size), [&](std::int64_t begin, std::int64_t end) {
    const auto rows = unfolded_rows(size);
    for_pieces(size, begin, end, [&](std::int64_t n, std::int64_t g, std::int64_t first, std::int64_t last) {
      gemm({(last - first) * size.output[1], taps(size), size.channels_out, false, true, step.pixel,
            size.channels_out},
           gradient + step.output_at(size, n, g, first), packed.data() + g * step.filter, false, rows.get(),
           taps(size));
      fold(size, rows.get(), g, first, last, out + n * step.input);
    });
  });
}

void filter_gradient(const ConvolutionSize& size, const double* input, const double* gradient, double* out) {
  const Steps step(size);
  const std::int64_t block = convolution_block(size);
  const std::int64_t blocks = (size.batch + block - 1) / block;
  const auto count = static_cast<std::size_t>(size.filter_count());
  std::vector<double> parts(static_cast<std::size_t>(blocks) * count, 0.0);
  for_blocks(blocks, 1, [&](std::int64_t first_block, std::int64_t last_block) {
    const auto rows = unfolded_rows(size);
    for (std::int64_t k = first_block; k < last_block; ++k) {
      double* part = parts.data() + static_cast<std::size_t>(k) * count;
      for_pieces(size, k * block, std::min(size.batch, (k + 1) * block),
                 [&](std::int64_t n, std::int64_t g, std::int64_t first, std::int64_t last) {
                   unfold(size, input + n * step.input, g, first, last, rows.get());
                   gemm({taps(size), size.channels_out, (last - first) * size.output[1], true, false,
                         taps(size), step.pixel},
                        rows.get(), gradient + step.output_at(size, n, g, first), true,
                        part + g * step.filter, size.channels_out);
                 });
    }
  });
  for (std::size_t k = 1; k < static_cast<std::size_t>(blocks); ++k)
    for (std::size_t i = 0; i < count; ++i) parts[i] += parts[k * count + i];
  for_filter_runs(size, [&](std::int64_t at, std::int64_t from) {
    std::copy_n(parts.data() + from, size.channels_out, out + at);
  });
}

/// Nothing to multiply: the sums are 0.
bool is_empty(const ConvolutionSize& size) {
  return size.input_count() == 0 || size.output_count() == 0 || size.filter_count() == 0;
}
void clear(DType dtype, void* out, std::int64_t count) {
  if (count > 0) std::memset(out, 0, static_cast<std::size_t>(count) * item_size(dtype));
}

const double* doubles(const void* values) {
  return static_cast<const double*>(values);
}
const float* floats(const void* values) {
  return static_cast<const float*>(values);
}

}  // namespace

double image_multiplications(const ConvolutionSize& size) {
  return static_cast<double>(size.output[0] * size.output[1] * size.groups) *
         static_cast<double>(taps(size) * size.channels_out);
}

std::int64_t convolution_block(const ConvolutionSize& size) {
  constexpr std::int64_t most_blocks = 16;
  const double image = image_multiplications(size);
  const auto worth = static_cast<std::int64_t>(multiplications_worth_a_thread / std::max(1.0, image)) + 1;
  return std::max(worth, (size.batch + most_blocks - 1) / most_blocks);
}

void convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter, void* out) {
  if (is_empty(size)) return clear(dtype, out, size.output_count());
  if (is_pointwise(size)) return pointwise_convolution(dtype, size, input, filter, out);
  if (dtype == DType::float64)
    forward(size, doubles(input), doubles(filter), static_cast<double*>(out));
  else
    onednn_convolution(size, floats(input), floats(filter), static_cast<float*>(out));
  if (reaches_padding(size) && any_not_finite(dtype, filter, size.filter_count()))
    exact_convolution(dtype, size, input, filter, out);
}

void convolution_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                                const void* gradient, void* out) {
  if (is_empty(size)) return clear(dtype, out, size.input_count());
  if (is_pointwise(size)) return pointwise_input_gradient(dtype, size, filter, gradient, out);
  if (dtype == DType::float64)
    return input_gradient(size, doubles(filter), doubles(gradient), static_cast<double*>(out));
  onednn_input_gradient(size, floats(filter), floats(gradient), static_cast<float*>(out));
  if (any_not_finite(dtype, filter, size.filter_count()))
    exact_input_gradient(dtype, size, filter, gradient, out);
}

void convolution_filter_gradient(DType dtype, const ConvolutionSize& size, const void* input,
                                 const void* gradient, void* out) {
  if (is_empty(size)) return clear(dtype, out, size.filter_count());
  if (dtype == DType::float64)
    filter_gradient(size, doubles(input), doubles(gradient), static_cast<double*>(out));
  else if (is_pointwise(size) || has_large_filter(size))
    filter_gradient_by_taps(size, floats(input), floats(gradient), static_cast<float*>(out));
  else
    onednn_filter_gradient(size, floats(input), floats(gradient), static_cast<float*>(out));
  // Zeros of the padding times infinite gradients: detected in the result, which is small.
  if (reaches_padding(size) && any_nan(dtype, out, size.filter_count()))
    exact_filter_gradient(dtype, size, input, gradient, out);
}

}  // namespace tapedeck::cpu
