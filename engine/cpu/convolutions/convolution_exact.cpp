#include "engine/cpu/convolutions/convolution_exact.h"

#include <algorithm>
#include <cmath>

#include "engine/cpu/blocks.h"
#include "engine/cpu/parallel.h"

namespace tapedeck::cpu {
namespace {

template <class F>
auto visit_images(DType dtype, F&& f) {
  if (dtype == DType::float32) return f(float{});
  return f(double{});
}

struct ExactWindows {
  const ConvolutionSize& s;

  /// The position of element `i` of window `at`; −1 in the padding.
  std::int64_t under(std::size_t axis, std::int64_t at, std::int64_t i) const {
    const std::int64_t place = at * s.stride[axis] + i * s.dilation[axis] - s.before[axis];
    return place < s.input[axis] ? std::max<std::int64_t>(place, -1) : -1;
  }
  /// The window whose element `i` is there; −1 for none.
  std::int64_t over(std::size_t axis, std::int64_t place, std::int64_t i) const {
    const std::int64_t from = place + s.before[axis] - i * s.dilation[axis];
    return from >= 0 && from % s.stride[axis] == 0 && from / s.stride[axis] < s.output[axis]
               ? from / s.stride[axis]
               : -1;
  }
  /// Calls `f(pixel of the other images, place in the window)` for the partners of a pixel along `under` or
  /// `over`, until it returns false.
  template <class Along, class F>
  void for_places(const Extent2& other, std::int64_t image, std::int64_t y, std::int64_t x, Along along,
                  F&& f) const {
    for (std::int64_t i = 0; i < s.kernel[0]; ++i) {
      const std::int64_t row = along(0, y, i);
      if (row < 0) continue;
      for (std::int64_t j = 0; j < s.kernel[1]; ++j)
        if (const std::int64_t column = along(1, x, j); column >= 0)
          if (!f((image * other[0] + row) * other[1] + column, i * s.kernel[1] + j)) return;
    }
  }
};

/// Calls `f(image, y, x, pixel)` for all pixels of images of that extent, on several threads.
template <class F>
void for_pixels_of(const ConvolutionSize& s, const Extent2& extent, F&& f) {
  const double products =
      static_cast<double>(s.kernel[0] * s.kernel[1] * s.groups * s.channels_in * s.channels_out);
  for_blocks(s.batch * extent[0] * extent[1], grain_for(products), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t pixel = begin; pixel < end; ++pixel) {
      check_stop();
      f(pixel / (extent[0] * extent[1]), pixel / extent[1] % extent[0], pixel % extent[1], pixel);
    }
  });
}

std::int64_t filter_at(const ConvolutionSize& s, std::int64_t group, std::int64_t tap, std::int64_t in,
                       std::int64_t out) {
  return group * s.group_stride + tap * s.position_stride + in * s.in_stride + out;
}

/// The extent of images, and the channels of each group in them.
struct Images {
  const Extent2& extent;
  std::int64_t channels;
};

/// Replaces each number of `out` that is not finite by the sum of the definition: over what its pixel meets
/// of the `others` along `along`, times `weight(group, place in the window, its channel, their channel)`.
template <class T, class Along, class Weight>
void repair_pixels(const ConvolutionSize& s, Images repaired, Images others, Along along, Weight weight,
                   const T* from, T* out) {
  const ExactWindows windows{s};
  for_pixels_of(
      s, repaired.extent, [&](std::int64_t image, std::int64_t y, std::int64_t x, std::int64_t pixel) {
        for (std::int64_t g = 0; g < s.groups; ++g)
          for (std::int64_t k = 0; k < repaired.channels; ++k) {
            T& result = out[(pixel * s.groups + g) * repaired.channels + k];
            if (std::isfinite(result)) continue;
            double sum = 0;
            windows.for_places(others.extent, image, y, x, along, [&](std::int64_t other, std::int64_t tap) {
              const T* met = from + (other * s.groups + g) * others.channels;
              for (std::int64_t c = 0; c < others.channels; ++c)
                sum += static_cast<double>(met[c]) * static_cast<double>(weight(g, tap, k, c));
              return sum == sum;  // what is NaN stays so
            });
            result = static_cast<T>(sum);
          }
      });
}

}  // namespace

bool reaches_padding(const ConvolutionSize& s) {
  for (const std::size_t axis : {0, 1})
    if (s.before[axis] > 0 ||
        (s.output[axis] - 1) * s.stride[axis] + (s.kernel[axis] - 1) * s.dilation[axis] - s.before[axis] >=
            s.input[axis])
      return true;
  return false;
}

bool any_nan(DType dtype, const void* values, std::int64_t count) {
  return visit_images(dtype, [&]<class T>(T) {
    const T* first = static_cast<const T*>(values);
    return std::any_of(first, first + count, [](T value) { return value != value; });
  });
}
bool any_not_finite(DType dtype, const void* values, std::int64_t count) {
  return visit_images(dtype, [&]<class T>(T) {
    const T* first = static_cast<const T*>(values);
    return std::any_of(first, first + count, [](T value) { return !std::isfinite(value); });
  });
}

void exact_convolution(DType dtype, const ConvolutionSize& s, const void* input, const void* filter,
                       void* out) {
  const auto under = [windows = ExactWindows{s}](std::size_t axis, std::int64_t at, std::int64_t i) {
    return windows.under(axis, at, i);
  };
  visit_images(dtype, [&]<class T>(T) {
    const T* w = static_cast<const T*>(filter);
    repair_pixels(
        s, {s.output, s.channels_out}, {s.input, s.channels_in}, under,
        [&](std::int64_t g, std::int64_t tap, std::int64_t o, std::int64_t c) {
          return w[filter_at(s, g, tap, c, o)];
        },
        static_cast<const T*>(input), static_cast<T*>(out));
  });
}

void exact_input_gradient(DType dtype, const ConvolutionSize& s, const void* filter, const void* gradient,
                          void* out) {
  const auto over = [windows = ExactWindows{s}](std::size_t axis, std::int64_t at, std::int64_t i) {
    return windows.over(axis, at, i);
  };
  visit_images(dtype, [&]<class T>(T) {
    const T* w = static_cast<const T*>(filter);
    repair_pixels(
        s, {s.input, s.channels_in}, {s.output, s.channels_out}, over,
        [&](std::int64_t g, std::int64_t tap, std::int64_t c, std::int64_t o) {
          return w[filter_at(s, g, tap, c, o)];
        },
        static_cast<const T*>(gradient), static_cast<T*>(out));
  });
}

void exact_filter_gradient(DType dtype, const ConvolutionSize& s, const void* input, const void* gradient,
                           void* out) {
  const ExactWindows windows{s};
  visit_images(dtype, [&]<class T>(T) {
    const T *x = static_cast<const T*>(input), *dy = static_cast<const T*>(gradient);
    const std::int64_t rows = s.groups * s.kernel[0] * s.kernel[1] * s.channels_in;
    const double products = static_cast<double>(s.batch * s.output[0] * s.output[1] * s.channels_out);
    for_blocks(rows, grain_for(products), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at) {
        const std::int64_t c = at % s.channels_in, tap = at / s.channels_in % (s.kernel[0] * s.kernel[1]),
                           g = at / s.channels_in / (s.kernel[0] * s.kernel[1]);
        const auto sum_of = [&](std::int64_t o) {
          double sum = 0;
          for (std::int64_t image = 0; image < s.batch; ++image)
            for (std::int64_t row = 0; row < s.output[0]; ++row) {
              const std::int64_t from_row = windows.under(0, row, tap / s.kernel[1]);
              for (std::int64_t column = 0; from_row >= 0 && column < s.output[1]; ++column) {
                const std::int64_t from_column = windows.under(1, column, tap % s.kernel[1]);
                if (from_column < 0) continue;
                const std::int64_t from = (image * s.input[0] + from_row) * s.input[1] + from_column;
                const std::int64_t to = (image * s.output[0] + row) * s.output[1] + column;
                sum += static_cast<double>(x[(from * s.groups + g) * s.channels_in + c]) *
                       static_cast<double>(dy[(to * s.groups + g) * s.channels_out + o]);
              }
              if (sum != sum) return sum;  // what is NaN stays so
            }
          return sum;
        };
        for (std::int64_t o = 0; o < s.channels_out; ++o) {
          check_stop();
          // The other sums had no product of a padding zero and an infinite number.
          T& result = static_cast<T*>(out)[filter_at(s, g, tap, c, o)];
          if (result != result) result = static_cast<T>(sum_of(o));
        }
      }
    });
  });
}

}  // namespace tapedeck::cpu
