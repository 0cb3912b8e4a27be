// Reductions and softmax on the GPU have the CPU's bits.
#include "engine/cpu/kernels.h"
#include "tests/campaign.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;
using kernels::Reduction;

namespace {

constexpr RowsShape reduced_shapes[] = {
    {0, 5, 1},    {5, 0, 1},      {5, 0, 3},    {1, 1, 1},     {3, 2, 1},      {7, 3, 1},     {2, 4, 1},
    {5, 7, 1},    {5, 15, 1},     {3, 16, 1},   {4, 17, 1},    {9, 63, 1},     {9, 64, 1},    {9, 65, 1},
    {300, 10, 1}, {3, 4095, 1},   {3, 4096, 1}, {3, 4097, 1},  {1, 100003, 1}, {40, 300, 1},  {3, 1, 5},
    {4, 9, 2},    {2, 300, 2},    {1, 1000, 3}, {2, 33, 31},   {1, 40, 300},   {3, 513, 257}, {1, 2051, 5},
    {2, 1, 400},  {1, 1030, 256}, {200, 50, 8}, {2, 520, 64},  {3, 4104, 1},   {5, 130, 1},   {3, 1024, 1},
    {4, 700, 16}, {2, 30, 8},     {1, 7, 4100}, {1, 20000, 1}, {0, 3, 4},      {2, 5, 0}};

template <class T>
std::vector<Reduction> reductions() {
  if (std::is_same_v<T, bool>) return {Reduction::any, Reduction::all};
  return {Reduction::sum, Reduction::prod, Reduction::max, Reduction::min};
}

template <class T>
void compare_reduction(Reduction op, const RowsShape& shape, const std::vector<Stored<T>>& values,
                       std::int64_t before) {
  const GpuValues<Stored<T>> in(values, before), out(shape.outer * shape.inner);
  OnGpu()->reduce(op, dtype_of<T>(), in.data(), shape.outer, shape.count, shape.inner, out.data());
  std::vector<Stored<T>> expected(static_cast<std::size_t>(shape.outer * shape.inner));
  cpu::reduce(op, dtype_of<T>(), values.data(), shape.outer, shape.count, shape.inner, expected.data());
  const QString text = difference(out.read(), expected);
  QVERIFY2(text.isEmpty(), qPrintable(named<T>(shape) + text));
}

template <class T>
void compare_arg_extreme(bool largest, const RowsShape& shape, const std::vector<Stored<T>>& values) {
  const GpuValues<Stored<T>> in(values);
  const GpuValues<std::int64_t> out(shape.outer * shape.inner);
  OnGpu()->arg_extreme(largest, dtype_of<T>(), in.data(), shape.outer, shape.count, shape.inner, out.data());
  std::vector<std::int64_t> expected(static_cast<std::size_t>(shape.outer * shape.inner));
  cpu::arg_extreme(largest, dtype_of<T>(), values.data(), shape.outer, shape.count, shape.inner,
                   expected.data());
  const QString text = difference(out.read(), expected);
  QVERIFY2(text.isEmpty(), qPrintable(named<T>(shape) + text));
}

using CpuRows = void (*)(DType, const void*, std::int64_t, std::int64_t, void*);
using GpuRows = void (*Backend::*)(DType, const void*, std::int64_t, std::int64_t, void*);

/// Of rows with one result each, or `count`. `tolerance` times the size of the results is allowed; 0: none.
template <class T>
void compare_rows(GpuRows gpu, CpuRows cpu, bool one_result, double tolerance) {
  for (const RowsShape& shape : {RowsShape{0, 4, 1},
                                 {3, 0, 1},
                                 {5, 1, 1},
                                 {7, 10, 1},
                                 {3, 64, 1},
                                 {5, 132, 1},
                                 {5, 65, 1},
                                 {3, 250, 1},
                                 {3, 256, 1},
                                 {2, 600, 1},
                                 {2, 1000, 1},
                                 {3, 1024, 1},
                                 {2, 1100, 1},
                                 {3, 2048, 1},
                                 {2, 2049, 1},
                                 {1, 30007, 1}})
    for (const bool odd : {false, true}) {
      auto values = some_values<T>(shape.outer * shape.count, 6, odd && shape.count > 10);
      for (T& value : values) value *= T(3);
      if (odd)
        std::fill_n(values.begin(), std::min<std::int64_t>(std::ssize(values), shape.count), -INFINITY);
      const std::int64_t size = shape.outer * (one_result ? 1 : shape.count);
      const GpuValues<T> in(values, odd ? 1 : 0), out(size, shape.count % 2);
      const OnGpu on;
      (backend(OnGpu::device()).*gpu)(dtype_of<T>(), in.data(), shape.outer, shape.count, out.data());
      const auto expected = [&] {
        std::vector<T> results(static_cast<std::size_t>(size));
        cpu(dtype_of<T>(), values.data(), shape.outer, shape.count, results.data());
        return results;
      };
      const QString text = tolerance > 0 ? difference_above(tolerance, out.read(), expected())
                                         : difference_from_any_set(out.read(), expected);
      QVERIFY2(text.isEmpty(), qPrintable(named<T>(shape) + text));
    }
}

}  // namespace

class RowsTest : public QObject {
  Q_OBJECT

  Campaign shapes_{"gpu_reductions", "shapes for each dtype, with odd values and without", 10, 41,
                   "for each of them 31 other shapes"};

 private slots:
  void initTestCase() { load_gpus(); }

  void reductions_have_the_cpus_bits() {
    for_types<bool, std::int32_t, std::int64_t, float, double>([this]<class T>() {
      for (const bool odd : {false, true})
        for (const RowsShape& shape : shapes_.some(reduced_shapes)) {
          auto values = some_values<T>(shape.outer * shape.count * shape.inner, 1, odd);
          if constexpr (std::is_same_v<T, bool>)  // of many random ones some are true, and not all
            for (std::size_t i = 0; i < values.size(); ++i) values[i] = (i % 331 == 7) != odd;
          for (const Reduction op : reductions<T>()) compare_reduction<T>(op, shape, values, odd ? 1 : 0);
        }
    });
  }

  void of_very_many_values_a_float32_sum_is_an_ulp_off_at_most() {
    constexpr std::int64_t count = 2048 * 4096 + 12345;
    std::vector<float> values(count);
    std::minstd_rand random(7);
    for (float& value : values) value = static_cast<float>(random() % 1000) * 0.001F;
    const GpuValues<float> in(values), out(1), again(1);
    OnGpu()->reduce(Reduction::sum, DType::float32, in.data(), 1, count, 1, out.data());
    OnGpu()->reduce(Reduction::sum, DType::float32, in.data(), 1, count, 1, again.data());
    float expected;
    cpu::reduce(Reduction::sum, DType::float32, values.data(), 1, count, 1, &expected);
    const float got = out.read().front();
    QVERIFY(got == expected || got == std::nextafter(expected, got));
    QCOMPARE(again.read(), out.read());
  }

  void the_extreme_values_places_are_the_cpus() {
    for_types<bool, std::int32_t, std::int64_t, float, double>([this]<class T>() {
      for (const bool odd : {false, true})
        for (const RowsShape& shape : shapes_.some(reduced_shapes)) {
          if (shape.count == 0) continue;
          const auto values = some_values<T>(shape.outer * shape.count * shape.inner, 2, odd);
          for (const bool largest : {false, true}) compare_arg_extreme<T>(largest, shape, values);
        }
    });
  }

  void the_first_of_many_equal_values_is_found() {
    for (const RowsShape& shape : {RowsShape{1, 50000, 1}, {1, 5000, 3}, {40, 70, 1}}) {
      std::vector<float> values(static_cast<std::size_t>(shape.outer * shape.count * shape.inner), 1.0F);
      for (std::size_t i = values.size() / 3; i < values.size(); ++i) values[i] = 2.0F;
      for (const bool largest : {false, true}) compare_arg_extreme<float>(largest, shape, values);
    }
  }

  void sums_of_products_and_squared_distances_have_the_cpus_bits() {
    for_types<std::int32_t, std::int64_t, float, double>([]<class T>() {
      for (const std::int64_t count : {0, 1, 3, 31, 64, 100, 4096, 4097, 30011}) {
        const auto a = some_values<T>(count, 3), b = some_values<T>(count, 4);
        const GpuValues<T> x(a), y(b, count % 3 == 0 ? 1 : 0), out(1);
        std::vector<T> expected(1);
        OnGpu()->dot(dtype_of<T>(), x.data(), y.data(), count, out.data());
        cpu::dot(dtype_of<T>(), a.data(), b.data(), count, expected.data());
        QCOMPARE(difference(out.read(), expected), QString());
        if constexpr (std::is_floating_point_v<T>) {
          OnGpu()->squared_distance(dtype_of<T>(), x.data(), y.data(), count, out.data());
          cpu::squared_distance(dtype_of<T>(), a.data(), b.data(), count, expected.data());
          QCOMPARE(difference(out.read(), expected), QString());
        }
      }
    });
  }

  void softmax_has_the_cpus_bits() {
    if (!gpus_are_real() && last_places_of_emulation() > 0)
      QSKIP("sanitizers change the emulation's last places");
    for_types<float, double>([]<class T>() { compare_rows<T>(&Backend::softmax, cpu::softmax, false, 0); });
  }

  // Two ulp of results up to 64.
  void logarithms_of_sums_are_two_ulp_off_at_most() {
    compare_rows<float>(&Backend::log_softmax, cpu::log_softmax, false, 0x1p-17);
    compare_rows<double>(&Backend::log_softmax, cpu::log_softmax, false, 0x1p-46);
    compare_rows<float>(&Backend::logsumexp, cpu::logsumexp, true, 0x1p-17);
    compare_rows<double>(&Backend::logsumexp, cpu::logsumexp, true, 0x1p-46);
  }
};

TAPEDECK_TEST(RowsTest)
#include "tst_rows.moc"
