// The incomplete gamma and beta functions on the GPU come from the source that the CPU has.
#include "engine/cpu/kernels.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

/// The same bits; on a real GPU, whose exp and log are others, what errors of exponents of hundreds make.
template <class T>
QString unlike(const std::vector<T>& gpu, const std::vector<T>& cpu) {
  return difference(gpu, cpu, [](T a, T b) { return same_bits(a, b) || near_on_real_gpus(a, b, 1e4); });
}

}  // namespace

class DistributionsTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void the_incomplete_gamma_function_is_the_cpus() {
    for_types<float, double>([]<class T>() {
      constexpr T infinity = std::numeric_limits<T>::infinity();
      std::vector<T> a, x;
      for (const double of_a : {-1.0, 0.0, 1e-30, 0.3, 0.5, 1.0, 1.4, 7.0, 10.0, 99.0, 101.0, 5e3, 1e9})
        for (const double of_x : {-1.0, 0.0, 1e-300, 0.2, 0.9, 1.05, 1.3, 6.0, 30.0, 100.0, 4.9e3, 1e9}) {
          a.push_back(static_cast<T>(of_a));
          x.push_back(static_cast<T>(of_x));
        }
      a.insert(a.end(), {infinity, T(2), infinity, std::numeric_limits<T>::quiet_NaN()});
      x.insert(x.end(), {T(2), infinity, infinity, T(1)});
      const auto count = static_cast<std::int64_t>(a.size());
      const GpuValues<T> at_a(a), at_x(x), out(count);
      std::vector<T> expected(a.size());
      for (const bool upper : {false, true}) {
        OnGpu()->incomplete_gamma(upper, dtype_of<T>(), at_a.data(), at_x.data(), out.data(), count);
        cpu::incomplete_gamma(upper, dtype_of<T>(), a.data(), x.data(), expected.data(), count);
        QCOMPARE(unlike(out.read(), expected), QString());
      }
      OnGpu()->gamma_density(dtype_of<T>(), at_a.data(), at_x.data(), out.data(), count);
      cpu::gamma_density(dtype_of<T>(), a.data(), x.data(), expected.data(), count);
      QCOMPARE(unlike(out.read(), expected), QString());
    });
  }

  void the_incomplete_beta_function_is_the_cpus() {
    for_types<float, double>([]<class T>() {
      std::vector<T> a, b, x;
      for (const double of_a : {-1.0, 0.2, 1.0, 3.5, 80.0, 2e4, 1e7})
        for (const double of_b : {0.0, 0.1, 1.0, 4.0, 300.0, 3e4, 9e6})
          for (const double of_x : {-0.1, 0.0, 1e-8, 0.1, 0.4, 0.51, 0.95, 0.9999, 1.0, 1.5}) {
            a.push_back(static_cast<T>(of_a));
            b.push_back(static_cast<T>(of_b));
            x.push_back(static_cast<T>(of_x));
          }
      const auto count = static_cast<std::int64_t>(a.size());
      const GpuValues<T> at_a(a), at_b(b), at_x(x), out(count);
      std::vector<T> expected(a.size());
      OnGpu()->incomplete_beta(dtype_of<T>(), at_a.data(), at_b.data(), at_x.data(), out.data(), count);
      cpu::incomplete_beta(dtype_of<T>(), a.data(), b.data(), x.data(), expected.data(), count);
      QCOMPARE(unlike(out.read(), expected), QString());
      OnGpu()->beta_density(dtype_of<T>(), at_a.data(), at_b.data(), at_x.data(), out.data(), count);
      cpu::beta_density(dtype_of<T>(), a.data(), b.data(), x.data(), expected.data(), count);
      QCOMPARE(unlike(out.read(), expected), QString());
    });
  }
};

TAPEDECK_TEST(DistributionsTest)
#include "tst_distributions.moc"
