// Loops of two operands, and the choice between two.
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/cpu/vector/loop.h"
#include "engine/cpu/vector/math.h"
#include "engine/cpu/vector/special.h"
#include "engine/cpu/vector/transcendental.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// Integers are added and multiplied as unsigned ones: overflow wraps around, as in NumPy.
template <class T>
TAPEDECK_INLINE auto wrap(T x) {
  if constexpr (std::is_floating_point_v<T>)
    return x;
  else
    return static_cast<std::make_unsigned_t<T>>(x);
}

// A shift of as many bits as the number has, or of a negative count, is undefined in C++; as in TensorFlow
// the count is brought into range.
template <class T>
TAPEDECK_INLINE int shift_count(T y) {
  constexpr T most = static_cast<T>(8 * sizeof(T) - 1);
  return static_cast<int>(y < T(0) ? T(0) : y > most ? most : y);
}

#define TAPEDECK_FUNCTION(Name, expression)       \
  struct Name {                                   \
    template <class T>                            \
    TAPEDECK_INLINE static auto apply(T x, T y) { \
      return expression;                          \
    }                                             \
  };
TAPEDECK_FUNCTION(Add, static_cast<T>(wrap(x) + wrap(y)))
TAPEDECK_FUNCTION(Subtract, static_cast<T>(wrap(x) - wrap(y)))
TAPEDECK_FUNCTION(Multiply, static_cast<T>(wrap(x) * wrap(y)))
TAPEDECK_FUNCTION(SquaredDifference, static_cast<T>((wrap(x) - wrap(y)) * (wrap(x) - wrap(y))))
TAPEDECK_FUNCTION(Divide, x / y)
TAPEDECK_FUNCTION(Maximum, (x > y || x != x) ? x : y)
TAPEDECK_FUNCTION(Minimum, (x < y || x != x) ? x : y)
TAPEDECK_FUNCTION(SigmoidGrad, y*(x*(T(1) - x)))
TAPEDECK_FUNCTION(TanhGrad, y*(T(1) - x * x))
TAPEDECK_FUNCTION(ReluGrad, y > T(0) ? x : T(0))
TAPEDECK_FUNCTION(DivideNoNan, y == T(0) ? T(0) : x / y)
TAPEDECK_FUNCTION(MultiplyNoNan, y == T(0) ? T(0) : x * y)
TAPEDECK_FUNCTION(Xdivy, x == T(0) ? T(0) : x / y)
TAPEDECK_FUNCTION(Xlogy, x == T(0) ? T(0) : x * std::log(y))
TAPEDECK_FUNCTION(Xlog1py, x == T(0) ? T(0) : x * std::log1p(y))
TAPEDECK_FUNCTION(Polygamma, static_cast<T>(polygamma_of(static_cast<double>(x), static_cast<double>(y))))
TAPEDECK_FUNCTION(Zeta, static_cast<T>(zeta_of(static_cast<double>(x), static_cast<double>(y))))
TAPEDECK_FUNCTION(LeakyRelu, x > T(0) ? x : y * x)
TAPEDECK_FUNCTION(Swish, x* sigmoid_of(y* x))
TAPEDECK_FUNCTION(Nextafter, std::nextafter(x, y))
TAPEDECK_FUNCTION(BitAnd, static_cast<T>(x& y))
TAPEDECK_FUNCTION(BitOr, static_cast<T>(x | y))
TAPEDECK_FUNCTION(BitXor, static_cast<T>(x ^ y))
TAPEDECK_FUNCTION(LeftShift, static_cast<T>(wrap(x) << shift_count(y)))
TAPEDECK_FUNCTION(RightShift, static_cast<T>(x >> shift_count(y)))
TAPEDECK_FUNCTION(Xor, x != y)
TAPEDECK_FUNCTION(Equal, x == y)
TAPEDECK_FUNCTION(NotEqual, x != y)
TAPEDECK_FUNCTION(Less, x < y)
TAPEDECK_FUNCTION(LessEqual, x <= y)
TAPEDECK_FUNCTION(Greater, x > y)
TAPEDECK_FUNCTION(GreaterEqual, x >= y)
TAPEDECK_FUNCTION(And, x&& y)
TAPEDECK_FUNCTION(Or, x || y)
#undef TAPEDECK_FUNCTION

/// dy·gelu′(x).
struct GeluGrad {
  TAPEDECK_INLINE static float apply(float dy, float x) { return dy * gelu_slope_of(x); }
  static double apply(double dy, double x) {
    const double density = 0.39894228040143267794 * std::exp(-0.5 * x * x);  // 1/√(2π)
    return dy * (0.5 * std::erfc(x * -0.70710678118654752440) + (density == 0.0 ? 0.0 : x * density));
  }
};

struct Atan2 {
  TAPEDECK_INLINE static float apply(float y, float x) { return atan2_of(y, x); }
  static double apply(double y, double x) { return std::atan2(y, x); }
};

// Division rounds towards −∞, and the remainder has the divisor's sign. Callers have refused a divisor of 0
// among integers; −1 is apart because the lowest integer divided by it traps.
struct Floordiv {
  template <class T>
  TAPEDECK_INLINE static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(x / y);
    } else {
      if (y == T(-1)) return static_cast<T>(wrap(T(0)) - wrap(x));
      const T quotient = x / y;
      return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
    }
  }
};
/// What std::fmod left, with the sign of y.
template <class T>
TAPEDECK_INLINE T floored(T remainder, T y) {
  const T turned = (remainder < T(0)) != (y < T(0)) ? remainder + y : remainder;
  return remainder == T(0) ? std::copysign(T(0), y) : turned;
}
struct Mod {
  template <class T>
  TAPEDECK_INLINE static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return floored(std::fmod(x, y), y);
    } else {
      if (y == T(-1)) return 0;
      const T remainder = x % y;
      return remainder != 0 && (remainder < 0) != (y < 0) ? remainder + y : remainder;
    }
  }
};
/// The remainders of float32: where a quotient is too long for Fmod, the standard library's.
void mod_loop(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
              std::int64_t count) {
  constexpr std::int64_t together = 64;
  const float* __restrict x = static_cast<const float*>(a);
  const float* __restrict z = static_cast<const float*>(b);
  float* __restrict y = static_cast<float*>(out);
  std::int64_t i = 0;
  if (a_step == 1 && (b_step == 0 || b_step == 1))
    for (; i + together <= count; i += together) {
      int others = 0;
      const auto step = [&](auto right) {
        for (std::int64_t j = i; j < i + together; ++j) {
          y[j] = floored(Fmod::apply(x[j], right(j)), right(j));
          others |= Fmod::fits(x[j], right(j)) ? 0 : 1;
        }
      };
      if (b_step == 1)
        step([z](std::int64_t j) { return z[j]; });
      else
        step([value = *z](std::int64_t) { return value; });
      if (others)
        for (std::int64_t j = i; j < i + together; ++j)
          if (!Fmod::fits(x[j], z[j * b_step])) y[j] = Mod::apply(x[j], z[j * b_step]);
    }
  for (; i < count; ++i) y[i] = Mod::apply(x[i * a_step], z[i * b_step]);
}
// The same, cut towards 0; the remainder has the sign of x.
struct Truncatediv {
  template <class T>
  TAPEDECK_INLINE static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>)
      return std::trunc(x / y);
    else
      return y == T(-1) ? static_cast<T>(wrap(T(0)) - wrap(x)) : static_cast<T>(x / y);
  }
};
struct Truncatemod {
  template <class T>
  TAPEDECK_INLINE static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fmod(x, y);
    else
      return y == T(-1) ? T(0) : static_cast<T>(x % y);
  }
};
struct Pow {
  template <class T>
  TAPEDECK_INLINE static T apply(T x, T y) {
    if constexpr (std::is_floating_point_v<T>) {
      return std::pow(x, y);
    } else {
      auto base = wrap(x);
      auto result = wrap(T(1));
      for (auto exponent = wrap(y); exponent != 0; exponent >>= 1, base *= base)
        if (exponent & 1) result *= base;
      return static_cast<T>(result);
    }
  }
};

/// x² and other powers that need no logarithm, where all elements have the same exponent. Each gives what Pow
/// gives, or what is nearer.
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
  binary_loop<T, T, Pow>(a, a_step, b, b_step, out, count);
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
void add_numeric(LoopTable& table) {
  set<T, T, Add>(table, Binary::add);
  set<T, T, Subtract>(table, Binary::subtract);
  set<T, T, Multiply>(table, Binary::multiply);
  set<T, T, SquaredDifference>(table, Binary::squared_difference);
  set<T, T, Floordiv>(table, Binary::floordiv);
  set<T, T, Mod>(table, Binary::mod);
  set<T, T, Pow>(table, Binary::pow);
  set<T, T, Maximum>(table, Binary::maximum);
  set<T, T, Minimum>(table, Binary::minimum);
  set<T, T, ReluGrad>(table, Binary::relu_grad);
  set<T, T, Truncatediv>(table, Binary::truncatediv);
  set<T, T, Truncatemod>(table, Binary::truncatemod);
  set<T, bool, Equal>(table, Binary::equal);
  set<T, bool, NotEqual>(table, Binary::not_equal);
  set<T, bool, Less>(table, Binary::less);
  set<T, bool, LessEqual>(table, Binary::less_equal);
  set<T, bool, Greater>(table, Binary::greater);
  set<T, bool, GreaterEqual>(table, Binary::greater_equal);
}

template <class T>
void add_floating(LoopTable& table) {
  add_numeric<T>(table);
  table.binary[static_cast<int>(Binary::pow)][static_cast<int>(dtype_of<T>())] = power_loop<T>;
  set<T, T, Divide>(table, Binary::divide);
  set<T, T, SigmoidGrad>(table, Binary::sigmoid_grad);
  set<T, T, TanhGrad>(table, Binary::tanh_grad);
  set<T, T, GeluGrad>(table, Binary::gelu_grad);
  set<T, T, DivideNoNan>(table, Binary::divide_no_nan);
  set<T, T, MultiplyNoNan>(table, Binary::multiply_no_nan);
  set<T, T, Atan2>(table, Binary::atan2);
  set<T, T, Xdivy>(table, Binary::xdivy);
  set<T, T, Xlogy>(table, Binary::xlogy);
  set<T, T, Xlog1py>(table, Binary::xlog1py);
  set<T, T, Polygamma>(table, Binary::polygamma);
  set<T, T, Zeta>(table, Binary::zeta);
  set<T, T, LeakyRelu>(table, Binary::leaky_relu);
  set<T, T, Swish>(table, Binary::swish);
  set<T, T, Nextafter>(table, Binary::nextafter);
}

template <class T>
void add_integer(LoopTable& table) {
  add_numeric<T>(table);
  set<T, T, BitAnd>(table, Binary::bitwise_and);
  set<T, T, BitOr>(table, Binary::bitwise_or);
  set<T, T, BitXor>(table, Binary::bitwise_xor);
  set<T, T, LeftShift>(table, Binary::left_shift);
  set<T, T, RightShift>(table, Binary::right_shift);
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
  add_integer<std::int32_t>(table);
  add_integer<std::int64_t>(table);
  add_floating<float>(table);
  add_floating<double>(table);
  table.binary[static_cast<int>(Binary::mod)][static_cast<int>(DType::float32)] = mod_loop;
  set<bool, bool, Equal>(table, Binary::equal);
  set<bool, bool, NotEqual>(table, Binary::not_equal);
  set<bool, bool, And>(table, Binary::logical_and);
  set<bool, bool, Or>(table, Binary::logical_or);
  set<bool, bool, Xor>(table, Binary::logical_xor);
  table.select[static_cast<int>(DType::bool_)] = select_loop<std::uint8_t>;
  table.select[static_cast<int>(DType::int32)] = select_loop<std::int32_t>;
  table.select[static_cast<int>(DType::int64)] = select_loop<std::int64_t>;
  table.select[static_cast<int>(DType::float32)] = select_loop<float>;
  table.select[static_cast<int>(DType::float64)] = select_loop<double>;
  table.scaled_sum[static_cast<int>(DType::float32)] = scaled_sum_loop<float>;
  table.scaled_sum[static_cast<int>(DType::float64)] = scaled_sum_loop<double>;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
