#define TAPEDECK_ISA portable
#include "engine/cpu/other_loops.h"

#include <complex>
#include <string_view>
#include <type_traits>

#include "engine/cpu/vector/loop.h"

namespace tapedeck::cpu {
namespace portable {
namespace {

#define TAPEDECK_FUNCTION1(Name, expression) \
  struct Name {                              \
    template <class T>                       \
    static auto apply(T x) {                 \
      return expression;                     \
    }                                        \
  };
#define TAPEDECK_FUNCTION2(Name, expression) \
  struct Name {                              \
    template <class T>                       \
    static auto apply(T x, T y) {            \
      return expression;                     \
    }                                        \
  };
TAPEDECK_FUNCTION2(Add, x + y)
TAPEDECK_FUNCTION2(Subtract, x - y)
TAPEDECK_FUNCTION2(Equal, x == y)
TAPEDECK_FUNCTION2(NotEqual, !(x == y))
TAPEDECK_FUNCTION2(Less, x < y)
TAPEDECK_FUNCTION2(LessEqual, x <= y)
TAPEDECK_FUNCTION2(Greater, x > y)
TAPEDECK_FUNCTION2(GreaterEqual, x >= y)
TAPEDECK_FUNCTION2(Maximum, x > y ? x : y)
TAPEDECK_FUNCTION2(Minimum, x < y ? x : y)
TAPEDECK_FUNCTION2(Product, x* y)
TAPEDECK_FUNCTION2(SquaredDifference, (x - y) * (x - y))
TAPEDECK_FUNCTION2(Quotient, x / y)
TAPEDECK_FUNCTION2(Remainder, x % y)
TAPEDECK_FUNCTION2(BitAnd, x& y)
TAPEDECK_FUNCTION2(BitOr, x | y)
TAPEDECK_FUNCTION2(BitXor, x ^ y)
TAPEDECK_FUNCTION2(LeftShift, x << (y > 63 ? 63 : y))
TAPEDECK_FUNCTION2(RightShift, x >> (y > 63 ? 63 : y))
TAPEDECK_FUNCTION1(Same, x)
TAPEDECK_FUNCTION1(Negative, T(0) - x)
TAPEDECK_FUNCTION1(WholeSign, T(x != 0))
TAPEDECK_FUNCTION1(Square, x* x)
TAPEDECK_FUNCTION1(Invert, ~x)
TAPEDECK_FUNCTION1(AtMostSix, x < 6 ? x : T(6))

struct WholePower {
  static std::uint64_t apply(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return result;
  }
};

// Complex numbers. The product without the care for infinities of C's Annex G, as NumPy and TensorFlow have
// it.
template <class C>
C product(C x, C y) {
  return {x.real() * y.real() - x.imag() * y.imag(), x.real() * y.imag() + x.imag() * y.real()};
}
template <class C>
C power(C x, C y) {
  if (y == C(0)) return C(1);
  if (x == C(0)) return y.real() > 0 ? C(0) : std::pow(x, y);
  return std::pow(x, y);
}
template <class C>
C sign_of(C x) {
  const auto size = std::abs(x);
  return size == 0 ? C(0) : x / size;
}
/// e^z − 1 without cancellation near 0: the real part is expm1(a)·cos b − 2 sin²(b/2).
template <class C>
C expm1_of(C x) {
  const auto half = std::sin(x.imag() / 2);
  return {std::expm1(x.real()) * std::cos(x.imag()) - 2 * half * half,
          std::exp(x.real()) * std::sin(x.imag())};
}
/// log(1 + z): |1 + z|² − 1 = a(2 + a) + b².
template <class C>
C log1p_of(C x) {
  const auto a = x.real(), b = x.imag();
  if (std::abs(a) > decltype(a)(0.5) || std::abs(b) > decltype(a)(0.5)) return std::log(C(1) + x);
  return {std::log1p(a * (2 + a) + b * b) / 2, std::atan2(b, 1 + a)};
}
TAPEDECK_FUNCTION2(ComplexProduct, product(x, y))
TAPEDECK_FUNCTION2(ComplexPower, power(x, y))
TAPEDECK_FUNCTION2(ComplexSquaredDifference, T(std::norm(x - y)))
TAPEDECK_FUNCTION2(DivideNoNan, y == T(0) ? T(0) : x / y)
TAPEDECK_FUNCTION2(MultiplyNoNan, y == T(0) ? T(0) : product(x, y))
TAPEDECK_FUNCTION2(Xdivy, x == T(0) ? T(0) : x / y)
TAPEDECK_FUNCTION2(Xlogy, x == T(0) ? T(0) : product(x, std::log(y)))
TAPEDECK_FUNCTION2(Xlog1py, x == T(0) ? T(0) : product(x, log1p_of(y)))
TAPEDECK_FUNCTION1(ComplexNegative, -x)
TAPEDECK_FUNCTION1(ComplexSign, sign_of(x))
TAPEDECK_FUNCTION1(ComplexSquare, product(x, x))
TAPEDECK_FUNCTION1(Sqrt, std::sqrt(x))
TAPEDECK_FUNCTION1(Rsqrt, T(1) / std::sqrt(x))
TAPEDECK_FUNCTION1(Reciprocal, T(1) / x)
TAPEDECK_FUNCTION1(ReciprocalNoNan, x == T(0) ? T(0) : T(1) / x)
TAPEDECK_FUNCTION1(Exp, std::exp(x))
TAPEDECK_FUNCTION1(Expm1, expm1_of(x))
TAPEDECK_FUNCTION1(Log, std::log(x))
TAPEDECK_FUNCTION1(Log1p, log1p_of(x))
TAPEDECK_FUNCTION1(Sin, std::sin(x))
TAPEDECK_FUNCTION1(Cos, std::cos(x))
TAPEDECK_FUNCTION1(Tan, std::tan(x))
TAPEDECK_FUNCTION1(Asin, std::asin(x))
TAPEDECK_FUNCTION1(Acos, std::acos(x))
TAPEDECK_FUNCTION1(Atan, std::atan(x))
TAPEDECK_FUNCTION1(Sinh, std::sinh(x))
TAPEDECK_FUNCTION1(Cosh, std::cosh(x))
TAPEDECK_FUNCTION1(Tanh, std::tanh(x))
TAPEDECK_FUNCTION1(Asinh, std::asinh(x))
TAPEDECK_FUNCTION1(Acosh, std::acosh(x))
TAPEDECK_FUNCTION1(Atanh, std::atanh(x))
TAPEDECK_FUNCTION1(Sigmoid, T(1) / (T(1) + std::exp(-x)))
TAPEDECK_FUNCTION2(SigmoidGrad, product(y, product(x, T(1) - x)))
TAPEDECK_FUNCTION2(TanhGrad, product(y, T(1) - product(x, x)))

template <class C>
void add_complex_unary(LoopTable& table) {
  set<C, C, ComplexNegative>(table, Unary::negative);
  set<C, C, ComplexSign>(table, Unary::sign);
  set<C, C, ComplexSquare>(table, Unary::square);
  set<C, C, Sqrt>(table, Unary::sqrt);
  set<C, C, Rsqrt>(table, Unary::rsqrt);
  set<C, C, Reciprocal>(table, Unary::reciprocal);
  set<C, C, ReciprocalNoNan>(table, Unary::reciprocal_no_nan);
  set<C, C, Exp>(table, Unary::exp);
  set<C, C, Expm1>(table, Unary::expm1);
  set<C, C, Log>(table, Unary::log);
  set<C, C, Log1p>(table, Unary::log1p);
  set<C, C, Sin>(table, Unary::sin);
  set<C, C, Cos>(table, Unary::cos);
  set<C, C, Tan>(table, Unary::tan);
  set<C, C, Asin>(table, Unary::asin);
  set<C, C, Acos>(table, Unary::acos);
  set<C, C, Atan>(table, Unary::atan);
  set<C, C, Sinh>(table, Unary::sinh);
  set<C, C, Cosh>(table, Unary::cosh);
  set<C, C, Tanh>(table, Unary::tanh);
  set<C, C, Asinh>(table, Unary::asinh);
  set<C, C, Acosh>(table, Unary::acosh);
  set<C, C, Atanh>(table, Unary::atanh);
  set<C, C, Sigmoid>(table, Unary::sigmoid);
}

template <class C>
void add_complex(LoopTable& table) {
  add_complex_unary<C>(table);
  set<C, C, Add>(table, Binary::add);
  set<C, C, Subtract>(table, Binary::subtract);
  set<C, C, ComplexProduct>(table, Binary::multiply);
  set<C, C, Quotient>(table, Binary::divide);
  set<C, C, ComplexPower>(table, Binary::pow);
  set<C, C, ComplexSquaredDifference>(table, Binary::squared_difference);
  set<C, C, SigmoidGrad>(table, Binary::sigmoid_grad);
  set<C, C, TanhGrad>(table, Binary::tanh_grad);
  set<C, C, DivideNoNan>(table, Binary::divide_no_nan);
  set<C, C, MultiplyNoNan>(table, Binary::multiply_no_nan);
  set<C, C, Xdivy>(table, Binary::xdivy);
  set<C, C, Xlogy>(table, Binary::xlogy);
  set<C, C, Xlog1py>(table, Binary::xlog1py);
  set<C, bool, Equal>(table, Binary::equal);
  set<C, bool, NotEqual>(table, Binary::not_equal);
}

void add_uint64(LoopTable& table) {
  using T = std::uint64_t;
  for (const Unary op : {Unary::abs, Unary::relu, Unary::floor, Unary::ceil, Unary::round, Unary::trunc})
    set<T, T, Same>(table, op);
  set<T, T, Negative>(table, Unary::negative);
  set<T, T, WholeSign>(table, Unary::sign);
  set<T, T, Square>(table, Unary::square);
  set<T, T, Invert>(table, Unary::invert);
  set<T, T, AtMostSix>(table, Unary::relu6);
  set<T, T, Add>(table, Binary::add);
  set<T, T, Subtract>(table, Binary::subtract);
  set<T, T, Product>(table, Binary::multiply);
  set<T, T, SquaredDifference>(table, Binary::squared_difference);
  set<T, T, Quotient>(table, Binary::floordiv);
  set<T, T, Remainder>(table, Binary::mod);
  set<T, T, Quotient>(table, Binary::truncatediv);
  set<T, T, Remainder>(table, Binary::truncatemod);
  set<T, T, WholePower>(table, Binary::pow);
  set<T, T, Maximum>(table, Binary::maximum);
  set<T, T, Minimum>(table, Binary::minimum);
  set<T, T, BitAnd>(table, Binary::bitwise_and);
  set<T, T, BitOr>(table, Binary::bitwise_or);
  set<T, T, BitXor>(table, Binary::bitwise_xor);
  set<T, T, LeftShift>(table, Binary::left_shift);
  set<T, T, RightShift>(table, Binary::right_shift);
  set<T, bool, Equal>(table, Binary::equal);
  set<T, bool, NotEqual>(table, Binary::not_equal);
  set<T, bool, Less>(table, Binary::less);
  set<T, bool, LessEqual>(table, Binary::less_equal);
  set<T, bool, Greater>(table, Binary::greater);
  set<T, bool, GreaterEqual>(table, Binary::greater_equal);
}

template <class From, class To>
struct Cast {
  static To apply(From x) {
    if constexpr (std::is_floating_point_v<From> && std::is_same_v<To, std::uint64_t>)
      return x < 0 ? static_cast<To>(static_cast<std::int64_t>(x)) : static_cast<To>(x);
    else
      return static_cast<To>(x);
  }
};

template <class T>
void add_casts_with(LoopTable& table) {
  using U = std::uint64_t;
  const auto of_uint64 = static_cast<int>(DType::uint64);
  table.cast[of_uint64][static_cast<int>(dtype_of<T>())] = unary_loop<U, T, Cast<U, T>>;
  table.cast[static_cast<int>(dtype_of<T>())][of_uint64] = unary_loop<T, U, Cast<T, U>>;
}

/// The choice between two moves elements of one size, whatever they are.
template <class T>
void select_loop(const void* condition, std::int64_t condition_step, const void* a, std::int64_t a_step,
                 const void* b, std::int64_t b_step, void* out, std::int64_t count) {
  const auto* c = static_cast<const bool*>(condition);
  const T* x = static_cast<const T*>(a);
  const T* z = static_cast<const T*>(b);
  T* y = static_cast<T*>(out);
  for (std::int64_t i = 0; i < count; ++i) y[i] = c[i * condition_step] ? x[i * a_step] : z[i * b_step];
}

void add_choices(LoopTable& table) {
  for (std::size_t i = 0; i < dtype_count; ++i) {
    if (table.select[i]) continue;
    const std::size_t size = item_size(static_cast<DType>(i));
    table.select[i] = size == 1   ? select_loop<std::uint8_t>
                      : size == 2 ? select_loop<std::uint16_t>
                      : size == 4 ? select_loop<std::uint32_t>
                      : size == 8 ? select_loop<std::uint64_t>
                                  : select_loop<std::complex<double>>;
  }
}

}  // namespace
}  // namespace portable

void add_other_loops(LoopTable& table) {
  using namespace portable;
  add_choices(table);
  add_complex<std::complex<float>>(table);
  add_complex<std::complex<double>>(table);
  add_uint64(table);
  add_casts_with<bool>(table);
  add_casts_with<std::int32_t>(table);
  add_casts_with<std::int64_t>(table);
  add_casts_with<float>(table);
  add_casts_with<double>(table);
  set<std::string_view, bool, Equal>(table, Binary::equal);
  set<std::string_view, bool, NotEqual>(table, Binary::not_equal);
}

}  // namespace tapedeck::cpu
