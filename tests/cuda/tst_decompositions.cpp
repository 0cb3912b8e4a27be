// Decompositions of matrices on a GPU against the CPU's: sizes, batches, conditions, flaws and NaN.
#include "gpu_values.h"

using namespace tapedeck;
using kernels::FlawText;
using kernels::Matrices;

namespace {

const Backend& cpu_table() {
  return backend(Device{});
}

/// 300 rows do not go together with others, 33 do not by rotations.
constexpr std::int64_t sizes[] = {0, 1, 2, 3, 17, 33, 64, 300};
constexpr std::int64_t batches[] = {1, 4};

template <class T>
std::vector<T> normal(std::int64_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = std::normal_distribution<T>()(random);
  return values;
}

/// Matrices whose diagonal outweighs the rest.
template <class T>
std::vector<T> regular(std::int64_t count, std::int64_t n, unsigned seed) {
  std::vector<T> values = normal<T>(count * n * n, seed);
  for (std::int64_t i = 0; i < count * n; ++i)
    values[static_cast<std::size_t>(i * n + i % n)] += static_cast<T>(3 * n) / 2 + T(1);
  return values;
}

/// op(a)·op(b) of one matrix each.
template <class T>
std::vector<T> product(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, bool a_turned, const T* b,
                       bool b_turned) {
  std::vector<T> out(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t p = 0; p < k; ++p)
        sum += static_cast<double>(a_turned ? a[p * m + i] : a[i * k + p]) *
               static_cast<double>(b_turned ? b[j * k + p] : b[p * n + j]);
      out[static_cast<std::size_t>(i * n + j)] = static_cast<T>(sum);
    }
  return out;
}

/// Symmetric positive definite ones, of which nobody may read what lies above the diagonal.
template <class T>
std::vector<T> lower_of_positive(std::int64_t count, std::int64_t n, unsigned seed) {
  std::vector<T> values = regular<T>(count, n, seed);
  for (std::int64_t matrix = 0; matrix < count; ++matrix)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = i + 1; j < n; ++j)
        values[static_cast<std::size_t>((matrix * n + i) * n + j)] = std::numeric_limits<T>::quiet_NaN();
  return values;
}

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

template <class T>
constexpr double unit = std::numeric_limits<T>::epsilon();

/// Up to `bound` last places of the largest; what is not finite must be the same.
template <class T>
QString far(const std::vector<T>& gpu, const std::vector<T>& cpu, double bound) {
  double largest = 0;
  for (const T value : cpu)
    if (std::isfinite(value)) largest = std::max(largest, std::abs(static_cast<double>(value)));
  return difference_above(bound * unit<T> * largest, gpu, cpu);
}

#define NEAR(gpu, cpu, bound, where)                                      \
  do {                                                                    \
    const QString wrong = far(gpu, cpu, bound);                           \
    QVERIFY2(wrong.isEmpty(), qPrintable(QString(where) + ": " + wrong)); \
  } while (false)

template <class T>
QString where(const char* kernel, std::int64_t count, std::int64_t m, std::int64_t n) {
  return QString("%1 of %2 × %3 × %4 %5")
      .arg(kernel)
      .arg(count)
      .arg(m)
      .arg(n)
      .arg(QString::fromLatin1(dtype_name(dtype_of<T>())));
}

const FlawText text{"{o}: {i}{m} has pivot {p}, {v}", "op", "input", {}};
FlawText text_of_batch(std::int64_t count) {
  return {text.pattern, text.op, text.input, Shape{count}};
}

/// Calls `f(table, inputs…, outputs…)` on both: of inputs and outputs the GPU's are in its memory.
template <class T>
struct Results {
  std::vector<std::vector<T>> cpu, gpu;
  std::optional<kernels::MatrixFlaw> flaw;
  QString late_error;
};
template <class T, class F>
Results<T> on_both(const std::vector<std::vector<T>>& inputs, const std::vector<std::int64_t>& outputs, F f) {
  Results<T> results;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (const auto& input : inputs) from.push_back(input.data());
  for (const std::int64_t size : outputs) {
    results.cpu.emplace_back(static_cast<std::size_t>(size));
    to.push_back(results.cpu.back().data());
  }
  results.flaw = f(cpu_table(), from, to);
  std::vector<std::unique_ptr<GpuValues<T>>> there;
  from.clear();
  for (const auto& input : inputs) from.push_back(there.emplace_back(new GpuValues<T>(input))->data());
  to.clear();
  for (const std::int64_t size : outputs) to.push_back(there.emplace_back(new GpuValues<T>(size))->data());
  const OnGpu gpu;
  if (f(*gpu.operator->(), from, to)) results.late_error = "told at once";
  try {
    GpuValues<T>(1).read();
  } catch (const InvalidArgumentError& error) {
    results.late_error = error.what();
  }
  for (std::size_t i = inputs.size(); i < there.size(); ++i) results.gpu.push_back(there[i]->read());
  return results;
}

using From = std::vector<const void*>;
using To = std::vector<void*>;
std::optional<kernels::MatrixFlaw> sound() {
  return {};
}

/// Calls `f.template operator()<T>(count, n)` for all sizes.
template <class F>
void for_sizes(F f) {
  for (const std::int64_t count : batches)
    for (const std::int64_t n : sizes) {
      if (n == 300 && count > 1) continue;
      f.template operator()<float>(count, n);
      f.template operator()<double>(count, n);
      if (QTest::currentTestFailed()) return;
    }
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

  void cholesky_reads_and_writes_the_lower_triangle() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      const auto of = on_both<T>({lower_of_positive<T>(count, n, 1)}, {count * n * n},
                                 [=](const Backend& table, const From& from, const To& to) {
                                   return table.cholesky({dtype_of<T>(), count, n, n}, from[0], to[0], text);
                                 });
      QVERIFY(!of.flaw);
      QCOMPARE(of.late_error, QString());
      NEAR(of.gpu[0], of.cpu[0], 64, where<T>("cholesky", count, n, n));
    });
  }

  void lu_exchanges_the_same_rows() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      const std::vector<T> a = normal<T>(count * n * n, 2);
      for (const DType orders : {DType::int32, DType::int64}) {
        std::vector<std::int64_t> order(static_cast<std::size_t>(count * n), -1), gpu_order = order;
        std::vector<std::int32_t> narrow(order.size(), -1), gpu_narrow = narrow;
        const GpuValues<std::int64_t> there(order);
        const auto of =
            on_both<T>({a}, {count * n * n}, [&](const Backend& table, const From& from, const To& to) {
              const bool is_gpu = &table != &cpu_table();
              void* place = is_gpu                   ? static_cast<void*>(there.data())
                            : orders == DType::int64 ? static_cast<void*>(order.data())
                                                     : static_cast<void*>(narrow.data());
              return table.lu({dtype_of<T>(), count, n, n}, from[0], to[0], orders, place, text);
            });
        QCOMPARE(of.late_error, QString());
        NEAR(of.gpu[0], of.cpu[0], 300 + static_cast<double>(n * n), where<T>("lu", count, n, n));
        const std::vector<std::int64_t> found = there.read();
        if (orders == DType::int64) {
          QCOMPARE(found, order);
        } else if (n > 0) {
          std::memcpy(gpu_narrow.data(), found.data(), gpu_narrow.size() * sizeof(std::int32_t));
          QCOMPARE(gpu_narrow, narrow);
        }
      }
    });
  }

  void systems_are_solved_either_way_round() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      for (const bool turned : {false, true})
        for (const std::int64_t m : {0, 1, 5}) {
          const auto of = on_both<T>(
              {regular<T>(count, n, 3), normal<T>(count * n * m, 4)}, {count * n * m},
              [=](const Backend& table, const From& from, const To& to) {
                return table.solve({dtype_of<T>(), count, n, m}, turned, from[0], from[1], to[0], text);
              });
          QCOMPARE(of.late_error, QString());
          NEAR(of.gpu[0], of.cpu[0], 256, where<T>(turned ? "solve, adjoint" : "solve", count, n, m));
        }
    });
  }

  void rows_that_are_exchanged_are_exchanged_back() {
    // Without exchanges the first pivot would be 0.
    const std::vector<double> a = {0, 2, 1, 4, 0, 0, 0, 1, 8}, b = {3, 4, 9};
    for (const bool turned : {false, true}) {
      const auto of = on_both<double>({a, b}, {3}, [=](const Backend& table, const From& from, const To& to) {
        return table.solve({DType::float64, 1, 3, 1}, turned, from[0], from[1], to[0], text);
      });
      const std::vector<double> back = product<double>(3, 1, 3, a.data(), turned, of.gpu[0].data(), false);
      NEAR(back, b, 8, turned ? "adjoint" : "plain");
    }
  }

  void inverses_are_the_cpus() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      for (const bool turned : {false, true}) {
        const auto of =
            on_both<T>({regular<T>(count, n, 5)}, {count * n * n},
                       [=](const Backend& table, const From& from, const To& to) {
                         return table.inverse({dtype_of<T>(), count, n, n}, turned, from[0], to[0], text);
                       });
        QCOMPARE(of.late_error, QString());
        NEAR(of.gpu[0], of.cpu[0], 256, where<T>(turned ? "inverse, adjoint" : "inverse", count, n, n));
      }
    });
  }

  void triangular_systems_read_one_triangle() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      for (const bool lower : {false, true})
        for (const bool turned : {false, true}) {
          std::vector<T> a = lower_of_positive<T>(count, n, 6);  // NaN above the diagonal
          if (!lower)
            for (std::int64_t i = 0; i < count; ++i) {
              T* of = a.data() + i * n * n;
              for (std::int64_t j = 0; j < n; ++j)
                for (std::int64_t k = 0; k < j; ++k) std::swap(of[j * n + k], of[k * n + j]);
            }
          const auto of = on_both<T>({a, normal<T>(count * n * 3, 7)}, {count * n * 3},
                                     [=](const Backend& table, const From& from, const To& to) {
                                       return table.triangular_solve({dtype_of<T>(), count, n, 3}, lower,
                                                                     turned, from[0], from[1], to[0], text);
                                     });
          QCOMPARE(of.late_error, QString());
          for (const T value : of.gpu[0]) QVERIFY(std::isfinite(value));
          NEAR(of.gpu[0], of.cpu[0], 256, where<T>("triangular_solve", count, n, 3));
        }
    });
  }

  void determinants_are_the_cpus() {
    for_sizes([]<class T>(std::int64_t count, std::int64_t n) {
      const Matrices matrices{dtype_of<T>(), count, n, n};
      const auto of = on_both<T>({normal<T>(count * n * n, 8)}, {count, count, count},
                                 [=](const Backend& table, const From& from, const To& to) {
                                   table.determinant(matrices, from[0], to[0]);
                                   table.log_determinant(matrices, from[0], to[1], to[2]);
                                   return sound();
                                 });
      NEAR(of.gpu[0], of.cpu[0], 1e4, where<T>("determinant", count, n, n));
      QCOMPARE(of.gpu[1], of.cpu[1]);
      NEAR(of.gpu[2], of.cpu[2], 1e4, where<T>("log_determinant", count, n, n));
    });
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

  void a_singular_matrix_is_told_by_the_next_read_in_the_cpus_words() {
    for (const std::int64_t n : {3, 17, 300})
      for (const std::int64_t count : {1, 3}) {
        std::vector<float> a = regular<float>(count, n, 50);
        // Of the last matrix, and of the one before it where there is one, two rows are 0 but for the pivots.
        for (std::int64_t matrix = std::max<std::int64_t>(0, count - 2); matrix < count; ++matrix)
          for (std::int64_t j = 0; j < n; ++j)
            a[static_cast<std::size_t>((matrix * n + j) * n + 1 + matrix % 2)] = 0.0F;
        const Matrices matrices{DType::float32, count, n, n};
        const FlawText of_batch = text_of_batch(count);
        const auto check = [&](const char* name, auto call) {
          const auto of = on_both<float>({a, a}, {count * n * n}, call);
          QVERIFY2(of.flaw, name);
          QCOMPARE(of.flaw->matrix, std::max<std::int64_t>(0, count - 2));
          QCOMPARE(of.late_error, QString::fromStdString(told(of_batch, *of.flaw)));
        };
        check("inverse", [&](const Backend& table, const From& from, const To& to) {
          return table.inverse(matrices, false, from[0], to[0], of_batch);
        });
        check("solve", [&](const Backend& table, const From& from, const To& to) {
          return table.solve(matrices, true, from[0], from[1], to[0], of_batch);
        });
        check("lu", [&, order = std::make_shared<GpuValues<std::int64_t>>(count * n),
                     here = std::vector<std::int64_t>(static_cast<std::size_t>(count * n))](
                        const Backend& table, const From& from, const To& to) mutable {
          return table.lu(matrices, from[0], to[0], DType::int64,
                          &table == &cpu_table() ? here.data() : order->data(), of_batch);
        });
        for (std::int64_t i = 0; i < count; ++i) a[static_cast<std::size_t>(i * n * n + n + 1)] = 1.0F;
        a[static_cast<std::size_t>((count - 1) * n * n + 2 * n + 2)] = 0.0F;
        if (count > 1) a[static_cast<std::size_t>((count - 2) * n * n + 2 * n + 2)] = 0.0F;
        check("triangular_solve", [&](const Backend& table, const From& from, const To& to) {
          return table.triangular_solve(matrices, true, false, from[0], from[1], to[0], of_batch);
        });
        if (QTest::currentTestFailed()) return;
      }
  }

  void the_determinant_of_a_singular_matrix_is_0() {
    const std::vector<double> a = {1, 2, 2, 4, 3, 1, 0, 2};
    const auto of = on_both<double>({a}, {2, 2, 2}, [](const Backend& table, const From& from, const To& to) {
      const Matrices matrices{DType::float64, 2, 2, 2};
      table.determinant(matrices, from[0], to[0]);
      table.log_determinant(matrices, from[0], to[1], to[2]);
      return sound();
    });
    QCOMPARE(of.gpu[0], (std::vector<double>{0, 6}));
    QCOMPARE(of.gpu[1], (std::vector<double>{0, 1}));
    QCOMPARE(of.gpu[2], of.cpu[2]);
    QCOMPARE(of.late_error, QString());
  }

  void a_matrix_that_is_not_positive_definite_is_told_with_its_pivot() {
    for (const std::int64_t n : {3, 17, 300})
      for (const std::int64_t count : {1, 3}) {
        std::vector<double> a(static_cast<std::size_t>(count * n * n), 0.0);
        for (std::int64_t i = 0; i < count * n; ++i) a[static_cast<std::size_t>(i * n + i % n)] = 4.0;
        const std::int64_t bad = (count - 1) * n * n;
        a[static_cast<std::size_t>(bad + (n - 1) * n)] = 3.0;          // l is 3/2 there, and its
        a[static_cast<std::size_t>(bad + (n - 1) * (n + 1))] = -2.75;  // square leaves −5
        const FlawText of_batch = text_of_batch(count);
        const auto of =
            on_both<double>({a}, {count * n * n}, [&](const Backend& table, const From& from, const To& to) {
              return table.cholesky({DType::float64, count, n, n}, from[0], to[0], of_batch);
            });
        QVERIFY(of.flaw);
        QCOMPARE(of.flaw->flaw.value, -5.0);
        QCOMPARE(of.late_error, QString("op: input[%1] has pivot %2, -5").arg(count - 1).arg(n - 1));
        QCOMPARE(of.late_error, QString::fromStdString(told(of_batch, *of.flaw)));
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

QTEST_GUILESS_MAIN(DecompositionsTest)
#include "tst_decompositions.moc"
