// Systems of equations, inverses and determinants on a GPU, with the factors that they are solved by, against
// the CPU's; a matrix that has none is told in the CPU's words.
#include "compared_matrices.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::cuda;
using kernels::FailureText;
using kernels::Matrices;

namespace {

FailureText text_of_batch(std::int64_t count) {
  return {text.pattern, text.op, text.input, Shape{count}};
}

}  // namespace

class LinearSystemsTest : public QObject {
  Q_OBJECT

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
      QVERIFY(!of.failure);
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

  void a_singular_matrix_is_told_by_the_next_read_in_the_cpus_words() {
    for (const std::int64_t n : {3, 17, 300})
      for (const std::int64_t count : {1, 3}) {
        std::vector<float> a = regular<float>(count, n, 50);
        // Of the last matrix, and of the one before it where there is one, two rows are 0 but for the pivots.
        for (std::int64_t matrix = std::max<std::int64_t>(0, count - 2); matrix < count; ++matrix)
          for (std::int64_t j = 0; j < n; ++j)
            a[static_cast<std::size_t>((matrix * n + j) * n + 1 + matrix % 2)] = 0.0F;
        const Matrices matrices{DType::float32, count, n, n};
        const FailureText of_batch = text_of_batch(count);
        const auto check = [&](const char* name, auto call) {
          const auto of = on_both<float>({a, a}, {count * n * n}, call);
          QVERIFY2(of.failure, name);
          QCOMPARE(of.failure->matrix, std::max<std::int64_t>(0, count - 2));
          QCOMPARE(of.late_error, QString::fromStdString(failure_message(of_batch, *of.failure)));
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
        const FailureText of_batch = text_of_batch(count);
        const auto of =
            on_both<double>({a}, {count * n * n}, [&](const Backend& table, const From& from, const To& to) {
              return table.cholesky({DType::float64, count, n, n}, from[0], to[0], of_batch);
            });
        QVERIFY(of.failure);
        QCOMPARE(of.failure->failure.value, -5.0);
        QCOMPARE(of.late_error, QString("op: input[%1] has pivot %2, -5").arg(count - 1).arg(n - 1));
        QCOMPARE(of.late_error, QString::fromStdString(failure_message(of_batch, *of.failure)));
      }
  }
};

TAPEDECK_TEST(LinearSystemsTest)
#include "tst_linear_systems.moc"
