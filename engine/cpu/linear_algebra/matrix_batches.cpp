#include "engine/cpu/linear_algebra/matrix_batches.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "engine/cpu/kernels.h"
#include "engine/cpu/linear_algebra/complex_matrices.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"

namespace tapedeck::cpu {
namespace {

double cubed(std::int64_t a, std::int64_t b, std::int64_t c) {
  return static_cast<double>(a) * static_cast<double>(b) * static_cast<double>(c);
}

template <class F>
auto visit_number(DType dtype, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(float{});
    case DType::complex64:
      return f(std::complex<float>{});
    case DType::complex128:
      return f(std::complex<double>{});
    default:
      return f(double{});
  }
}
/// float of std::complex<float>.
template <class T>
using RealOf = decltype(std::real(T{}));

template <class T>
T not_a_number() {
  return T(std::numeric_limits<RealOf<T>>::quiet_NaN());
}

/// An elimination may leave NaN next to a pivot of 0, outside its products.
template <class T>
bool holds_nan(const T* values, std::int64_t count) {
  return std::any_of(values, values + count, [](const T& value) {
    return std::isnan(std::real(value)) || std::isnan(std::imag(value));
  });
}

/// The first value of matrix `number`, of `size` values each; nullptr stays.
template <class T>
const T* at(const void* values, std::int64_t number, std::int64_t size) {
  return static_cast<const T*>(values) + number * size;
}
template <class T>
T* at(void* values, std::int64_t number, std::int64_t size) {
  return values ? static_cast<T*>(values) + number * size : nullptr;
}

/// Calls `f(T{}, number)` for each matrix.
template <class F>
void each(const Matrices& of, double operations, F f) {
  visit_number(of.dtype, [&]<class T>(T type) {
    for_matrices(of.count, operations, [&](std::int64_t number) { f(type, number); });
  });
}
template <class F>
std::optional<MatrixFailure> each_sound(const Matrices& of, double operations, F f) {
  return visit_number(of.dtype, [&]<class T>(T type) {
    return first_failure(of.count, operations, [&](std::int64_t number) { return f(type, number); });
  });
}

}  // namespace

std::optional<MatrixFailure> cholesky(const Matrices& of, const void* a, void* l, const FailureText&) {
  const std::int64_t n = of.rows;
  return each_sound(of, cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    return cholesky(n, at<T>(a, i, n * n), at<T>(l, i, n * n));
  });
}

std::optional<MatrixFailure> lu(const Matrices& of, const void* a, void* packed, DType orders, void* order,
                                const FailureText&) {
  const std::int64_t n = of.rows;
  return each_sound(of, cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    std::vector<std::int64_t> rows(static_cast<std::size_t>(n));
    const NumericalFailure failure = lu(n, at<T>(a, i, n * n), at<T>(packed, i, n * n), rows.data());
    if (orders == DType::int64)
      std::copy(rows.begin(), rows.end(), at<std::int64_t>(order, i, n));
    else
      std::transform(rows.begin(), rows.end(), at<std::int32_t>(order, i, n),
                     [](std::int64_t row) { return static_cast<std::int32_t>(row); });
    return failure;
  });
}

std::optional<MatrixFailure> inverse(const Matrices& of, bool transposed, const void* a, void* out,
                                     const FailureText&) {
  const std::int64_t n = of.rows;
  return each_sound(of, cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    return inverse(n, transposed, at<T>(a, i, n * n), at<T>(out, i, n * n));
  });
}

std::optional<MatrixFailure> solve(const Matrices& of, bool transposed, const void* a, const void* b, void* x,
                                   const FailureText&) {
  const std::int64_t n = of.rows, m = of.columns;
  return each_sound(of, cubed(n, n, n + m), [=]<class T>(T, std::int64_t i) {
    return solve(n, m, transposed, at<T>(a, i, n * n), at<T>(b, i, n * m), at<T>(x, i, n * m));
  });
}

std::optional<MatrixFailure> triangular_solve(const Matrices& of, bool lower, bool transposed, const void* a,
                                              const void* b, void* x, const FailureText&) {
  const std::int64_t n = of.rows, m = of.columns;
  return each_sound(of, cubed(n, n, n + m), [=]<class T>(T, std::int64_t i) {
    return triangular_solve(n, m, lower, transposed, at<T>(a, i, n * n), at<T>(b, i, n * m),
                            at<T>(x, i, n * m));
  });
}

void determinant(const Matrices& of, const void* a, void* out) {
  const std::int64_t n = of.rows;
  each(of, cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    const T* matrix = at<T>(a, i, n * n);
    *at<T>(out, i, 1) = holds_nan(matrix, n * n) ? not_a_number<T>() : determinant(n, matrix);
  });
}

void log_determinant(const Matrices& of, const void* a, void* sign, void* log) {
  const std::int64_t n = of.rows;
  each(of, cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    const T* matrix = at<T>(a, i, n * n);
    if (holds_nan(matrix, n * n))
      *at<T>(sign, i, 1) = *at<T>(log, i, 1) = not_a_number<T>();
    else
      log_determinant(n, matrix, at<T>(sign, i, 1), at<T>(log, i, 1));
  });
}

void qr(const Matrices& of, bool full, const void* a, void* q, void* r) {
  const std::int64_t m = of.rows, n = of.columns, k = full ? m : std::min(m, n);
  each(of, 4 * cubed(m, n, k), [=]<class T>(T, std::int64_t i) {
    qr(m, n, full, at<T>(a, i, m * n), at<T>(q, i, m * k), at<T>(r, i, k * n));
  });
}

void svd(const Matrices& of, bool full, const void* a, void* s, void* u, void* v) {
  const std::int64_t m = of.rows, n = of.columns, k = std::min(m, n);
  const std::int64_t size_of_u = m * (full ? m : k), size_of_v = n * (full ? n : k);
  each(of, 20 * cubed(m, n, k), [=]<class T>(T, std::int64_t i) {
    svd(m, n, full, at<T>(a, i, m * n), at<RealOf<T>>(s, i, k), at<T>(u, i, size_of_u),
        at<T>(v, i, size_of_v));
  });
}

std::optional<MatrixFailure> symmetric_eigen(const Matrices& of, const void* a, void* e, void* v,
                                             const FailureText&) {
  const std::int64_t n = of.rows;
  return each_sound(of, 10 * cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    const bool converged = symmetric_eigen(n, at<T>(a, i, n * n), at<T>(e, i, n), at<T>(v, i, n * n));
    return converged ? NumericalFailure{} : NumericalFailure{0, 0.0};
  });
}

std::optional<MatrixFailure> general_eigen(const Matrices& of, const void* a, void* e, void* v) {
  const std::int64_t n = of.rows;
  return each_sound(of, 30 * cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    using C = std::complex<RealOf<T>>;
    const bool converged = general_eigen(n, at<T>(a, i, n * n), at<C>(e, i, n), at<C>(v, i, n * n));
    return converged ? NumericalFailure{} : NumericalFailure{0, 0.0};
  });
}

void pseudo_inverse(const Matrices& of, double rcond, const void* a, void* out) {
  const std::int64_t m = of.rows, n = of.columns;
  each(of, 10 * cubed(m, n, n), [=]<class T>(T, std::int64_t i) {
    pseudo_inverse(m, n, rcond, at<T>(a, i, m * n), at<T>(out, i, m * n));
  });
}

void cofactor(const Matrices& of, const void* a, void* out) {
  const std::int64_t n = of.rows;
  each(of, 4 * cubed(n, n, n),
       [=]<class T>(T, std::int64_t i) { cofactor(n, at<T>(a, i, n * n), at<T>(out, i, n * n)); });
}

void cofactor_derivative(const Matrices& of, const void* a, const void* direction, void* out) {
  const std::int64_t n = of.rows;
  each(of, 4 * cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    cofactor_derivative(n, at<T>(a, i, n * n), at<T>(direction, i, n * n), at<T>(out, i, n * n));
  });
}

std::optional<MatrixFailure> matrix_square_root(const Matrices& of, const void* a, void* out) {
  const std::int64_t n = of.rows;
  return each_sound(of, 20 * cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    return square_root(n, at<T>(a, i, n * n), at<T>(out, i, n * n)) ? NumericalFailure{}
                                                                    : NumericalFailure{0, 0.0};
  });
}

std::optional<MatrixFailure> matrix_logarithm(const Matrices& of, const void* a, void* out) {
  const std::int64_t n = of.rows;
  return each_sound(of, 20 * cubed(n, n, n), [=]<class T>(T, std::int64_t i) {
    return logarithm(n, at<T>(a, i, n * n), at<T>(out, i, n * n)) ? NumericalFailure{}
                                                                  : NumericalFailure{0, 0.0};
  });
}

void matrix_exponential(const Matrices& of, const void* a, void* out) {
  const std::int64_t n = of.rows;
  each(of, 20 * cubed(n, n, n),
       [=]<class T>(T, std::int64_t i) { exponential(n, at<T>(a, i, n * n), at<T>(out, i, n * n)); });
}

}  // namespace tapedeck::cpu
