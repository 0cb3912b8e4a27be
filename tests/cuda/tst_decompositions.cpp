// Decompositions with orthogonal vectors on a GPU against the CPU's: QR, eigenvectors and singular vectors of
// any size, batch and condition; and where NaN goes in decompositions of every kind.
#include "compared_matrices.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::cuda;
using kernels::Matrices;

namespace {

/// U·diag(s)·Vᵀ of random orthogonal U and V.
template <class T>
std::vector<T> with_singular_values(std::int64_t n, const std::vector<double>& s, unsigned seed) {
  const auto basis = [n](unsigned from) {
    const std::vector<double> a = normal<double>(n * n, from);
    std::vector<double> q(a.size()), r(a.size());
    cpu_table().qr({DType::float64, 1, n, n}, false, a.data(), q.data(), r.data());
    return q;
  };
  std::vector<double> u = basis(seed), v = basis(seed + 1);
  for (std::int64_t i = 0; i < n * n; ++i)
    u[static_cast<std::size_t>(i)] *= s[static_cast<std::size_t>(i % n)];
  const std::vector<double> a = product(n, n, n, u.data(), false, v.data(), true);
  return {a.begin(), a.end()};
}

}  // namespace

class DecompositionsTest : public QObject {
  Q_OBJECT

  /// Orthonormal columns, of `columns` × `rows` matrices.
  template <class T>
  static void check_orthonormal(const std::vector<T>& q, std::int64_t count, std::int64_t rows,
                                std::int64_t columns, const QString& name) {
    std::vector<T> unit_matrix(static_cast<std::size_t>(columns * columns), T(0));
    for (std::int64_t i = 0; i < columns; ++i)
      unit_matrix[static_cast<std::size_t>(i * (columns + 1))] = T(1);
    for (std::int64_t i = 0; i < count; ++i) {
      const T* at = q.data() + i * rows * columns;
      NEAR(product(columns, columns, rows, at, true, at, false), unit_matrix,
           20.0 * static_cast<double>(rows), name + ", orthonormal");
    }
  }

 private slots:
  void initTestCase() {
    load_gpus();
    if (gpu_count() == 0) QSKIP(("no GPU: " + why_no_gpu()).c_str());
  }

  void qr_has_the_cpus_signs() {
    const auto check = []<class T>(std::int64_t count, std::int64_t m, std::int64_t n, bool full) {
      const std::int64_t k = full ? m : std::min(m, n);
      const auto of = on_both<T>({normal<T>(count * m * n, 9)}, {count * m * k, count * k * n},
                                 [=](const Backend& table, const From& from, const To& to) {
                                   table.qr({dtype_of<T>(), count, m, n}, full, from[0], to[0], to[1]);
                                   return sound();
                                 });
      NEAR(of.gpu[0], of.cpu[0], 300 + static_cast<double>(m * n), where<T>("q", count, m, n));
      NEAR(of.gpu[1], of.cpu[1], 300 + static_cast<double>(m * n), where<T>("r", count, m, n));
    };
    for (const std::int64_t count : batches)
      for (const std::int64_t m : {0, 1, 3, 17, 64})
        for (const std::int64_t n : {0, 1, 2, 17, 33})
          for (const bool full : {false, true}) {
            check.operator()<float>(count, m, n, full);
            check.operator()<double>(count, m, n, full);
            if (QTest::currentTestFailed()) return;
          }
  }

  void eigenvectors_have_the_cpus_order_and_signs() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      // Eigenvalues 1, 2, … apart: the vectors are as exact as the values.
      std::vector<T> a;
      for (std::int64_t i = 0; i < count; ++i) {
        std::vector<double> roots;
        for (std::int64_t j = 0; j < n; ++j) roots.push_back(std::sqrt(static_cast<double>(j) + 1.0));
        const auto half = with_singular_values<double>(n, roots, 100 + static_cast<unsigned>(i));
        const auto square = product(n, n, n, half.data(), false, half.data(), true);
        for (std::int64_t j = 0; j < n * n; ++j)
          a.push_back(j % n > j / n ? std::numeric_limits<T>::quiet_NaN()
                                    : static_cast<T>(square[static_cast<std::size_t>(j)]));
      }
      const Matrices matrices{dtype_of<T>(), count, n, n};
      const auto of = on_both<T>({a}, {count * n, count * n * n, count * n},
                                 [=](const Backend& table, const From& from, const To& to) {
                                   table.symmetric_eigen(matrices, from[0], to[2], nullptr, text);
                                   return table.symmetric_eigen(matrices, from[0], to[0], to[1], text);
                                 });
      QCOMPARE(of.late_error, QString());
      const QString name = where<T>("symmetric_eigen", count, n, n);
      NEAR(of.gpu[0], of.cpu[0], 200, name);
      NEAR(of.gpu[2], of.cpu[2], 200, name + ", values alone");
      NEAR(of.gpu[1], of.cpu[1], 100.0 * static_cast<double>(n + 1), name + ", vectors");
      check_orthonormal(of.gpu[1], count, n, n, name);
    });
  }

  void singular_vectors_have_the_cpus_order_and_signs() {
    const auto check = []<class T>(std::int64_t count, std::int64_t m, std::int64_t n) {
      // The corner of a matrix with singular values 1, 2, …: its own lie apart, too.
      const std::int64_t k = std::min(m, n);
      std::vector<T> a = normal<T>(count * m * n, 11);
      for (std::int64_t i = 0; i < count * m * n; ++i) {
        a[static_cast<std::size_t>(i)] *= T(0.05);
        const std::int64_t row = i / n % m, column = i % n;
        if (row == column) a[static_cast<std::size_t>(i)] += static_cast<T>(row + 1);
      }
      const Matrices matrices{dtype_of<T>(), count, m, n};
      const auto of = on_both<T>({a}, {count * k, count * m * k, count * n * k, count * k},
                                 [=](const Backend& table, const From& from, const To& to) {
                                   table.svd(matrices, false, from[0], to[3], nullptr, nullptr);
                                   table.svd(matrices, false, from[0], to[0], to[1], to[2]);
                                   return sound();
                                 });
      const QString name = where<T>("svd", count, m, n);
      NEAR(of.gpu[0], of.cpu[0], 200, name);
      NEAR(of.gpu[3], of.cpu[3], 200, name + ", values alone");
      NEAR(of.gpu[1], of.cpu[1], 400.0 * static_cast<double>(k + 1), name + ", u");
      NEAR(of.gpu[2], of.cpu[2], 400.0 * static_cast<double>(k + 1), name + ", v");
    };
    for (const std::int64_t count : batches)
      for (const std::int64_t m : {0, 1, 3, 17, 64})
        for (const std::int64_t n : {0, 1, 2, 17, 33}) {
          check.operator()<float>(count, m, n);
          check.operator()<double>(count, m, n);
          if (QTest::currentTestFailed()) return;
        }
  }

  void whole_bases_are_orthonormal_and_begin_with_the_singular_vectors() {
    for (const std::int64_t count : batches)
      for (const auto& [m, n] :
           {std::pair<std::int64_t, std::int64_t>{7, 3}, {3, 7}, {40, 38}, {5, 0}, {0, 5}}) {
        const std::int64_t k = std::min(m, n);
        const Matrices matrices{DType::float64, count, m, n};
        const auto of = on_both<double>(
            {normal<double>(count * m * n, 12)}, {count * k, count * m * m, count * n * n},
            [&, m = m, n = n](const Backend& table, const From& from, const To& to) {
              // A tensor of no elements has a place, too.
              table.svd(matrices, true, from[0], to[0], to[1] ? to[1] : to[0], to[2] ? to[2] : to[0]);
              return sound();
            });
        const QString name = where<double>("svd, full", count, m, n);
        check_orthonormal(of.gpu[1], count, m, m, name);
        check_orthonormal(of.gpu[2], count, n, n, name);
        for (std::int64_t i = 0; i < count; ++i)
          for (std::int64_t row = 0; row < m; ++row)
            for (std::int64_t j = 0; j < k; ++j) {
              const auto at = static_cast<std::size_t>((i * m + row) * m + j);
              QVERIFY(std::abs(of.gpu[1][at] - of.cpu[1][at]) < 1e-11);
            }
      }
  }

  void ill_conditioned_matrices_keep_their_small_values() {
    const std::int64_t n = 17;
    std::vector<double> s;
    for (std::int64_t i = 0; i < n; ++i) s.push_back(std::pow(10.0, -static_cast<double>(i)));
    const std::vector<double> a = with_singular_values<double>(n, s, 40);
    const Matrices matrices{DType::float64, 1, n, n};
    const auto of = on_both<double>({a}, {n, n * n, n * n, n * n},
                                    [=](const Backend& table, const From& from, const To& to) {
                                      table.svd(matrices, false, from[0], to[0], to[1], to[2]);
                                      table.pseudo_inverse(matrices, 3e-6, from[0], to[3]);
                                      return sound();
                                    });
    NEAR(of.gpu[0], s, 64, "values");
    check_orthonormal(of.gpu[1], 1, n, n, "u");
    check_orthonormal(of.gpu[2], 1, n, n, "v");
    std::vector<double> left = of.gpu[1];
    for (std::size_t i = 0; i < left.size(); ++i) left[i] *= of.gpu[0][i % static_cast<std::size_t>(n)];
    NEAR(product(n, n, n, left.data(), false, of.gpu[2].data(), true), a, 64, "u·diag(s)·vᵀ");
    // Values up to 1e-6 count as 0; the others have lost 5 digits.
    NEAR(of.gpu[3], of.cpu[3], 1e9, "pinv");
  }

  void numbers_near_the_ends_of_their_range_do_not_overflow() {
    for (const double size : {1e-300, 1e300}) {
      std::vector<double> a = lower_of_positive<double>(1, 5, 41);
      for (double& value : a) value *= size;
      const auto eigen =
          on_both<double>({a}, {5, 25}, [](const Backend& table, const From& from, const To& to) {
            return table.symmetric_eigen({DType::float64, 1, 5, 5}, from[0], to[0], to[1], text);
          });
      NEAR(eigen.gpu[0], eigen.cpu[0], 64, "eigenvalues");
      a = normal<double>(15, 42);
      for (double& value : a) value *= size;
      const auto singular =
          on_both<double>({a}, {3}, [](const Backend& table, const From& from, const To& to) {
            table.svd({DType::float64, 1, 5, 3}, false, from[0], to[0], nullptr, nullptr);
            return sound();
          });
      NEAR(singular.gpu[0], singular.cpu[0], 64, "singular values");
    }
  }

  void nan_goes_where_it_goes_on_the_cpu() {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    for (const std::int64_t count : {1, 3})
      for (const std::int64_t n : {1, 3, 17, 40})
        for (const double odd : {nan, std::numeric_limits<double>::infinity()})
          for (const std::int64_t place : {std::int64_t{0}, n * n / 2, (n - 1) * n, n * n - 1}) {
            std::vector<double> a = regular<double>(count, n, 60);
            a[static_cast<std::size_t>((count - 1) * n * n + place)] = odd;
            const Matrices of{DType::float64, count, n, n};
            const std::int64_t all = count * n * n;
            const auto results = on_both<double>(
                {a}, {all, all, all, all, all, count * n, all, count * n, all, all},
                [&](const Backend& table, const From& from, const To& to) {
                  if (std::isnan(odd)) {  // ∞ divides to 0 or NaN, as the order of the steps has it
                    table.cholesky(of, from[0], to[0], text);
                    table.inverse(of, false, from[0], to[1], text);
                    table.solve(of, true, from[0], from[0], to[2], text);
                  }
                  table.qr(of, false, from[0], to[3], to[4]);
                  table.symmetric_eigen(of, from[0], to[5], to[6], text);
                  table.svd(of, false, from[0], to[7], to[8], to[9]);
                  return sound();
                });
            QCOMPARE(results.late_error, QString());
            for (std::size_t i = 0; i < results.cpu.size(); ++i) {
              if (!std::isnan(odd) && i < 3) continue;
              std::vector<std::uint8_t> cpu, gpu;
              for (const double value : results.cpu[i]) cpu.push_back(std::isnan(value));
              for (const double value : results.gpu[i]) gpu.push_back(std::isnan(value));
              if (i == 8 || i == 9 || i == 6) continue;  // all NaN or none, as the values are
              const QString wrong = difference(gpu, cpu);
              QVERIFY2(wrong.isEmpty(), qPrintable(QString("result %1 of %2 × %3 × %3, place %4: %5")
                                                       .arg(i)
                                                       .arg(count)
                                                       .arg(n)
                                                       .arg(place)
                                                       .arg(wrong)));
            }
          }
  }

  void the_same_matrices_give_the_same_bits() {
    const std::int64_t count = 3, n = 20;
    const std::vector<float> a = normal<float>(count * n * n, 70);
    const auto run = [&] {
      return on_both<float>({a}, {count * n * n, count * n * n, count * n, count * n * n, count * n * n},
                            [=](const Backend& table, const From& from, const To& to) {
                              const Matrices of{DType::float32, count, n, n};
                              table.qr(of, false, from[0], to[0], to[1]);
                              table.svd(of, false, from[0], to[2], to[3], to[4]);
                              return sound();
                            })
          .gpu;
    };
    const auto first = run(), again = run();
    for (std::size_t i = 0; i < first.size(); ++i) QCOMPARE(difference(again[i], first[i]), QString());
  }
};

TAPEDECK_TEST(DecompositionsTest)
#include "tst_decompositions.moc"
