#include <algorithm>
#include <limits>
#include <type_traits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/in_order.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t rows_between_checks = 1 << 14;

/// Threads take columns, so every segment keeps its order.
template <class T, class F>
void join_rows(const T* rows, const std::int64_t* segments, std::int64_t count, std::int64_t width, T* target,
               F join) {
  if (width == 1)
    return in_order(count, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        if (segments[i] >= 0) target[segments[i]] = join(target[segments[i]], rows[i]);
    });
  const auto grain = std::max<std::int64_t>(16, 65536 / std::max<std::int64_t>(1, count));
  for_blocks(width, grain, [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = 0; i < count; ++i) {
      if (i % rows_between_checks == 0) check_stop();
      if (segments[i] < 0) continue;
      const T* from = rows + i * width;
      T* to = target + segments[i] * width;
      for (std::int64_t j = begin; j < end; ++j) to[j] = join(to[j], from[j]);
    }
  });
}

template <class T, class = void>
struct Wrapping {
  using type = T;
};
template <class T>
struct Wrapping<T, std::enable_if_t<std::is_integral_v<T>>> {
  using type = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;  // overflow wraps around
};

template <class F>
void visit_numeric(DType dtype, F&& f) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) f(tag);
  });
}

}  // namespace

void segment_rows(Segment op, DType dtype, const void* rows, const std::int64_t* segments, std::int64_t count,
                  std::int64_t width, void* target) {
  if (dtype == DType::bool_) {
    if (op != Segment::sum) fail<UnimplementedError>("segment_rows: bool has no products and no extremes");
    join_rows(static_cast<const bool*>(rows), segments, count, width, static_cast<bool*>(target),
              [](bool a, bool b) { return a || b; });
    return;
  }
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    using Wide = typename Wrapping<T>::type;
    const auto join = [&](auto f) {
      join_rows(static_cast<const T*>(rows), segments, count, width, static_cast<T*>(target), f);
    };
    switch (op) {
      case Segment::sum:
        return join([](T a, T b) { return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b)); });
      case Segment::prod:
        return join([](T a, T b) { return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b)); });
      case Segment::max:
        return join([](T a, T b) { return b > a || b != b ? b : a; });
      case Segment::min:
        return join([](T a, T b) { return b < a || b != b ? b : a; });
    }
  });
}

void segment_neutral(Segment op, DType dtype, void* target, std::int64_t count) {
  visit_numeric(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T value = op == Segment::sum    ? T(0)
                    : op == Segment::prod ? T(1)
                    : op == Segment::max  ? std::numeric_limits<T>::lowest()
                                          : std::numeric_limits<T>::max();
    fill(sizeof value, &value, target, count);
  });
}

}  // namespace tapedeck::cpu
