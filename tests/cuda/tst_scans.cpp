// Running sums, products, logarithms of sums and maxima on the GPU, beside the CPU's.
#include "engine/cpu/kernels.h"
#include "tests/campaign.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;
using kernels::Scan;

namespace {

constexpr RowsShape short_shapes[] = {{0, 5, 1},   {5, 0, 1},   {1, 1, 1},    {3, 2, 1},    {40, 31, 1},
                                      {3, 32, 1},  {9, 33, 1},  {2, 1000, 1}, {2, 4095, 1}, {2, 7, 3},
                                      {1, 50, 40}, {3, 300, 2}, {2, 5, 0}};
/// Of these the segments are scanned apart.
constexpr RowsShape long_shapes[] = {{1, 4096, 1}, {2, 5000, 1}, {1, 9001, 1}, {1, 33001, 1}, {1, 9001, 3}};

/// All kinds: sums, products, exclusive, reverse.
std::vector<Scan> scans() {
  std::vector<Scan> kinds;
  for (int kind = 0; kind < 8; ++kind) kinds.push_back({(kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0});
  return kinds;
}

using CpuScan = void (*)(Scan, DType, const void*, std::int64_t, std::int64_t, std::int64_t, void*);
using GpuScan = void (*Backend::*)(Scan, DType, const void*, std::int64_t, std::int64_t, std::int64_t, void*);

template <class T>
struct Scanned {
  std::vector<T> gpu, cpu;
};
template <class T>
Scanned<T> scan_both(GpuScan gpu, CpuScan cpu, Scan kind, const RowsShape& shape,
                     const std::vector<T>& values) {
  const GpuValues<T> in(values), out(std::ssize(values)), again(std::ssize(values));
  std::vector<T> expected(values.size());
  const OnGpu on;
  for (const GpuValues<T>* to : {&out, &again})
    (backend(OnGpu::device()).*gpu)(kind, dtype_of<T>(), in.data(), shape.outer, shape.count, shape.inner,
                                    to->data());
  cpu(kind, dtype_of<T>(), values.data(), shape.outer, shape.count, shape.inner, expected.data());
  [&] { QCOMPARE(difference(again.read(), out.read()), QString()); }();
  return {out.read(), expected};
}

template <class T>
void compare_scans(const std::vector<Scan>& kinds, const RowsShape& shape, const std::vector<T>& values,
                   double bound) {
  for (const Scan& kind : kinds) {
    const Scanned<T> got = scan_both(&Backend::scan, cpu::scan, kind, shape, values);
    const QString text = difference_above(bound, got.gpu, got.cpu);
    QVERIFY2(text.isEmpty(), qPrintable(named<T>(shape) + text));
  }
}

template <class T>
void compare_log_sums(const std::vector<Scan>& kinds, const RowsShape& shape, const std::vector<T>& values) {
  for (const Scan& kind : kinds) {
    const Scanned<T> got = scan_both(&Backend::scan_log_sum_exp, cpu::scan_log_sum_exp, kind, shape, values);
    // Results are below 16; the sum's own error comes on top.
    const double bound =
        std::is_same_v<T, float> ? 0x1p-20 : 0x1p-48 + static_cast<double>(shape.count) * 0x1p-51;
    const QString text = difference_above(bound, got.gpu, got.cpu);
    QVERIFY2(text.isEmpty(), qPrintable(named<T>(shape) + text));
  }
}

template <class T>
void compare_maxima(bool reverse, std::int64_t rows, std::int64_t count, const std::vector<T>& values) {
  const GpuValues<T> in(values), out(rows * count);
  const GpuValues<std::int32_t> positions(rows * count);
  OnGpu()->scan_max(reverse, dtype_of<T>(), in.data(), rows, count, out.data(), positions.data());
  std::vector<T> expected(values.size());
  std::vector<std::int32_t> places(values.size());
  cpu::scan_max(reverse, dtype_of<T>(), values.data(), rows, count, expected.data(), places.data());
  QCOMPARE(difference(out.read(), expected), QString());
  QCOMPARE(difference(positions.read(), places), QString());
}

}  // namespace

class ScansTest : public QObject {
  Q_OBJECT

  Campaign kinds_{"gpu_scans", "kinds of scans for each dtype, shape and row of odd values", 1, 8,
                  "for each of them the seven other sums, products, directions and beginnings"};
  std::vector<Scan> some_kinds() { return kinds_.some(scans()); }

 private slots:
  void initTestCase() { load_gpus(); }

  void short_rows_have_the_cpus_bits() {
    for_types<std::int32_t, std::int64_t, float, double>([this]<class T>() {
      for (const RowsShape& shape : short_shapes)
        for (const bool odd : {false, true})
          compare_scans(some_kinds(), shape, some_values<T>(shape.outer * shape.count * shape.inner, 1, odd),
                        0);
    });
  }

  void whole_numbers_of_long_rows_wrap_around_as_the_cpus() {
    for_types<std::int32_t, std::int64_t>([this]<class T>() {
      for (const RowsShape& shape : long_shapes)
        compare_scans(some_kinds(), shape, some_values<T>(shape.outer * shape.count * shape.inner, 2), 0);
    });
  }

  void long_rows_are_as_near_as_it_says() {
    for_types<float, double>([this]<class T>() {
      for (const RowsShape& shape : long_shapes) {
        auto values = some_values<T>(shape.outer * shape.count * shape.inner, 3);
        // Their products stay near 1, their sums below 2¹⁶.
        for (T& value : values) value = T(1) + (value - T(0.01)) / static_cast<T>(shape.count);
        const auto count = static_cast<double>(shape.count);
        compare_scans(some_kinds(), shape, values,
                      std::is_same_v<T, float> ? 0x1p-8 : count * count * 0x1p-52);
      }
    });
  }

  void where_a_segment_overflows_alone_the_row_does_not() {
    constexpr RowsShape shape{1, 12000, 1};
    std::vector<double> sums(12000, 0.0), products(12000, 1.0);
    // A segment begins at every multiple of 2048.
    sums[10] = -1e308, sums[2100] = sums[2200] = 1e308, sums[2300] = -1e308;
    products[10] = 1e-200, products[2100] = products[2200] = 1e200;
    products[4200] = products[4300] = 1e-160, products[4400] = 1e140;
    for (const bool product : {false, true})
      for (const Scan& kind : {Scan{product, false, false}, Scan{product, true, true}}) {
        const auto& values = product ? products : sums;
        const Scanned<double> got = scan_both(&Backend::scan, cpu::scan, kind, shape, values);
        for (std::size_t i = 0; i < values.size(); ++i)
          QVERIFY(same_bits(got.gpu[i], got.cpu[i]) ||
                  std::abs(got.gpu[i] - got.cpu[i]) <= 1e-12 * std::abs(got.cpu[i]));
      }
  }

  void behind_infinities_and_nan_long_rows_go_on_as_the_cpus() {
    for (const int place : {0, 2048, 5000}) {
      std::vector<double> values(6000, 1.0);
      values[static_cast<std::size_t>(place)] = std::numeric_limits<double>::quiet_NaN();
      compare_scans(some_kinds(), {1, 6000, 1}, values, 0);
      values[static_cast<std::size_t>(place)] = std::numeric_limits<double>::infinity();
      compare_scans(some_kinds(), {1, 6000, 1}, values, 0);
      values[static_cast<std::size_t>(5999 - place / 2)] = 0;
      compare_scans(some_kinds(), {1, 6000, 1}, values, 0);
    }
    std::vector<float> many(40000, 1.0F);  // more segments than a warp has threads
    many[20000] = std::numeric_limits<float>::infinity();
    compare_scans(some_kinds(), {1, 40000, 1}, many, 0);
    many[30001] = std::numeric_limits<float>::quiet_NaN();
    compare_scans(some_kinds(), {1, 40000, 1}, many, 0);
  }

  void logarithms_of_running_sums_are_near_the_cpus() {
    for_types<float, double>([this]<class T>() {
      for (const bool odd : {false, true}) {
        for (const RowsShape& shape : short_shapes)
          compare_log_sums(some_kinds(), shape,
                           some_values<T>(shape.outer * shape.count * shape.inner, 4, odd));
        for (const RowsShape& shape : long_shapes)
          compare_log_sums(some_kinds(), shape, some_values<T>(shape.outer * shape.count * shape.inner, 5));
      }
      std::vector<T> nothing(100, -std::numeric_limits<T>::infinity());
      compare_log_sums(some_kinds(), {1, 100, 1}, nothing);
    });
  }

  void running_maxima_are_the_cpus() {
    for_types<std::int32_t, std::int64_t, float, double>([]<class T>() {
      for (const auto& [rows, count] :
           {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 0}, {4, 1}, {3, 31}, {9, 100}, {2, 6001}})
        for (const bool odd : {false, true})
          for (const bool reverse : {false, true}) {
            auto values = some_values<T>(rows * count, 6, odd);
            for (std::size_t i = 1; i < values.size(); i += 3) values[i] = values[i - 1];  // equal ones
            compare_maxima(reverse, rows, count, values);
          }
    });
  }
};

TAPEDECK_TEST(ScansTest)
#include "tst_scans.moc"
