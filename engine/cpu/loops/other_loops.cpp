#define TAPEDECK_ISA portable
#include "engine/cpu/loops/other_loops.h"

#include <complex>
#include <string_view>
#include <type_traits>

#include "engine/cpu/vector/loop.h"

namespace tapedeck::cpu {
namespace portable {
namespace {

#define TAPEDECK_FUNCTION1(name, ...) \
  struct name {                       \
    template <class T>                \
    static auto apply(T x) {          \
      return __VA_ARGS__;             \
    }                                 \
  };
#define TAPEDECK_FUNCTION2(name, ...) \
  struct name {                       \
    template <class T>                \
    static auto apply(T x, T y) {     \
      return __VA_ARGS__;             \
    }                                 \
  };

/// The functions of the lines in elementwise_functions.h that say `uint64`.
namespace of_uint64 {
TAPEDECK_FUNCTION1(negative, T(0) - x)
TAPEDECK_FUNCTION1(abs, x)
TAPEDECK_FUNCTION1(sign, T(x != 0))
TAPEDECK_FUNCTION1(square, x* x)
TAPEDECK_FUNCTION1(relu, x)
TAPEDECK_FUNCTION1(floor, x)
TAPEDECK_FUNCTION1(ceil, x)
TAPEDECK_FUNCTION1(round, x)
TAPEDECK_FUNCTION1(trunc, x)
TAPEDECK_FUNCTION1(relu6, x < 6 ? x : T(6))
TAPEDECK_FUNCTION1(invert, ~x)
TAPEDECK_FUNCTION2(add, x + y)
TAPEDECK_FUNCTION2(subtract, x - y)
TAPEDECK_FUNCTION2(multiply, x* y)
TAPEDECK_FUNCTION2(floordiv, x / y)
TAPEDECK_FUNCTION2(mod, x % y)
TAPEDECK_FUNCTION2(maximum, x > y ? x : y)
TAPEDECK_FUNCTION2(minimum, x < y ? x : y)
TAPEDECK_FUNCTION2(squared_difference, (x - y) * (x - y))
TAPEDECK_FUNCTION2(truncatediv, x / y)
TAPEDECK_FUNCTION2(truncatemod, x % y)
TAPEDECK_FUNCTION2(bitwise_and, x& y)
TAPEDECK_FUNCTION2(bitwise_or, x | y)
TAPEDECK_FUNCTION2(bitwise_xor, x ^ y)
TAPEDECK_FUNCTION2(left_shift, x << (y > 63 ? 63 : y))
TAPEDECK_FUNCTION2(right_shift, x >> (y > 63 ? 63 : y))
TAPEDECK_FUNCTION2(equal, x == y)
TAPEDECK_FUNCTION2(not_equal, x != y)
TAPEDECK_FUNCTION2(less, x < y)
TAPEDECK_FUNCTION2(less_equal, x <= y)
TAPEDECK_FUNCTION2(greater, x > y)
TAPEDECK_FUNCTION2(greater_equal, x >= y)
struct pow {
  static std::uint64_t apply(std::uint64_t base, std::uint64_t exponent) {
    std::uint64_t result = 1;
    for (; exponent != 0; exponent >>= 1, base *= base)
      if (exponent & 1) result *= base;
    return result;
  }
};
}  // namespace of_uint64

// Complex numbers. The product without the special cases of C's Annex G for infinities, as in NumPy and
// TensorFlow.
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

/// The functions of the lines that say `complexes`.
namespace of_complexes {
TAPEDECK_FUNCTION1(negative, -x)
TAPEDECK_FUNCTION1(sign, sign_of(x))
TAPEDECK_FUNCTION1(square, product(x, x))
TAPEDECK_FUNCTION1(sqrt, std::sqrt(x))
TAPEDECK_FUNCTION1(rsqrt, T(1) / std::sqrt(x))
TAPEDECK_FUNCTION1(reciprocal, T(1) / x)
TAPEDECK_FUNCTION1(reciprocal_no_nan, x == T(0) ? T(0) : T(1) / x)
TAPEDECK_FUNCTION1(exp, std::exp(x))
TAPEDECK_FUNCTION1(expm1, expm1_of(x))
TAPEDECK_FUNCTION1(log, std::log(x))
TAPEDECK_FUNCTION1(log1p, log1p_of(x))
TAPEDECK_FUNCTION1(sin, std::sin(x))
TAPEDECK_FUNCTION1(cos, std::cos(x))
TAPEDECK_FUNCTION1(tan, std::tan(x))
TAPEDECK_FUNCTION1(asin, std::asin(x))
TAPEDECK_FUNCTION1(acos, std::acos(x))
TAPEDECK_FUNCTION1(atan, std::atan(x))
TAPEDECK_FUNCTION1(sinh, std::sinh(x))
TAPEDECK_FUNCTION1(cosh, std::cosh(x))
TAPEDECK_FUNCTION1(tanh, std::tanh(x))
TAPEDECK_FUNCTION1(asinh, std::asinh(x))
TAPEDECK_FUNCTION1(acosh, std::acosh(x))
TAPEDECK_FUNCTION1(atanh, std::atanh(x))
TAPEDECK_FUNCTION1(sigmoid, T(1) / (T(1) + std::exp(-x)))
TAPEDECK_FUNCTION2(add, x + y)
TAPEDECK_FUNCTION2(subtract, x - y)
TAPEDECK_FUNCTION2(multiply, product(x, y))
TAPEDECK_FUNCTION2(divide, x / y)
TAPEDECK_FUNCTION2(pow, power(x, y))
TAPEDECK_FUNCTION2(squared_difference, T(std::norm(x - y)))
TAPEDECK_FUNCTION2(sigmoid_grad, product(y, product(x, T(1) - x)))
TAPEDECK_FUNCTION2(tanh_grad, product(y, T(1) - product(x, x)))
TAPEDECK_FUNCTION2(divide_no_nan, y == T(0) ? T(0) : x / y)
TAPEDECK_FUNCTION2(multiply_no_nan, y == T(0) ? T(0) : product(x, y))
TAPEDECK_FUNCTION2(xdivy, x == T(0) ? T(0) : x / y)
TAPEDECK_FUNCTION2(xlogy, x == T(0) ? T(0) : product(x, std::log(y)))
TAPEDECK_FUNCTION2(xlog1py, x == T(0) ? T(0) : product(x, log1p_of(y)))
TAPEDECK_FUNCTION2(equal, x == y)
TAPEDECK_FUNCTION2(not_equal, x != y)
}  // namespace of_complexes

namespace of_strings {
TAPEDECK_FUNCTION2(equal, x == y)
TAPEDECK_FUNCTION2(not_equal, x != y)
}  // namespace of_strings

template <class T, class F, Result result, class Op>
void add_one(LoopTable& table, Op op) {
  set<T, std::conditional_t<result == Result::truth, bool, T>, F>(table, op);
}

// The loops that a line of the table adds, according to its other dtypes.
#define TAPEDECK_ADD_none(op, result)
#define TAPEDECK_ADD_uint64(op, result) add_one<std::uint64_t, of_uint64::op, Result::result>(table, Op::op);
#define TAPEDECK_ADD_complexes(op, result)                                       \
  add_one<std::complex<float>, of_complexes::op, Result::result>(table, Op::op); \
  add_one<std::complex<double>, of_complexes::op, Result::result>(table, Op::op);
#define TAPEDECK_ADD_both(op, result) TAPEDECK_ADD_uint64(op, result) TAPEDECK_ADD_complexes(op, result)
#define TAPEDECK_ADD_all(op, result) \
  TAPEDECK_ADD_both(op, result) add_one<std::string_view, of_strings::op, Result::result>(table, Op::op);
#define TAPEDECK_ADD(op, domain, others, result, ...) TAPEDECK_ADD_##others(op, result)

void add_unary_of_others(LoopTable& table) {
  using Op = Unary;
  TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_ADD)
}
void add_binary_of_others(LoopTable& table) {
  using Op = Binary;
  TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_ADD)
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

/// Selection moves elements by size, whatever their dtype.
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
  add_unary_of_others(table);
  add_binary_of_others(table);
  add_casts_with<bool>(table);
  add_casts_with<std::int32_t>(table);
  add_casts_with<std::int64_t>(table);
  add_casts_with<float>(table);
  add_casts_with<double>(table);
}

}  // namespace tapedeck::cpu
