// Random numbers on the GPU are the CPU's, bit for bit.
#include <functional>

#include "engine/cpu/kernels.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/gpu_values.h"
#include "tests/engine/expect_error.h"
#include "tests/test_program.h"

using namespace tapedeck;
using kernels::StreamPlace;

namespace {

constexpr std::int64_t counts[] = {0, 1, 2, 3, 4, 5, 7, 1023, 40001};
constexpr StreamPlace places[] = {{0, 0}, {0x123456789abcdef0, 17}, {43, 0xfffffffffffffffe}};

template <class T>
using Draw = std::function<void(const StreamPlace& place, T* out, std::int64_t count)>;

template <class T>
void compare_draws(const Draw<T>& gpu, const Draw<T>& cpu) {
  // The place decides whether packs may begin where the results do.
  for (const StreamPlace& place : places)
    for (const std::int64_t count : counts) {
      const GpuValues<T> out(count, static_cast<std::int64_t>(place.key % 2));
      gpu(place, out.data(), count);
      const auto expected = [&] {
        std::vector<T> values(static_cast<std::size_t>(count));
        cpu(place, values.data(), count);
        return values;
      };
      QCOMPARE(difference_from_any_set(out.read(), expected), QString());
    }
}

}  // namespace

class RandomTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void uniform_numbers_are_the_cpus() {
    // The third range is wider than a number; the last ones are empty and turned round.
    for (const auto& [low, high] : {std::pair{0.0, 1.0},
                                    {-2.5, 7.0},
                                    {-3e38, 3e38},
                                    {-1.7e308, 1.7e308},
                                    {1.0, 1.0},
                                    {2.0, 1.0},
                                    {1.0, 1.0000001}})
      for_types<float, double>([=]<class T>() {
        compare_draws<T>(
            [=](const StreamPlace& place, T* out, std::int64_t count) {
              OnGpu()->random_uniform(dtype_of<T>(), place, low, high, out, count);
            },
            [=](const StreamPlace& place, T* out, std::int64_t count) {
              cpu::random_uniform(dtype_of<T>(), place, low, high, out, count);
            });
      });
  }

  void whole_numbers_are_the_cpus() {
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    for (const auto& [low, high] :
         {std::pair<std::int64_t, std::int64_t>{0, 10}, {-7, 1 << 30}, {lowest, -(lowest + 1)}})
      for_types<std::int32_t, std::int64_t>([=]<class T>() {
        compare_draws<T>(
            [=](const StreamPlace& place, T* out, std::int64_t count) {
              OnGpu()->random_integers(dtype_of<T>(), place, low, high, out, count);
            },
            [=](const StreamPlace& place, T* out, std::int64_t count) {
              cpu::random_integers(dtype_of<T>(), place, low, high, out, count);
            });
      });
  }

  void normal_numbers_are_the_cpus() {
    if (!gpus_are_real() && last_places_of_emulation() > 0)
      QSKIP("sanitizers change the emulation's last places");
    for (const bool truncated : {false, true})
      for_types<float, double>([=]<class T>() {
        compare_draws<T>(
            [=](const StreamPlace& place, T* out, std::int64_t count) {
              OnGpu()->random_normal(dtype_of<T>(), place, 0.3, 1.7, truncated, out, count);
            },
            [=](const StreamPlace& place, T* out, std::int64_t count) {
              cpu::random_normal(dtype_of<T>(), place, 0.3, 1.7, truncated, out, count);
            });
      });
  }

  void a_table_says_which_kernel_its_device_lacks() {
    EXPECT_ERROR(NoKernel, OnGpu()->distinct_values(DType::float32, nullptr, 0),
                 "no kernel distinct_values on this device");
  }

  void dropout_drops_what_the_cpu_drops() {
    for (const double rate : {0.0, 0.1, 0.5, 0.999})
      for_types<float, double>([=]<class T>() {
        const std::vector<T> x = some_values<T>(counts[std::size(counts) - 1], 5, true);
        const GpuValues<T> in(x, rate == 0.1 ? 1 : 0);
        compare_draws<T>(
            [&](const StreamPlace& place, T* out, std::int64_t count) {
              OnGpu()->random_dropout(dtype_of<T>(), place, rate, in.data(), out, count);
            },
            [&](const StreamPlace& place, T* out, std::int64_t count) {
              cpu::random_dropout(dtype_of<T>(), place, rate, x.data(), out, count);
            });
      });
  }
};

TAPEDECK_TEST(RandomTest)
#include "tst_random.moc"
