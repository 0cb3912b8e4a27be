// X-macro lists of all elementwise functions of numbers and truth values, one line each: name in the enums,
// dtypes of the operands, additional dtypes, result (same dtype or truth value), cost of an element, and the
// expression that computes it.
//
// F(name, domain, others, result, cost, wide_cost, expression): the operands are x and y, of type T. Costs
// are approximate nanoseconds per element for float32 and for other dtypes; they decide how much work one
// thread gets. The functions that expressions call are in vector/*.h. others: none, complexes, uint64, both,
// or all (strings, too); their code is in cpu/loops/other_loops.cpp under the same name, and the build fails
// if it is missing.
#pragma once

// Each line is also an op of the same name without attributes; the C++ function in ops.h is generated from
// it.
#define TAPEDECK_UNARY_OPS(F)                                                                            \
  F(negative, numeric, both, same, 0.3, 0.3, negative_of(x))                                             \
  F(abs, numeric, uint64, same, 0.3, 0.3, abs_of(x))                                                     \
  F(sign, numeric, both, same, 0.3, 0.3, sign_of(x))                                                     \
  F(square, numeric, both, same, 0.3, 0.3, static_cast<T>(wrap(x) * wrap(x)))                            \
  F(sqrt, floating, complexes, same, 0.3, 0.3, std::sqrt(x))                                             \
  F(rsqrt, floating, complexes, same, 0.3, 0.3, T(1) / std::sqrt(x))                                     \
  F(reciprocal, floating, complexes, same, 0.3, 0.3, T(1) / x)                                           \
  F(exp, floating, complexes, same, 0.8, 0.8, exp_of(x))                                                 \
  F(expm1, floating, complexes, same, 0.8, 0.8, expm1_of(x))                                             \
  F(log, floating, complexes, same, 0.8, 0.8, log_of(x))                                                 \
  F(log1p, floating, complexes, same, 0.8, 0.8, log1p_of(x))                                             \
  F(sin, floating, complexes, same, 0.8, 0.8, guarded<Sin>(x))                                           \
  F(cos, floating, complexes, same, 0.8, 0.8, guarded<Cos>(x))                                           \
  F(tan, floating, complexes, same, 0.8, 0.8, guarded<Tan>(x))                                           \
  F(asin, floating, complexes, same, 1.5, 8, asin_of(x))                                                 \
  F(acos, floating, complexes, same, 1.5, 8, acos_of(x))                                                 \
  F(atan, floating, complexes, same, 1.5, 8, atan_of(x))                                                 \
  F(sinh, floating, complexes, same, 0.8, 0.8, sinh_of(x))                                               \
  F(cosh, floating, complexes, same, 0.8, 0.8, cosh_of(x))                                               \
  F(tanh, floating, complexes, same, 0.8, 0.8, tanh_of(x))                                               \
  F(sigmoid, floating, complexes, same, 0.8, 0.8, sigmoid_of(x))                                         \
  F(relu, numeric, uint64, same, 0.3, 0.3, x < T(0) ? T(0) : x) /* NaN passes */                         \
  F(softplus, floating, none, same, 0.8, 0.8, softplus_of(x))                                            \
  F(erf, floating, none, same, 1.5, 8, erf_of(x))                                                        \
  F(floor, numeric, uint64, same, 0.3, 0.3, floor_of(x))                                                 \
  F(ceil, numeric, uint64, same, 0.3, 0.3, ceil_of(x))                                                   \
  F(round, numeric, uint64, same, 0.3, 0.3, round_of(x)) /* halves go to even */                         \
  F(trunc, numeric, uint64, same, 0.3, 0.3, trunc_of(x))                                                 \
  F(asinh, floating, complexes, same, 8, 8, std::asinh(x))                                               \
  F(acosh, floating, complexes, same, 8, 8, std::acosh(x))                                               \
  F(atanh, floating, complexes, same, 8, 8, std::atanh(x))                                               \
  F(erfc, floating, none, same, 1.5, 8, erfc_of(x))                                                      \
  F(lgamma, floating, none, same, 4, 20, lgamma_of(x))                                                   \
  F(digamma, floating, none, same, 4, 20, digamma_of(x))                                                 \
  F(erfinv, floating, none, same, 1.5, 8, erfinv_of(x))                                                  \
  F(ndtri, floating, none, same, 8, 8, static_cast<T>(ndtri_of(static_cast<double>(x))))                 \
  F(erfcinv, floating, none, same, 8, 8,                                                                 \
    static_cast<T>(ndtri_of(0.5 * static_cast<double>(x)) * (-std::numbers::sqrt2 / 2)))                 \
  F(log_sigmoid, floating, none, same, 0.8, 0.8, -softplus_of(-x))                                       \
  F(relu6, numeric, uint64, same, 0.3, 0.3, x < T(0) ? T(0) : (x > T(6) ? T(6) : x)) /* NaN passes */    \
  F(elu, floating, none, same, 0.8, 0.8, x < T(0) ? expm1_of(x) : x)                                     \
  F(selu, floating, none, same, 0.8, 0.8, T(selu_scale) * (x < T(0) ? T(selu_alpha) * expm1_of(x) : x))  \
  F(softsign, floating, none, same, 0.3, 0.3, x / (T(1) + std::fabs(x)))                                 \
  F(reciprocal_no_nan, floating, complexes, same, 0.3, 0.3, x == T(0) ? T(0) : T(1) / x)                 \
  F(bessel_i0, floating, none, same, 40, 40, static_cast<T>(bessel_i(0, false, static_cast<double>(x)))) \
  F(bessel_i0e, floating, none, same, 40, 40, static_cast<T>(bessel_i(0, true, static_cast<double>(x)))) \
  F(bessel_i1, floating, none, same, 40, 40, static_cast<T>(bessel_i(1, false, static_cast<double>(x)))) \
  F(bessel_i1e, floating, none, same, 40, 40, static_cast<T>(bessel_i(1, true, static_cast<double>(x)))) \
  F(bessel_j0, floating, none, same, 40, 40, static_cast<T>(bessel_j(0, static_cast<double>(x))))        \
  F(bessel_j1, floating, none, same, 40, 40, static_cast<T>(bessel_j(1, static_cast<double>(x))))        \
  F(bessel_y0, floating, none, same, 40, 40, static_cast<T>(bessel_y(0, static_cast<double>(x))))        \
  F(bessel_y1, floating, none, same, 40, 40, static_cast<T>(bessel_y(1, static_cast<double>(x))))        \
  F(bessel_k0, floating, none, same, 40, 40, static_cast<T>(bessel_k(0, false, static_cast<double>(x)))) \
  F(bessel_k0e, floating, none, same, 40, 40, static_cast<T>(bessel_k(0, true, static_cast<double>(x)))) \
  F(bessel_k1, floating, none, same, 40, 40, static_cast<T>(bessel_k(1, false, static_cast<double>(x)))) \
  F(bessel_k1e, floating, none, same, 40, 40, static_cast<T>(bessel_k(1, true, static_cast<double>(x)))) \
  F(invert, integer, uint64, same, 0.3, 0.3, static_cast<T>(~x))                                         \
  F(logical_not, boolean, none, truth, 0.3, 0.3, !x)                                                     \
  F(is_nan, floating, none, truth, 0.3, 0.3, x != x)                                                     \
  F(is_inf, floating, none, truth, 0.3, 0.3, std::fabs(x) == std::numeric_limits<T>::infinity())         \
  F(is_finite, floating, none, truth, 0.3, 0.3, std::fabs(x) < std::numeric_limits<T>::infinity())

// Functions from which ops with attributes choose.
#define TAPEDECK_CHOSEN_UNARY_FUNCTIONS(F)          \
  F(gelu, floating, none, same, 1.5, 8, gelu_of(x)) \
  F(gelu_tanh, floating, none, same, 0.8, 0.8, gelu_tanh_of(x))

#define TAPEDECK_UNARY_FUNCTIONS(F) TAPEDECK_UNARY_OPS(F) TAPEDECK_CHOSEN_UNARY_FUNCTIONS(F)

// The `…_grad` ones take (y, cotangent) with y the forward op's output (relu_grad, gelu_grad: (cotangent,
// x)). Callers have already rejected integer divisors of 0.
#define TAPEDECK_BINARY_OPS(F)                                                              \
  F(add, numeric, both, same, 0.3, 0.3, static_cast<T>(wrap(x) + wrap(y)))                  \
  F(subtract, numeric, both, same, 0.3, 0.3, static_cast<T>(wrap(x) - wrap(y)))             \
  F(multiply, numeric, both, same, 0.3, 0.3, static_cast<T>(wrap(x) * wrap(y)))             \
  F(divide, floating, complexes, same, 0.3, 0.3, x / y)                                     \
  F(floordiv, numeric, uint64, same, 0.3, 0.3, floordiv_of(x, y))                           \
  F(mod, numeric, uint64, same, 1.5, 10, mod_of(x, y))                                      \
  F(pow, numeric, both, same, 1.5, 10, pow_of(x, y))                                        \
  F(maximum, numeric, uint64, same, 0.3, 0.3, (x > y || x != x) ? x : y)                    \
  F(minimum, numeric, uint64, same, 0.3, 0.3, (x < y || x != x) ? x : y)                    \
  F(squared_difference, numeric, both, same, 0.3, 0.3,                                      \
    static_cast<T>((wrap(x) - wrap(y)) * (wrap(x) - wrap(y))))                              \
  F(sigmoid_grad, floating, complexes, same, 0.3, 0.3, y*(x * (T(1) - x)))                  \
  F(tanh_grad, floating, complexes, same, 0.3, 0.3, y*(T(1) - x * x))                       \
  F(relu_grad, numeric, none, same, 0.3, 0.3, y > T(0) ? x : T(0))                          \
  F(gelu_grad, floating, none, same, 0.3, 0.3, gelu_grad_of(x, y))                          \
  F(truncatediv, numeric, uint64, same, 0.3, 0.3, truncatediv_of(x, y))                     \
  F(truncatemod, numeric, uint64, same, 10, 10, truncatemod_of(x, y))                       \
  F(divide_no_nan, floating, complexes, same, 0.3, 0.3, y == T(0) ? T(0) : x / y)           \
  F(multiply_no_nan, floating, complexes, same, 0.3, 0.3, y == T(0) ? T(0) : x * y)         \
  F(atan2, floating, none, same, 1.5, 10, atan2_of(x, y))                                   \
  F(xdivy, floating, complexes, same, 0.3, 0.3, x == T(0) ? T(0) : x / y)                   \
  F(xlogy, floating, complexes, same, 10, 10, x == T(0) ? T(0) : x * std::log(y))           \
  F(xlog1py, floating, complexes, same, 10, 10, x == T(0) ? T(0) : x * std::log1p(y))       \
  F(polygamma, floating, none, same, 200, 200,                                              \
    static_cast<T>(polygamma_of(static_cast<double>(x), static_cast<double>(y))))           \
  F(zeta, floating, none, same, 200, 200,                                                   \
    static_cast<T>(zeta_of(static_cast<double>(x), static_cast<double>(y))))                \
  F(nextafter, floating, none, same, 0.3, 0.3, std::nextafter(x, y))                        \
  F(bitwise_and, integer, uint64, same, 0.3, 0.3, static_cast<T>(x & y))                    \
  F(bitwise_or, integer, uint64, same, 0.3, 0.3, static_cast<T>(x | y))                     \
  F(bitwise_xor, integer, uint64, same, 0.3, 0.3, static_cast<T>(x ^ y))                    \
  F(left_shift, integer, uint64, same, 0.3, 0.3, static_cast<T>(wrap(x) << shift_count(y))) \
  F(right_shift, integer, uint64, same, 0.3, 0.3, static_cast<T>(x >> shift_count(y)))      \
  F(equal, any, all, truth, 0.3, 0.3, x == y)                                               \
  F(not_equal, any, all, truth, 0.3, 0.3, x != y)                                           \
  F(less, numeric, uint64, truth, 0.3, 0.3, x < y)                                          \
  F(less_equal, numeric, uint64, truth, 0.3, 0.3, x <= y)                                   \
  F(greater, numeric, uint64, truth, 0.3, 0.3, x > y)                                       \
  F(greater_equal, numeric, uint64, truth, 0.3, 0.3, x >= y)                                \
  F(logical_and, boolean, none, truth, 0.3, 0.3, x&& y)                                     \
  F(logical_or, boolean, none, truth, 0.3, 0.3, x || y)                                     \
  F(logical_xor, boolean, none, truth, 0.3, 0.3, x != y)

#define TAPEDECK_CHOSEN_BINARY_FUNCTIONS(F)                           \
  F(leaky_relu, floating, none, same, 0.3, 0.3, x > T(0) ? x : y * x) \
  F(swish, floating, none, same, 0.8, 0.8, x* sigmoid_of(y* x))

#define TAPEDECK_BINARY_FUNCTIONS(F) TAPEDECK_BINARY_OPS(F) TAPEDECK_CHOSEN_BINARY_FUNCTIONS(F)

// A type per function, with the function's name, whose apply computes it; used by the code in vector/*.h.
#define TAPEDECK_FUNCTION_OF_ONE(name, domain, others, result, cost, wide_cost, ...) \
  struct name {                                                                      \
    template <class T>                                                               \
    TAPEDECK_INLINE static auto apply(T x) {                                         \
      return __VA_ARGS__;                                                            \
    }                                                                                \
  };
#define TAPEDECK_FUNCTION_OF_TWO(name, domain, others, result, cost, wide_cost, ...) \
  struct name {                                                                      \
    template <class T>                                                               \
    TAPEDECK_INLINE static auto apply(T x, T y) {                                    \
      return __VA_ARGS__;                                                            \
    }                                                                                \
  };
