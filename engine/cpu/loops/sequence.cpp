#include <cmath>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t grain = 1 << 16;

}  // namespace

void sequence(DType dtype, const Sequence& of, void* out, std::int64_t count) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* target = static_cast<T*>(out);
    for_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        target[i] =
            is_integer(dtype) && of.whole
                // The value fits; the product on the way to it need not.
                ? static_cast<T>(static_cast<std::uint64_t>(of.whole_start) +
                                 static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(of.whole_delta))
                : static_cast<T>(of.start + static_cast<double>(i) * of.delta);
    });
  });
}

void linspace(DType dtype, const Values& start_at, const Values& stop_at, void* out, std::int64_t count) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto start = static_cast<double>(*static_cast<const T*>(start_at.data));
    const auto stop = static_cast<double>(*static_cast<const T*>(stop_at.data));
    T* target = static_cast<T*>(out);
    const std::int64_t last = count - 1;
    const bool is_short = std::isfinite(stop - start);
    const auto point = [&](double part) {
      return is_short ? start + (stop - start) * part : start * (1.0 - part) + stop * part;
    };
    for_blocks(count, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double part = last == 0 ? 0.0 : static_cast<double>(i) / static_cast<double>(last);
        target[i] = static_cast<T>(i == last && last > 0 ? stop : point(part));
      }
    });
  });
}

}  // namespace tapedeck::cpu
