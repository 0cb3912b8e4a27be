// Loops of two operands, and the choice between two.
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/cpu/vector/arithmetic.h"
#include "engine/cpu/vector/loop.h"
#include "engine/cpu/vector/special.h"
#include "engine/cpu/vector/whole_division.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

namespace functions_of_two {
TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_FUNCTION_OF_TWO)
}  // namespace functions_of_two

/// binary_loop for an F that does not support all pairs of float32: the others are computed one by one.
template <class F>
void guarded_loop(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                  std::int64_t count) {
  constexpr std::int64_t together = 64;
  const float* __restrict x = static_cast<const float*>(a);
  const float* __restrict z = static_cast<const float*>(b);
  float* __restrict y = static_cast<float*>(out);
  const auto left = [=](std::int64_t i) { return x[i * a_step]; };
  const auto right = [=](std::int64_t i) { return z[i * b_step]; };
  std::int64_t i = 0;
  const auto blocks = [&](auto of_x, auto of_z) {
    for (; i + together <= count; i += together) {
      int others = 0;
      for (std::int64_t j = i; j < i + together; ++j) {
        y[j] = F::apply(of_x(j), of_z(j));
        others |= F::fits(of_x(j), of_z(j)) ? 0 : 1;
      }
      if (others)
        for (std::int64_t j = i; j < i + together; ++j)
          if (!F::fits(of_x(j), of_z(j))) y[j] = F::otherwise(of_x(j), of_z(j));
    }
  };
  if (count >= together) {
    const auto row_x = [=](std::int64_t j) { return x[j]; };
    const auto row_z = [=](std::int64_t j) { return z[j]; };
    if (a_step == 1 && b_step == 1) blocks(row_x, row_z);
    if (a_step == 1 && b_step == 0) blocks(row_x, [value = *z](std::int64_t) { return value; });
    if (a_step == 0 && b_step == 1) blocks([value = *x](std::int64_t) { return value; }, row_z);
  }
  for (; i < count; ++i)
    y[i] = F::fits(left(i), right(i)) ? F::apply(left(i), right(i)) : F::otherwise(left(i), right(i));
}

/// The remainders of float32: if a quotient is too long for Fmod, the standard library's.
struct Mod : Fmod {
  TAPEDECK_INLINE static float apply(float x, float y) { return floored(Fmod::apply(x, y), y); }
  static float otherwise(float x, float y) { return mod_of(x, y); }
};

/// x² and other powers that need no logarithm, where all elements have the same exponent. Each is at least as
/// accurate as pow.
struct Square {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return x * x;
  }
};
struct Cube {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    const double wide = static_cast<double>(x);  // its square is exact
    return static_cast<T>(wide * wide * wide);
  }
};
struct Same {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return x;
  }
};
struct Inverse {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return T(1) / x;
  }
};
struct SquareRoot {  // other than sqrt, pow gives +0 for −0 and +∞ for −∞
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    const T root = std::sqrt(x + T(0));
    return x == -std::numeric_limits<T>::infinity() ? std::numeric_limits<T>::infinity() : root;
  }
};

template <class T>
void power_loop(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                std::int64_t count) {
  if (b_step == 0 && is_simple_power<T>(*static_cast<const T*>(b))) {
    const T exponent = *static_cast<const T*>(b);
    if (exponent == T(2)) return unary_loop<T, T, Square>(a, a_step, out, count);
    if (exponent == T(0.5)) return unary_loop<T, T, SquareRoot>(a, a_step, out, count);
    if (exponent == T(-1)) return unary_loop<T, T, Inverse>(a, a_step, out, count);
    if (exponent == T(1)) return unary_loop<T, T, Same>(a, a_step, out, count);
    if constexpr (std::is_same_v<T, float>) return unary_loop<T, T, Cube>(a, a_step, out, count);
  }
  if constexpr (std::is_same_v<T, float>)
    guarded_loop<Power>(a, a_step, b, b_step, out, count);
  else
    binary_loop<T, T, functions_of_two::pow>(a, a_step, b, b_step, out, count);
}

template <class T>
void clip_loop(const void* a, const void* low, const void* high, void* out, std::int64_t count) {
  const T* __restrict x = static_cast<const T*>(a);
  T* __restrict y = static_cast<T*>(out);
  const T least = *static_cast<const T*>(low), highest = *static_cast<const T*>(high);
  const T most = least != least ? least : highest;  // either limit that is NaN makes all NaN
  for (std::int64_t i = 0; i < count; ++i) {
    const T value = x[i];
    const T raised = value > least ? value : least;
    const T cut = raised < most ? raised : most;
    y[i] = value != value ? value : cut;
  }
}

template <class T>
void select_loop(const void* condition, std::int64_t condition_step, const void* a, std::int64_t a_step,
                 const void* b, std::int64_t b_step, void* out, std::int64_t count) {
  const auto* __restrict c = static_cast<const std::uint8_t*>(condition);
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict z = static_cast<const T*>(b);
  T* __restrict y = static_cast<T*>(out);
  if (condition_step == 1 && a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) {
      const T left = x[i];  // read both, so that the choice needs no branch
      const T right = z[i];
      y[i] = c[i] ? left : right;
    }
  } else {
    for (std::int64_t i = 0; i < count; ++i) {
      const T left = x[i * a_step];
      const T right = z[i * b_step];
      y[i] = c[i * condition_step] ? left : right;
    }
  }
}

template <class T>
void scaled_sum_loop(const void* a, const void* x, const void* b, const void* y, void* out,
                     std::int64_t count) {
  const T left = *static_cast<const T*>(a), right = *static_cast<const T*>(b);
  const T* __restrict from = static_cast<const T*>(x);
  const T* __restrict other = static_cast<const T*>(y);
  T* __restrict to = static_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) to[i] = left * from[i] + right * other[i];
}

}  // namespace

void add_binary(LoopTable& table) {
  table.clip[static_cast<int>(DType::int32)] = clip_loop<std::int32_t>;
  table.clip[static_cast<int>(DType::int64)] = clip_loop<std::int64_t>;
  table.clip[static_cast<int>(DType::float32)] = clip_loop<float>;
  table.clip[static_cast<int>(DType::float64)] = clip_loop<double>;
#define TAPEDECK_ADD(name, domain, others, result, ...) \
  add<functions_of_two::name, Domain::domain, Result::result>(table, Binary::name);
  TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_ADD)
#undef TAPEDECK_ADD
  table.binary[static_cast<int>(Binary::pow)][static_cast<int>(DType::float32)] = power_loop<float>;
  table.binary[static_cast<int>(Binary::pow)][static_cast<int>(DType::float64)] = power_loop<double>;
  table.binary[static_cast<int>(Binary::mod)][static_cast<int>(DType::float32)] = guarded_loop<Mod>;
  table.select[static_cast<int>(DType::bool_)] = select_loop<std::uint8_t>;
  table.select[static_cast<int>(DType::int32)] = select_loop<std::int32_t>;
  table.select[static_cast<int>(DType::int64)] = select_loop<std::int64_t>;
  table.select[static_cast<int>(DType::float32)] = select_loop<float>;
  table.select[static_cast<int>(DType::float64)] = select_loop<double>;
  table.scaled_sum[static_cast<int>(DType::float32)] = scaled_sum_loop<float>;
  table.scaled_sum[static_cast<int>(DType::float64)] = scaled_sum_loop<double>;
  constexpr int int64 = static_cast<int>(DType::int64);
  table.binary[static_cast<int>(Binary::floordiv)][int64] = whole_division_loop<FloorQuotient>;
  table.binary[static_cast<int>(Binary::mod)][int64] = whole_division_loop<FloorRemainder>;
  table.binary[static_cast<int>(Binary::truncatediv)][int64] = whole_division_loop<CutQuotient>;
  table.binary[static_cast<int>(Binary::truncatemod)][int64] = whole_division_loop<CutRemainder>;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
