// Eigenvalues and singular values: every instruction set, sizes on both sides of each border of panels and
// registers, matrices of low rank, of tiny and of huge elements. The test is what they mean: orthogonal
// vectors that make up the matrix.
#include <QtTest>
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/linear_algebra/linear_algebra.h"
#include "engine/cpu/parallel.h"
#include "tests/test_program.h"

using namespace tapedeck::cpu;

namespace {

struct Restore {
  const int threads = thread_count();
  ~Restore() {
    use_instruction_set(best_instruction_set());
    set_thread_count(threads);
  }
};

/// Row-major.
template <class T>
struct Matrix {
  std::int64_t rows, columns;
  std::vector<T> values;
  Matrix(std::int64_t m, std::int64_t n) : rows(m), columns(n), values(static_cast<std::size_t>(m * n)) {}
  T& operator()(std::int64_t i, std::int64_t j) { return values[static_cast<std::size_t>(i * columns + j)]; }
  T operator()(std::int64_t i, std::int64_t j) const {
    return values[static_cast<std::size_t>(i * columns + j)];
  }
};

enum class MatrixKind { random, low_rank, tiny, huge };
constexpr MatrixKind kinds[] = {MatrixKind::random, MatrixKind::low_rank, MatrixKind::tiny, MatrixKind::huge};

template <class T>
Matrix<T> made(MatrixKind kind, std::int64_t m, std::int64_t n) {
  std::mt19937 random(static_cast<unsigned>(m * 1000 + n));
  std::normal_distribution<double> normal;
  const T size = kind == MatrixKind::tiny   ? std::numeric_limits<T>::min() * 8
                 : kind == MatrixKind::huge ? std::numeric_limits<T>::max() / 4096
                                            : T(1);
  Matrix<T> a(m, n);
  for (T& value : a.values) value = static_cast<T>(normal(random)) * size;
  if (kind == MatrixKind::low_rank)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) a(i, j) = a(i, 0) * a(0, j);
  return a;
}

template <class T>
Matrix<T> made_symmetric(MatrixKind kind, std::int64_t n) {
  Matrix<T> a = made<T>(kind, n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = 0; j < i; ++j) a(j, i) = a(i, j);
  return a;
}

/// The largest element of qᵀ·q − 1, in units of the rounding error of a sum.
template <class T>
double distance_from_orthogonal(const Matrix<T>& q) {
  double worst = 0;
  for (std::int64_t i = 0; i < q.columns; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      double sum = i == j ? -1 : 0;
      for (std::int64_t k = 0; k < q.rows; ++k) sum += double(q(k, i)) * double(q(k, j));
      worst = std::max(worst, std::abs(sum));
    }
  return worst / (std::numeric_limits<T>::epsilon() * static_cast<double>(q.rows));
}

/// The largest element of u·diag(s)·vᵀ − a beside a's largest, in the same units.
template <class T>
double distance_from_product(const Matrix<T>& a, const Matrix<T>& u, const std::vector<T>& s,
                             const Matrix<T>& v) {
  double worst = 0, largest = 0;
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) {
      double sum = -double(a(i, j));
      for (std::size_t k = 0; k < s.size(); ++k)
        sum += double(u(i, static_cast<std::int64_t>(k))) * double(s[k]) *
               double(v(j, static_cast<std::int64_t>(k)));
      worst = std::max(worst, std::abs(sum));
      largest = std::max(largest, std::abs(double(a(i, j))));
    }
  const auto n = static_cast<double>(std::max(a.rows, a.columns));
  return worst / (std::numeric_limits<T>::epsilon() * n * largest);
}

constexpr double allowed = 16;  // such units: a few for each of the some ten products and iterations

template <class T>
void check_symmetric(MatrixKind kind, std::int64_t n) {
  const Matrix<T> a = made_symmetric<T>(kind, n);
  Matrix<T> given = a, v(n, n);
  for (std::int64_t i = 0; i < n; ++i)
    for (std::int64_t j = i + 1; j < n; ++j) given(i, j) = std::numeric_limits<T>::quiet_NaN();  // not read
  std::vector<T> e(static_cast<std::size_t>(n)), alone(e.size());
  QVERIFY(symmetric_eigen(n, given.values.data(), e.data(), v.values.data()));
  QVERIFY(symmetric_eigen(n, given.values.data(), alone.data(), static_cast<T*>(nullptr)));
  QCOMPARE(alone, e);
  QVERIFY(std::is_sorted(e.begin(), e.end()));
  QVERIFY2(distance_from_orthogonal(v) < allowed, qPrintable(QString::number(distance_from_orthogonal(v))));
  const double distance = distance_from_product(a, v, e, v);
  QVERIFY2(distance < allowed, qPrintable(QString::number(distance)));
}

template <class T>
void check_singular(MatrixKind kind, std::int64_t m, std::int64_t n, bool full) {
  const Matrix<T> a = made<T>(kind, m, n);
  const std::int64_t least = std::min(m, n);
  std::vector<T> s(static_cast<std::size_t>(least)), alone(s.size());
  Matrix<T> u(m, full ? m : least), v(n, full ? n : least);
  svd(m, n, full, a.values.data(), s.data(), u.values.data(), v.values.data());
  svd(m, n, full, a.values.data(), alone.data(), static_cast<T*>(nullptr), static_cast<T*>(nullptr));
  QCOMPARE(alone, s);
  QVERIFY(std::is_sorted(s.rbegin(), s.rend()) && s.back() >= T(0));
  QVERIFY2(distance_from_orthogonal(u) < allowed, qPrintable(QString::number(distance_from_orthogonal(u))));
  QVERIFY2(distance_from_orthogonal(v) < allowed, qPrintable(QString::number(distance_from_orthogonal(v))));
  const double distance = distance_from_product(a, u, s, v);
  QVERIFY2(distance < allowed, qPrintable(QString::number(distance)));
}

/// Eigenvalues and their vectors, singular values and both of theirs.
std::vector<double> decomposed(std::int64_t n) {
  const Matrix<double> a = made_symmetric<double>(MatrixKind::random, n);
  std::vector<double> all(static_cast<std::size_t>(2 * n + 3 * n * n));
  double* const e = all.data();
  double* const s = e + n + n * n;
  symmetric_eigen(n, a.values.data(), e, e + n);
  svd(n, n, false, a.values.data(), s, s + n, s + n + n * n);
  return all;
}

}  // namespace

class SmallDecompositionsTest : public QObject {
  Q_OBJECT

 private slots:
  void eigenvalues_and_vectors_make_up_the_matrix() {
    const Restore restore;
    for (int set = 0; set <= static_cast<int>(best_instruction_set()); ++set) {
      use_instruction_set(static_cast<InstructionSet>(set));
      for (const MatrixKind kind : kinds)
        for (const std::int64_t n : {1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 34, 48, 64, 65, 97}) {
          check_symmetric<float>(kind, n);
          check_symmetric<double>(kind, n);
        }
    }
  }

  void singular_values_and_vectors_make_up_the_matrix() {
    const Restore restore;
    for (int set = 0; set <= static_cast<int>(best_instruction_set()); ++set) {
      use_instruction_set(static_cast<InstructionSet>(set));
      for (const MatrixKind kind : kinds)
        for (const std::int64_t n : {1, 2, 3, 8, 17, 32, 33, 34, 65})
          for (const std::int64_t m : {n, n + 1, n + n / 3, 2 * n + 3, n / 2 + 1})
            for (const bool full : {false, true}) {
              check_singular<float>(kind, m, n, full);
              check_singular<double>(kind, m, n, full);
            }
    }
  }

  void number_of_threads_changes_no_bit() {
    const Restore restore;
    for (const std::int64_t n : {40, 260}) {
      set_thread_count(1);
      const std::vector<double> alone = decomposed(n);
      set_thread_count(3);
      QCOMPARE(decomposed(n), alone);
    }
  }
};

TAPEDECK_TEST(SmallDecompositionsTest)
#include "tst_small_decompositions.moc"
