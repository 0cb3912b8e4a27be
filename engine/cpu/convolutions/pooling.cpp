#include <algorithm>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elements.h"

namespace tapedeck::cpu {
namespace {

/// A window clipped to the image.
struct Bounds {
  std::int64_t top, bottom, left, right;
  Bounds(const PoolingSize& s, std::int64_t row, std::int64_t column)
      : top(std::max<std::int64_t>(0, row * s.stride[0] - s.before[0])),
        bottom(std::min(s.input[0], row * s.stride[0] - s.before[0] + s.window[0])),
        left(std::max<std::int64_t>(0, column * s.stride[1] - s.before[1])),
        right(std::min(s.input[1], column * s.stride[1] - s.before[1] + s.window[1])) {}
  std::int64_t count() const {
    return std::max<std::int64_t>(0, bottom - top) * std::max<std::int64_t>(0, right - left);
  }
};

/// Calls `f(image, first output pixel, bounds)` over output pixels; blocks of whole images or of rows.
template <class F>
void for_windows(const PoolingSize& s, bool whole_images, F&& f) {
  const std::int64_t rows = whole_images ? s.output[0] : 1;  // of one task
  const std::int64_t tasks = s.batch * s.output[0] / std::max<std::int64_t>(1, rows);
  const double cost = static_cast<double>(rows * s.output[1] * s.channels * s.window[0] * s.window[1]);
  for_blocks(tasks, grain_for(std::max(1.0, cost)), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t line = begin * rows; line < end * rows; ++line)
      for (std::int64_t column = 0; column < s.output[1]; ++column)
        f(line / s.output[0], line * s.output[1] + column, Bounds(s, line % s.output[0], column));
  });
}

template <class T>
bool exceeds(T value, T best) {
  return !(value <= best) && best == best;
}

/// Calls `f(output element, input element of the first largest value)`.
template <class T, class F>
void for_maxima(const PoolingSize& s, bool whole_images, const T* input, F&& f) {
  for_windows(s, whole_images, [&](std::int64_t image, std::int64_t pixel, const Bounds& b) {
    for (std::int64_t c = 0; c < s.channels; ++c) {
      const auto at = [&](std::int64_t y, std::int64_t x) {
        return ((image * s.input[0] + y) * s.input[1] + x) * s.channels + c;
      };
      std::int64_t best = at(b.top, b.left);
      for (std::int64_t y = b.top; y < b.bottom; ++y)
        for (std::int64_t x = b.left; x < b.right; ++x)
          if (exceeds(input[at(y, x)], input[best])) best = at(y, x);
      f(pixel * s.channels + c, best);
    }
  });
}

template <class F>
void visit_numbers(DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) f(T{});
  });
}

/// Calls `f(offset of the window in the images, window, offset of the output pixel)`, in elements.
template <class F>
void for_pool_windows(const PoolingSize& s, bool whole_images, F&& f) {
  const std::int64_t row_step = s.input[1] * s.channels;
  for_windows(s, whole_images, [&](std::int64_t image, std::int64_t pixel, const Bounds& b) {
    if (b.count() > 0)
      f((image * s.input[0] + b.top) * row_step + b.left * s.channels,
        PoolWindow{b.bottom - b.top, b.right - b.left, row_step, s.channels}, pixel * s.channels);
  });
}

void clear_images(DType dtype, const PoolingSize& s, void* out) {
  const std::int64_t zero = 0;
  fill(item_size(dtype), &zero, out, s.batch * s.input[0] * s.input[1] * s.channels);
}

}  // namespace

void max_pool(DType dtype, const PoolingSize& size, const void* input, void* out) {
  const auto loop = loops().pooling[static_cast<int>(dtype)].largest;
  const std::size_t bytes = item_size(dtype);
  for_pool_windows(size, false, [&](std::int64_t from, const PoolWindow& window, std::int64_t to) {
    loop(at(input, from, bytes), window, at(out, to, bytes));
  });
}

void max_pool_scatter(DType dtype, const PoolingSize& size, const void* input, const void* gradient,
                      void* out) {
  const auto loop = loops().pooling[static_cast<int>(dtype)].scatter_to_largest;
  const std::size_t bytes = item_size(dtype);
  clear_images(dtype, size, out);
  for_pool_windows(size, true, [&](std::int64_t place, const PoolWindow& window, std::int64_t from) {
    loop(at(input, place, bytes), window, at(gradient, from, bytes), at(out, place, bytes));
  });
}

void max_pool_gather(DType dtype, const PoolingSize& size, const void* input, const void* values, void* out) {
  visit_numbers(dtype, [&]<class T>(T) {
    for_maxima(size, false, static_cast<const T*>(input), [&](std::int64_t to, std::int64_t at) {
      static_cast<T*>(out)[to] = static_cast<const T*>(values)[at];
    });
  });
}

void max_pool_positions(DType dtype, const PoolingSize& size, const void* input, std::int64_t* out) {
  const std::int64_t image = size.input[0] * size.input[1] * size.channels;
  visit_numbers(dtype, [&]<class T>(T) {
    for_maxima(size, false, static_cast<const T*>(input),
               [&](std::int64_t to, std::int64_t at) { out[to] = at % image; });
  });
}

void avg_pool(DType dtype, const PoolingSize& size, const void* input, void* out) {
  const auto loop = loops().pooling[static_cast<int>(dtype)].mean;
  const std::size_t bytes = item_size(dtype);
  for_pool_windows(size, false, [&](std::int64_t from, const PoolWindow& window, std::int64_t to) {
    loop(at(input, from, bytes), window, at(out, to, bytes));
  });
}

void avg_pool_scatter(DType dtype, const PoolingSize& size, const void* gradient, void* out) {
  const auto loop = loops().pooling[static_cast<int>(dtype)].scatter_evenly;
  const std::size_t bytes = item_size(dtype);
  clear_images(dtype, size, out);
  for_pool_windows(size, true, [&](std::int64_t place, const PoolWindow& window, std::int64_t from) {
    loop(window, at(gradient, from, bytes), at(out, place, bytes));
  });
}

}  // namespace tapedeck::cpu
