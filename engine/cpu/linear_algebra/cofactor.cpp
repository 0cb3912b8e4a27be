#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "engine/cpu/blocks.h"
#include "engine/cpu/linear_algebra/blocked.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"

namespace tapedeck::cpu {
namespace {

/// A product without intermediate overflow or underflow.
class LongProduct {
 public:
  void times(double factor) {
    int power = 0;
    mantissa_ = std::frexp(mantissa_ * factor, &power);
    exponent_ += power;
  }
  LongProduct operator*(const LongProduct& other) const {
    LongProduct product = *this;
    product.times(other.mantissa_);
    product.exponent_ += other.exponent_;
    return product;
  }
  /// The product times one more factor, in the range of doubles again.
  double with(double factor) const {
    int power = 0;
    const double mantissa = std::frexp(mantissa_ * factor, &power);
    return std::ldexp(mantissa, static_cast<int>(std::clamp<std::int64_t>(exponent_ + power, -5000, 5000)));
  }

 private:
  double mantissa_ = 1.0;
  std::int64_t exponent_ = 0;
};

/// The largest column sum of magnitudes.
template <class T>
double one_norm(Block<const T> a) {
  std::vector<double> sums(static_cast<std::size_t>(a.columns), 0.0);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j)
      sums[static_cast<std::size_t>(j)] += std::abs(static_cast<double>(a(i, j)));
  return *std::max_element(sums.begin(), sums.end());
}

template <class T>
bool all_finite(const T* values, std::int64_t count) {
  return std::all_of(values, values + count, [](T x) { return std::isfinite(x); });
}

/// out = f(i, j) of each element.
template <class T, class F>
void fill(Block<T> out, F f) {
  for_blocks(out.rows, grain_for(20.0 * static_cast<double>(out.columns)),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin; i < end; ++i)
                 for (std::int64_t j = 0; j < out.columns; ++j) out(i, j) = static_cast<T>(f(i, j));
             });
}

/// Determinant and inverse of a matrix from the same elimination, so that their errors are consistent.
template <class T>
struct Eliminated {
  LongProduct determinant;
  Dense<T> inverse;
};

/// nullopt if the matrix is so close to singular that its inverse would lose half of its digits.
template <class T>
std::optional<Eliminated<T>> eliminate(Block<const T> a) {
  const std::int64_t n = a.rows;
  Dense<T> packed(n, n);
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  Eliminated<T> result{{}, Dense<T>(n, n)};
  if (inverse(n, false, a.values, result.inverse.all().values)) return std::nullopt;
  const double condition = one_norm(a) * one_norm<T>(result.inverse.all());
  if (!(condition < 1.0 / std::sqrt(static_cast<double>(std::numeric_limits<T>::epsilon()))))
    return std::nullopt;
  copy_block<T>(a, packed.all());
  result.determinant.times(factor_lu(packed.all(), order.data()));
  for (std::int64_t i = 0; i < n; ++i) result.determinant.times(static_cast<double>(packed.all()(i, i)));
  return result;
}

/// a = turn·u·diag(s)·vᵀ, where u·vᵀ turns without mirroring: the cofactors of a are those of diag(s), turned
/// alike (G. W. Stewart, "On the adjugate matrix", Linear Algebra and its Applications 283, 1998).
struct Turned {
  std::vector<double> s;
  Dense<double> u, v;
  double turn = 1.0;  ///< 1 or −1

  explicit Turned(Block<const double> a)
      : s(static_cast<std::size_t>(a.rows)), u(a.rows, a.rows), v(a.rows, a.rows) {
    const std::int64_t n = a.rows;
    svd(n, n, false, a.values, s.data(), u.all().values, v.all().values);
    turn = determinant(n, u.all().values) * determinant(n, v.all().values) < 0 ? -1.0 : 1.0;
  }

  /// Element i: the product of all singular values but number i.
  std::vector<double> products_without_one() const {
    const std::size_t n = s.size();
    std::vector<LongProduct> behind(n + 1);
    for (std::size_t i = n; i-- > 0;) {
      behind[i] = behind[i + 1];
      behind[i].times(s[i]);
    }
    std::vector<double> products(n);
    LongProduct before;
    for (std::size_t i = 0; i < n; ++i) {
      products[i] = (before * behind[i + 1]).with(turn);
      before.times(s[i]);
    }
    return products;
  }

  /// Element (i, j): the product of all singular values but these two; 0 on the diagonal.
  Dense<double> products_without_two() const {
    const std::size_t n = s.size();
    std::vector<LongProduct> behind(n + 1);
    for (std::size_t i = n; i-- > 0;) {
      behind[i] = behind[i + 1];
      behind[i].times(s[i]);
    }
    Dense<double> products(std::ssize(s), std::ssize(s));
    LongProduct before;
    for (std::size_t i = 0; i < n; ++i) {
      check_stop();
      LongProduct between = before;
      for (std::size_t j = i + 1; j < n; ++j) {
        const auto row = static_cast<std::int64_t>(i), column = static_cast<std::int64_t>(j);
        products.all()(row, column) = products.all()(column, row) = (between * behind[j + 1]).with(turn);
        between.times(s[j]);
      }
      before.times(s[i]);
    }
    return products;
  }
};

template <class T>
Dense<double> in_double(Block<const T> a) {
  Dense<double> copied(a.rows, a.columns);
  fill(copied.all(), [&](std::int64_t i, std::int64_t j) { return a(i, j); });
  return copied;
}

/// Handles trivial cases (no elements, one element, non-finite elements); true if the result is written.
template <class T>
bool is_plain(Block<const T> a, bool finite, T of_one, Block<T> out) {
  if (a.rows > 1 && finite) return false;
  const T value = finite ? of_one : std::numeric_limits<T>::quiet_NaN();
  std::fill_n(out.values, out.rows * out.columns, value);
  return true;
}

}  // namespace

template <class T>
void cofactor(std::int64_t n, const T* a, T* out) {
  const Block<const T> matrix{a, n, n, n};
  const Block<T> result{out, n, n, n};
  if (is_plain(matrix, all_finite(a, n * n), T(1), result)) return;
  if (auto regular = eliminate(matrix)) {
    const Block<T> inverse = regular->inverse.all();
    return fill(result, [&](std::int64_t i, std::int64_t j) {
      return regular->determinant.with(static_cast<double>(inverse(j, i)));
    });
  }
  Turned turned(in_double(matrix).all());
  const std::vector<double> products = turned.products_without_one();
  const Block<double> u = turned.u.all();
  Dense<double> product(n, n);
  fill(u, [&](std::int64_t i, std::int64_t j) { return u(i, j) * products[static_cast<std::size_t>(j)]; });
  set_product<double>(Sides::second_transposed, u, turned.v.all(), product.all());
  fill(result, [&](std::int64_t i, std::int64_t j) { return product.all()(i, j); });
}

template <class T>
void cofactor_derivative(std::int64_t n, const T* a, const T* direction, T* out) {
  const Block<const T> matrix{a, n, n, n}, along{direction, n, n, n};
  const Block<T> result{out, n, n, n};
  if (is_plain(matrix, all_finite(a, n * n) && all_finite(direction, n * n), T(0), result)) return;
  const auto trace_of = [n](const auto& square) {
    double sum = 0.0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(square(i, i));
    return sum;
  };
  if (auto regular = eliminate(matrix)) {
    // det(A)·(tr(A⁻¹·E)·A⁻¹ − A⁻¹·E·A⁻¹)ᵀ
    const Block<T> inverse = regular->inverse.all();
    Dense<T> moved(n, n), both(n, n);
    set_product<T>(Sides::as_they_are, inverse, along, moved.all());
    set_product<T>(Sides::as_they_are, moved.all(), inverse, both.all());
    const double trace = trace_of(moved.all());
    return fill(result, [&](std::int64_t i, std::int64_t j) {
      return regular->determinant.with(trace * static_cast<double>(inverse(j, i)) -
                                       static_cast<double>(both.all()(j, i)));
    });
  }
  // Of diag(s) along M = Uᵀ·E·V: −Mⱼᵢ·Π sₖ (k ≠ i, j) beside the diagonal, Σ Mⱼⱼ·Π sₖ on it.
  Turned turned(in_double(matrix).all());
  Dense<double> products = turned.products_without_two(), direction_of = in_double(along);
  Dense<double> half(n, n), moved(n, n), middle(n, n);
  set_product<double>(Sides::first_transposed, turned.u.all(), direction_of.all(), half.all());
  set_product<double>(Sides::as_they_are, half.all(), turned.v.all(), moved.all());
  const Block<double> p = products.all(), m = moved.all();
  fill(middle.all(), [&](std::int64_t i, std::int64_t j) {
    if (i != j) return -m(j, i) * p(i, j);
    double sum = 0.0;
    for (std::int64_t k = 0; k < n; ++k) sum += p(i, k) * m(k, k);
    return sum;
  });
  set_product<double>(Sides::as_they_are, turned.u.all(), middle.all(), half.all());
  set_product<double>(Sides::second_transposed, half.all(), turned.v.all(), moved.all());
  fill(result, [&](std::int64_t i, std::int64_t j) { return m(i, j); });
}

#define TAPEDECK_REAL(T)                              \
  template void cofactor(std::int64_t, const T*, T*); \
  template void cofactor_derivative(std::int64_t, const T*, const T*, T*);
TAPEDECK_REAL(float)
TAPEDECK_REAL(double)
#undef TAPEDECK_REAL

}  // namespace tapedeck::cpu
