// Loops of one operand.
#include <type_traits>

#include "engine/cpu/bessel.h"
#include "engine/cpu/vector/loop.h"
#include "engine/cpu/vector/math.h"
#include "engine/cpu/vector/special.h"
#include "engine/cpu/vector/transcendental.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

// Signed overflow wraps around, as in NumPy.
template <class T>
struct Wrapping {
  using type = T;
};
template <>
struct Wrapping<std::int32_t> {
  using type = std::uint32_t;
};
template <>
struct Wrapping<std::int64_t> {
  using type = std::uint64_t;
};
template <class T>
using wrapping_t = typename Wrapping<T>::type;

struct Negative {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return -x;
    else
      return static_cast<T>(wrapping_t<T>(0) - static_cast<wrapping_t<T>>(x));
  }
};
struct Abs {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    if constexpr (std::is_floating_point_v<T>)
      return std::fabs(x);
    else
      return x < 0 ? Negative::apply(x) : x;
  }
};
struct Sign {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    const T sign = static_cast<T>((x > T(0) ? T(1) : T(0)) - (x < T(0) ? T(1) : T(0)));
    return x == x ? sign : x;
  }
};
struct Square {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return static_cast<T>(static_cast<wrapping_t<T>>(x) * static_cast<wrapping_t<T>>(x));
  }
};
struct Relu {
  template <class T>
  TAPEDECK_INLINE static T apply(T x) {
    return x < T(0) ? T(0) : x;  // NaN passes
  }
};

// float32 has vector code; double the standard library's functions.
#define TAPEDECK_FUNCTION(Name, of_float, of_double)                    \
  struct Name {                                                         \
    TAPEDECK_INLINE static float apply(float x) { return of_float; }    \
    TAPEDECK_INLINE static double apply(double x) { return of_double; } \
  };
TAPEDECK_FUNCTION(Erf, erf_of(x), std::erf(x))
TAPEDECK_FUNCTION(Erfc, erfc_of(x), std::erfc(x))
TAPEDECK_FUNCTION(Gelu, gelu_of(x), 0.5 * x * std::erfc(x * -0.70710678118654752440))  // 1 + erf would cancel
TAPEDECK_FUNCTION(Asin, asin_of(x), std::asin(x))
TAPEDECK_FUNCTION(Acos, acos_of(x), std::acos(x))
TAPEDECK_FUNCTION(Atan, atan2_of(x, 1.0F), std::atan(x))
#undef TAPEDECK_FUNCTION

/// unary_loop of an F that does not fit all arguments: the others are computed one by one.
template <class T, class F>
void guarded_loop(const void* a, std::int64_t a_step, void* out, std::int64_t count) {
  constexpr std::int64_t together = 64;
  const T* __restrict x = static_cast<const T*>(a);
  T* __restrict y = static_cast<T*>(out);
  std::int64_t i = 0;
  if (a_step == 1)
    for (; i + together <= count; i += together) {
      int others = 0;
      for (std::int64_t j = i; j < i + together; ++j) {
        y[j] = F::apply(x[j]);
        others |= F::fits(x[j]) ? 0 : 1;
      }
      if (others)
        for (std::int64_t j = i; j < i + together; ++j)
          if (!F::fits(x[j])) y[j] = F::otherwise(x[j]);
    }
  for (; i < count; ++i) {
    const T value = x[i * a_step];
    y[i] = F::fits(value) ? F::apply(value) : F::otherwise(value);
  }
}

#define TAPEDECK_FUNCTION(Name, expression)  \
  struct Name {                              \
    template <class T>                       \
    TAPEDECK_INLINE static auto apply(T x) { \
      return expression;                     \
    }                                        \
  };
TAPEDECK_FUNCTION(Sqrt, std::sqrt(x))
TAPEDECK_FUNCTION(Rsqrt, T(1) / std::sqrt(x))
TAPEDECK_FUNCTION(Reciprocal, T(1) / x)
TAPEDECK_FUNCTION(Exp, exp_of(x))
TAPEDECK_FUNCTION(Expm1, expm1_of(x))
TAPEDECK_FUNCTION(Log, log_of(x))
TAPEDECK_FUNCTION(Log1p, log1p_of(x))
TAPEDECK_FUNCTION(Sinh, sinh_of(x))
TAPEDECK_FUNCTION(Cosh, cosh_of(x))
TAPEDECK_FUNCTION(Tanh, tanh_of(x))
TAPEDECK_FUNCTION(Sigmoid, sigmoid_of(x))
TAPEDECK_FUNCTION(Softplus, softplus_of(x))
TAPEDECK_FUNCTION(Floor, std::floor(x))
TAPEDECK_FUNCTION(Ceil, std::ceil(x))
TAPEDECK_FUNCTION(Round, std::nearbyint(x))  // halves go to even
TAPEDECK_FUNCTION(Trunc, std::trunc(x))
TAPEDECK_FUNCTION(Asinh, std::asinh(x))
TAPEDECK_FUNCTION(Acosh, std::acosh(x))
TAPEDECK_FUNCTION(Atanh, std::atanh(x))
TAPEDECK_FUNCTION(Lgamma, lgamma_of(x))
TAPEDECK_FUNCTION(Digamma, static_cast<T>(digamma_of(static_cast<double>(x))))
TAPEDECK_FUNCTION(Erfinv, static_cast<T>(erfinv_of(static_cast<double>(x))))
TAPEDECK_FUNCTION(Ndtri, static_cast<T>(ndtri_of(static_cast<double>(x))))
TAPEDECK_FUNCTION(LogSigmoid, -softplus_of(-x))
TAPEDECK_FUNCTION(Relu6, x<T(0) ? T(0) : x> T(6) ? T(6) : x)  // NaN passes
TAPEDECK_FUNCTION(Elu, x < T(0) ? expm1_of(x) : x)
TAPEDECK_FUNCTION(Selu, T(selu_scale) * (x < T(0) ? T(selu_alpha) * expm1_of(x) : x))
// 1 + tanh would cancel for negative x: the sigmoid keeps its digits.
TAPEDECK_FUNCTION(GeluTanh, x* sigmoid_of(T(1.59576912160573071176) * (x + T(0.044715) * (x * x * x))))
TAPEDECK_FUNCTION(Softsign, x / (T(1) + std::fabs(x)))
TAPEDECK_FUNCTION(ReciprocalNoNan, x == T(0) ? T(0) : T(1) / x)
TAPEDECK_FUNCTION(BesselI0, static_cast<T>(bessel_i(0, false, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselI0e, static_cast<T>(bessel_i(0, true, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselI1, static_cast<T>(bessel_i(1, false, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselI1e, static_cast<T>(bessel_i(1, true, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselJ0, static_cast<T>(bessel_j(0, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselJ1, static_cast<T>(bessel_j(1, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselY0, static_cast<T>(bessel_y(0, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselY1, static_cast<T>(bessel_y(1, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselK0, static_cast<T>(bessel_k(0, false, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselK0e, static_cast<T>(bessel_k(0, true, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselK1, static_cast<T>(bessel_k(1, false, static_cast<double>(x))))
TAPEDECK_FUNCTION(BesselK1e, static_cast<T>(bessel_k(1, true, static_cast<double>(x))))
TAPEDECK_FUNCTION(Invert, static_cast<T>(~x))
TAPEDECK_FUNCTION(IsNan, x != x)
TAPEDECK_FUNCTION(IsInf, std::fabs(x) == std::numeric_limits<T>::infinity())
TAPEDECK_FUNCTION(IsFinite, std::fabs(x) < std::numeric_limits<T>::infinity())
TAPEDECK_FUNCTION(Not, !x)
TAPEDECK_FUNCTION(Same, x)
#undef TAPEDECK_FUNCTION

template <class T>
void add_numeric(LoopTable& table) {
  set<T, T, Negative>(table, Unary::negative);
  set<T, T, Abs>(table, Unary::abs);
  set<T, T, Sign>(table, Unary::sign);
  set<T, T, Square>(table, Unary::square);
  set<T, T, Relu>(table, Unary::relu);
}

template <class T>
void add_integer(LoopTable& table) {
  add_numeric<T>(table);
  set<T, T, Same>(table, Unary::floor);
  set<T, T, Same>(table, Unary::ceil);
  set<T, T, Same>(table, Unary::round);
  set<T, T, Same>(table, Unary::trunc);
  set<T, T, Relu6>(table, Unary::relu6);
  set<T, T, Invert>(table, Unary::invert);
}

template <class T>
void add_floating(LoopTable& table) {
  add_numeric<T>(table);
  set<T, T, Sqrt>(table, Unary::sqrt);
  set<T, T, Rsqrt>(table, Unary::rsqrt);
  set<T, T, Reciprocal>(table, Unary::reciprocal);
  set<T, T, Exp>(table, Unary::exp);
  set<T, T, Expm1>(table, Unary::expm1);
  set<T, T, Log>(table, Unary::log);
  set<T, T, Log1p>(table, Unary::log1p);
  table.unary[static_cast<int>(Unary::sin)][static_cast<int>(dtype_of<T>())] = guarded_loop<T, Sin>;
  table.unary[static_cast<int>(Unary::cos)][static_cast<int>(dtype_of<T>())] = guarded_loop<T, Cos>;
  table.unary[static_cast<int>(Unary::tan)][static_cast<int>(dtype_of<T>())] = guarded_loop<T, Tan>;
  set<T, T, Asin>(table, Unary::asin);
  set<T, T, Acos>(table, Unary::acos);
  set<T, T, Atan>(table, Unary::atan);
  set<T, T, Sinh>(table, Unary::sinh);
  set<T, T, Cosh>(table, Unary::cosh);
  set<T, T, Tanh>(table, Unary::tanh);
  set<T, T, Sigmoid>(table, Unary::sigmoid);
  set<T, T, Softplus>(table, Unary::softplus);
  set<T, T, Erf>(table, Unary::erf);
  set<T, T, Floor>(table, Unary::floor);
  set<T, T, Ceil>(table, Unary::ceil);
  set<T, T, Round>(table, Unary::round);
  set<T, T, Trunc>(table, Unary::trunc);
  set<T, T, Asinh>(table, Unary::asinh);
  set<T, T, Acosh>(table, Unary::acosh);
  set<T, T, Atanh>(table, Unary::atanh);
  set<T, T, Erfc>(table, Unary::erfc);
  set<T, T, Lgamma>(table, Unary::lgamma);
  set<T, T, Digamma>(table, Unary::digamma);
  set<T, T, Erfinv>(table, Unary::erfinv);
  set<T, T, Ndtri>(table, Unary::ndtri);
  set<T, T, LogSigmoid>(table, Unary::log_sigmoid);
  set<T, T, Relu6>(table, Unary::relu6);
  set<T, T, Elu>(table, Unary::elu);
  set<T, T, Selu>(table, Unary::selu);
  set<T, T, Gelu>(table, Unary::gelu);
  set<T, T, GeluTanh>(table, Unary::gelu_tanh);
  set<T, T, Softsign>(table, Unary::softsign);
  set<T, T, ReciprocalNoNan>(table, Unary::reciprocal_no_nan);
  set<T, T, BesselI0>(table, Unary::bessel_i0);
  set<T, T, BesselI0e>(table, Unary::bessel_i0e);
  set<T, T, BesselI1>(table, Unary::bessel_i1);
  set<T, T, BesselI1e>(table, Unary::bessel_i1e);
  set<T, T, BesselJ0>(table, Unary::bessel_j0);
  set<T, T, BesselJ1>(table, Unary::bessel_j1);
  set<T, T, BesselY0>(table, Unary::bessel_y0);
  set<T, T, BesselY1>(table, Unary::bessel_y1);
  set<T, T, BesselK0>(table, Unary::bessel_k0);
  set<T, T, BesselK0e>(table, Unary::bessel_k0e);
  set<T, T, BesselK1>(table, Unary::bessel_k1);
  set<T, T, BesselK1e>(table, Unary::bessel_k1e);
  set<T, bool, IsNan>(table, Unary::is_nan);
  set<T, bool, IsInf>(table, Unary::is_inf);
  set<T, bool, IsFinite>(table, Unary::is_finite);
}

}  // namespace

void add_unary(LoopTable& table) {
  add_integer<std::int32_t>(table);
  add_integer<std::int64_t>(table);
  add_floating<float>(table);
  add_floating<double>(table);
  set<bool, bool, Not>(table, Unary::logical_not);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
