// Passes of Fourier transforms, of as many lines at once as a register has lanes: each lane is a separate
// line, so its result does not depend on how many there are.
#include <algorithm>
#include <cstring>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/parallel.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// A number of each lane.
template <class V>
struct Number {
  V re, im;
  friend Number operator+(const Number& a, const Number& b) { return {a.re + b.re, a.im + b.im}; }
  friend Number operator-(const Number& a, const Number& b) { return {a.re - b.re, a.im - b.im}; }
};
template <class V, class T>
TAPEDECK_INLINE Number<V> times(const Number<V>& a, T re, T im) {
  return {a.re * re - a.im * im, a.re * im + a.im * re};
}
/// −i·a
template <class V>
TAPEDECK_INLINE Number<V> turned(const Number<V>& a) {
  return {a.im, -a.re};
}
template <class V, class T>
TAPEDECK_INLINE Number<V> scaled(const Number<V>& a, T by) {
  return {a.re * by, a.im * by};
}

/// One pass: it reads input j of the p-th remaining transform from x[stride·(p + rest·j)] and writes output k
/// to y[stride·(radix·p + k)] (Stockham's order, which needs no bit reversal: Van Loan, "Computational
/// frameworks for the fast Fourier transform", 1.7).
template <int radix, class V, class T, class Butterfly>
TAPEDECK_INLINE void pass_of(const FourierPass& pass, const T* twiddles, const Number<V>* x, Number<V>* y,
                             Butterfly butterfly) {
  const std::int64_t s = pass.stride, across = s * pass.rest;
  for (std::int64_t p = 0; p < pass.rest; ++p) {
    const T* w = twiddles + 2 * (radix - 1) * p;
    const Number<V>* from = x + s * p;
    Number<V>* to = y + s * radix * p;
    for (std::int64_t q = 0; q < s; ++q) {
      Number<V> values[radix];
      for (int j = 0; j < radix; ++j) values[j] = from[q + across * j];
      butterfly(values);
      to[q] = values[0];
      for (int k = 1; k < radix; ++k) to[q + s * k] = times(values[k], w[2 * k - 2], w[2 * k - 1]);
    }
  }
}

struct ByTwo {
  template <class N>
  TAPEDECK_INLINE void operator()(N* v) const {
    const N sum = v[0] + v[1];
    v[1] = v[0] - v[1];
    v[0] = sum;
  }
};
template <class T>
struct ByThree {
  template <class N>
  TAPEDECK_INLINE void operator()(N* v) const {
    const N sum = v[1] + v[2], turn = turned(scaled(v[1] - v[2], T(0.86602540378443864676)));
    const N middle = v[0] - scaled(sum, T(0.5));
    v[0] = v[0] + sum;
    v[1] = middle + turn;
    v[2] = middle - turn;
  }
};
struct ByFour {
  template <class N>
  TAPEDECK_INLINE void operator()(N* v) const {
    const N a = v[0] + v[2], b = v[0] - v[2], c = v[1] + v[3], d = turned(v[1] - v[3]);
    v[0] = a + c;
    v[1] = b + d;
    v[2] = a - c;
    v[3] = b - d;
  }
};
template <class T>
struct ByFive {
  template <class N>
  TAPEDECK_INLINE void operator()(N* v) const {
    constexpr T c1 = T(0.30901699437494742410), c2 = T(-0.80901699437494742410);
    constexpr T s1 = T(0.95105651629515357212), s2 = T(0.58778525229247312917);
    const N outer = v[1] + v[4], inner = v[2] + v[3], far = v[1] - v[4], near = v[2] - v[3];
    const N first = v[0] + (scaled(outer, c1) + scaled(inner, c2));
    const N second = v[0] + (scaled(outer, c2) + scaled(inner, c1));
    const N turn = turned(scaled(far, s1) + scaled(near, s2)),
            other = turned(scaled(far, s2) - scaled(near, s1));
    v[0] = v[0] + (outer + inner);
    v[1] = first + turn;
    v[4] = first - turn;
    v[2] = second + other;
    v[3] = second - other;
  }
};

/// Any other radix, by the definition.
template <class V, class T>
void pass_of_any(const FourierPass& pass, const T* twiddles, const T* roots, const Number<V>* x,
                 Number<V>* y) {
  const std::int64_t s = pass.stride, across = s * pass.rest, radix = pass.radix;
  for (std::int64_t p = 0; p < pass.rest; ++p) {
    if (radix > 64) check_stop();
    const T* w = twiddles + 2 * (radix - 1) * p;
    for (std::int64_t q = 0; q < s; ++q) {
      const Number<V>* from = x + s * p + q;
      for (std::int64_t k = 0; k < radix; ++k) {
        Number<V> sum = from[0];
        for (std::int64_t j = 1, at = k; j < radix; ++j, at += k) {
          if (at >= radix) at -= radix;
          sum = sum + times(from[across * j], roots[2 * at], roots[2 * at + 1]);
        }
        y[s * (radix * p + k) + q] = k == 0 ? sum : times(sum, w[2 * k - 2], w[2 * k - 1]);
      }
    }
  }
}

/// Runs all passes; returns which of both holds the result.
template <class V, class T>
Number<V>* run_passes(const FourierPlan<T>& plan, Number<V>* x, Number<V>* y) {
  for (const FourierPass& pass : plan.passes) {
    if (plan.count > 4096) check_stop();
    const T* twiddles = plan.numbers.data() + pass.twiddles;
    if (pass.radix == 2)
      pass_of<2>(pass, twiddles, x, y, ByTwo{});
    else if (pass.radix == 3)
      pass_of<3>(pass, twiddles, x, y, ByThree<T>{});
    else if (pass.radix == 4)
      pass_of<4>(pass, twiddles, x, y, ByFour{});
    else if (pass.radix == 5)
      pass_of<5>(pass, twiddles, x, y, ByFive<T>{});
    else
      pass_of_any(pass, twiddles, plan.numbers.data() + pass.roots, x, y);
    std::swap(x, y);
  }
  return x;
}

template <class T>
struct LanesOf {
  typedef T type __attribute__((vector_size(register_bytes)));
  static constexpr std::int64_t count = register_bytes / sizeof(T);
};

/// The real part of a number in a lane; its imaginary part is `lanes` further.
template <class T, class V>
TAPEDECK_INLINE T* lane_of(Number<V>* numbers, std::int64_t lane) {
  return reinterpret_cast<T*>(numbers) + lane;
}
template <class T, class V>
TAPEDECK_INLINE const T* lane_of(const Number<V>* numbers, std::int64_t lane) {
  return reinterpret_cast<const T*>(numbers) + lane;
}

template <class V>
struct Work {
  explicit Work(std::int64_t count)
      : x(static_cast<Number<V>*>(
            ::operator new (2 * static_cast<std::size_t>(count) * sizeof(Number<V>), std::align_val_t{64}))),
        y(x + count) {}
  ~Work() { ::operator delete (x, std::align_val_t{64}); }
  Work(const Work&) = delete;
  Number<V>*x, *y;
};

/// Calls `f(first line, lines)` for as many lines at once as there are lanes, padded with zeros.
template <class V, class F>
void for_lane_groups(std::int64_t first, std::int64_t lines, std::int64_t lanes, F&& f) {
  for (std::int64_t at = first; at < first + lines; at += lanes) f(at, std::min(lanes, first + lines - at));
}

template <class V, class T>
void transform_lines(const FourierPlan<T>& plan, bool inverse, T* values, const FourierLines& of,
                     std::int64_t lanes) {
  const std::int64_t count = plan.count;
  const Work<V> work(count);
  std::memset(static_cast<void*>(work.x), 0, static_cast<std::size_t>(count) * sizeof(Number<V>));
  const T scale = inverse ? T(1) / static_cast<T>(count) : T(1);
  for_lane_groups<V>(of.first, of.lines, lanes, [&](std::int64_t first, std::int64_t lines) {
    const auto begin_of = [&](std::int64_t line) {
      return values + 2 * (line / of.inner * of.inner * count + line % of.inner);
    };
    // The inverse is the transform of the conjugates: real and imaginary parts exchanged, before and after.
    for (std::int64_t lane = 0; lane < lines; ++lane) {
      const T* from = begin_of(first + lane);
      T* to = lane_of<T>(work.x, lane);
      for (std::int64_t k = 0; k < count; ++k, from += 2 * of.inner, to += 2 * lanes) {
        to[0] = from[inverse ? 1 : 0];
        to[lanes] = from[inverse ? 0 : 1];
      }
    }
    const Number<V>* result = run_passes<V>(plan, work.x, work.y);
    for (std::int64_t lane = 0; lane < lines; ++lane) {
      T* to = begin_of(first + lane);
      const T* from = lane_of<T>(result, lane);
      for (std::int64_t k = 0; k < count; ++k, to += 2 * of.inner, from += 2 * lanes) {
        to[inverse ? 1 : 0] = from[0] * scale;
        to[inverse ? 0 : 1] = from[lanes] * scale;
      }
    }
  });
}

/// Of pairs of real numbers taken as complex ones, z = x₂ⱼ + i·x₂ⱼ₊₁: X = ½(Z + Z̄′) − ½i·w·(Z − Z̄′), where Z̄′
/// is the conjugate from the other end (Van Loan, 4.3).
template <class V, class T>
void separate_pairs(const FourierPlan<T>& plan, const Number<V>* z, Number<V>* out) {
  const std::int64_t half = plan.count;
  for (std::int64_t k = 0; k <= half; ++k) {
    const Number<V> here = z[k == half ? 0 : k], there = z[k == 0 ? 0 : half - k];
    const Number<V> mirrored{there.re, -there.im};
    const Number<V> odd = turned(times(here - mirrored, plan.half_turns[static_cast<std::size_t>(2 * k)],
                                       plan.half_turns[static_cast<std::size_t>(2 * k + 1)]));
    out[k] = scaled(here + mirrored + odd, T(0.5));
  }
}

template <class V, class T>
void transform_real_lines(const FourierPlan<T>& plan, std::int64_t count, const T* values, std::int64_t all,
                          T* out, std::int64_t lanes) {
  const bool pairs = plan.count != count;
  const std::int64_t results = count / 2 + 1;
  const Work<V> work(plan.count + 1);
  std::memset(static_cast<void*>(work.x), 0, static_cast<std::size_t>(plan.count) * sizeof(Number<V>));
  for_lane_groups<V>(0, all, lanes, [&](std::int64_t first, std::int64_t lines) {
    if (!pairs)
      std::memset(static_cast<void*>(work.x), 0, static_cast<std::size_t>(count) * sizeof(Number<V>));
    for (std::int64_t lane = 0; lane < lines; ++lane) {
      const T* from = values + (first + lane) * count;
      T* to = lane_of<T>(work.x, lane);
      for (std::int64_t k = 0; k < plan.count; ++k, to += 2 * lanes) {
        to[0] = from[pairs ? 2 * k : k];
        if (pairs) to[lanes] = from[2 * k + 1];
      }
    }
    Number<V>* result = run_passes<V>(plan, work.x, work.y);
    if (pairs) {
      Number<V>* separated = result == work.x ? work.y : work.x;
      separate_pairs<V>(plan, result, separated);
      result = separated;
    }
    for (std::int64_t lane = 0; lane < lines; ++lane) {
      T* to = out + 2 * (first + lane) * results;
      const T* from = lane_of<T>(result, lane);
      for (std::int64_t k = 0; k < results; ++k, from += 2 * lanes) {
        to[2 * k] = from[0];
        to[2 * k + 1] = from[lanes];
      }
    }
  });
}

/// Lanes that would stay empty cost as much as full ones.
template <class T>
bool fills_lanes(std::int64_t lines) {
  return 3 * lines >= LanesOf<T>::count;
}

template <class T>
void transform(const FourierPlan<T>& plan, bool inverse, T* values, const FourierLines& lines) {
  using V = typename LanesOf<T>::type;
  constexpr std::int64_t lanes = LanesOf<T>::count;
  const std::int64_t rest = lines.lines % lanes,
                     whole = fills_lanes<T>(rest) ? lines.lines : lines.lines - rest;
  if (whole > 0) transform_lines<V>(plan, inverse, values, {lines.first, whole, lines.inner}, lanes);
  if (whole < lines.lines)
    transform_lines<T>(plan, inverse, values, {lines.first + whole, lines.lines - whole, lines.inner}, 1);
}

template <class T>
void transform_real(const FourierPlan<T>& plan, std::int64_t count, const T* values, std::int64_t lines,
                    T* out) {
  using V = typename LanesOf<T>::type;
  constexpr std::int64_t lanes = LanesOf<T>::count;
  const std::int64_t rest = lines % lanes, whole = fills_lanes<T>(rest) ? lines : lines - rest;
  if (whole > 0) transform_real_lines<V>(plan, count, values, whole, out, lanes);
  if (whole < lines)
    transform_real_lines<T>(plan, count, values + whole * count, lines - whole,
                            out + 2 * whole * (count / 2 + 1), 1);
}

template <class T>
FourierLoops<T> loops_of_fourier() {
  return {LanesOf<T>::count, transform<T>, transform_real<T>};
}

}  // namespace

void add_fourier(LoopTable& table) {
  table.fourier_float = loops_of_fourier<float>();
  table.fourier_double = loops_of_fourier<double>();
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
