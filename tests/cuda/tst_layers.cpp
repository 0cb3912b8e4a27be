// Pooling and normalization on a GPU against the CPU's.
#include <array>
#include <limits>

#include "compared.h"
#include "engine/cpu/kernels.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::cuda;
using kernels::Channels;
using kernels::PoolingSize;

namespace {

// ---- pooling ----

PoolingSize pooling(std::int64_t batch, std::int64_t channels, kernels::Extent2 input,
                    kernels::Extent2 window, kernels::Extent2 stride, kernels::Extent2 before,
                    kernels::Extent2 after) {
  PoolingSize s{batch, channels, input, window, {}, stride, before};
  for (std::size_t axis = 0; axis < 2; ++axis)
    s.output[axis] = (input[axis] + before[axis] + after[axis] - window[axis]) / stride[axis] + 1;
  return s;
}

const PoolingSize poolings[] = {pooling(1, 1, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}),
                                pooling(2, 3, {8, 6}, {2, 2}, {2, 2}, {0, 0}, {0, 0}),
                                pooling(2, 5, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}),
                                pooling(1, 2, {7, 11}, {3, 2}, {2, 3}, {1, 0}, {0, 1}),
                                pooling(3, 1, {5, 5}, {1, 2}, {3, 2}, {0, 1}, {0, 1}),
                                pooling(1, 4, {3, 4}, {3, 4}, {1, 1}, {2, 3}, {2, 3}),
                                pooling(0, 3, {4, 4}, {2, 2}, {2, 2}, {0, 0}, {0, 0})};

/// Few different ones, so that windows have several largest; of floating dtypes also those that are special,
/// NaN in many places.
template <class T>
std::vector<T> with_ties(std::int64_t count, unsigned seed) {
  std::vector<T> values = normal_numbers<T>(count, seed, 2.0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = std::round(values[i]);
      if ((static_cast<std::uint32_t>(i) * 2654435761U) >> 28 < 3)
        values[i] = std::numeric_limits<T>::quiet_NaN();
      if (i % 13 == 5) values[i] = T(-0.0);
      if (i % 29 == 3) values[i] = -std::numeric_limits<T>::infinity();
    } else if (i % 17 == 2) {
      values[i] = i % 2 == 0 ? std::numeric_limits<T>::max() : std::numeric_limits<T>::min();
    }
  }
  return values;
}

template <class T>
void compare_pooling(DType dtype, const PoolingSize& s) {
  const std::int64_t image = s.batch * s.input[0] * s.input[1] * s.channels;
  const std::int64_t pooled = s.batch * s.output[0] * s.output[1] * s.channels;
  const std::string size = std::string(dtype_name(dtype)) + ", window " + std::to_string(s.window[0]) +
                           " × " + std::to_string(s.window[1]) + " of " + std::to_string(image);
  const auto input = with_ties<T>(image, 1), values = normal_numbers<T>(image, 2, 9.0);
  auto gradient = normal_numbers<T>(pooled, 3, 9.0);
  if constexpr (std::is_integral_v<T>)
    for (T& value : gradient)  // sums of them wrap around
      value = static_cast<T>(static_cast<std::uint64_t>(std::numeric_limits<T>::max()) -
                             static_cast<std::uint64_t>(value));
  const GpuValues<T> input_there(input), values_there(values), gradient_there(gradient);
  const auto compare = [&]<class Out>(Out, std::int64_t count, const char* which, auto&& on_cpu,
                                      auto&& on_gpu) {
    std::vector<Out> expected(static_cast<std::size_t>(count));
    on_cpu(expected.data());
    const GpuValues<Out> to(expected.size());
    on_gpu(to.data());
    SAME(unequal(expected, to.read()), which + (", " + size));
  };
  compare(
      T{}, pooled, "max_pool", [&](T* to) { cpu::max_pool(dtype, s, input.data(), to); },
      [&](T* to) { gpu().max_pool(dtype, s, input_there.data(), to); });
  compare(
      T{}, image, "max_pool_scatter",
      [&](T* to) { cpu::max_pool_scatter(dtype, s, input.data(), gradient.data(), to); },
      [&](T* to) { gpu().max_pool_scatter(dtype, s, input_there.data(), gradient_there.data(), to); });
  compare(
      T{}, pooled, "max_pool_gather",
      [&](T* to) { cpu::max_pool_gather(dtype, s, input.data(), values.data(), to); },
      [&](T* to) { gpu().max_pool_gather(dtype, s, input_there.data(), values_there.data(), to); });
  compare(
      std::int64_t{}, pooled, "max_pool_positions",
      [&](std::int64_t* to) { cpu::max_pool_positions(dtype, s, input.data(), to); },
      [&](std::int64_t* to) { gpu().max_pool_positions(dtype, s, input_there.data(), to); });
  if constexpr (std::is_floating_point_v<T>) {
    compare(
        T{}, pooled, "avg_pool", [&](T* to) { cpu::avg_pool(dtype, s, values.data(), to); },
        [&](T* to) { gpu().avg_pool(dtype, s, values_there.data(), to); });
    compare(
        T{}, image, "avg_pool_scatter", [&](T* to) { cpu::avg_pool_scatter(dtype, s, gradient.data(), to); },
        [&](T* to) { gpu().avg_pool_scatter(dtype, s, gradient_there.data(), to); });
  }
}

// ---- normalization ----

/// Numbers around 30: their variance is lost where squares are summed.
template <class T>
std::vector<T> off_centre(std::int64_t count, unsigned seed) {
  std::vector<T> values = normal_numbers<T>(count, seed);
  for (T& value : values) value += T(30);
  return values;
}

template <class T>
void compare_batch_norm(DType dtype, const Channels& of) {
  const std::int64_t count = of.outer * of.channels * of.inner, channels = of.channels;
  const std::string where =
      std::to_string(of.outer) + " × " + std::to_string(channels) + " × " + std::to_string(of.inner);
  const auto x = off_centre<T>(count, 1), scale = normal_numbers<T>(channels, 2),
             offset = normal_numbers<T>(channels, 3), dy = normal_numbers<T>(count, 4);
  // Of odd numbers of values one operand begins where packs may not.
  const auto before = static_cast<std::size_t>(count % 2);
  const GpuValues<T> gx(x), gscale(scale), goffset(offset), gdy(dy, before);
  compare_results<T>(
      "batch_norm, " + where, 8 * sum_bound<T>, {count, channels, channels},
      [&](auto& to) {
        cpu::batch_norm(dtype, of, x.data(), scale.data(), offset.data(), 1e-3, to[0], to[1], to[2]);
      },
      [&](auto& to) {
        gpu().batch_norm(dtype, of, gx.data(), gscale.data(), goffset.data(), 1e-3, to[0], to[1], to[2]);
      });
  std::vector<T> y(x.size()), mean(scale.size()), variance(scale.size());
  cpu::batch_norm(dtype, of, x.data(), scale.data(), offset.data(), 1e-3, y.data(), mean.data(),
                  variance.data());
  const GpuValues<T> gmean(mean), gvariance(variance);
  compare_results<T>(
      "batch_norm_gradient, " + where, 8 * sum_bound<T>, {count, channels, channels},
      [&](auto& to) {
        cpu::batch_norm_gradient(dtype, of, x.data(), scale.data(), mean.data(), variance.data(), dy.data(),
                                 1e-3, to[0], to[1], to[2]);
      },
      [&](auto& to) {
        gpu().batch_norm_gradient(dtype, of, gx.data(), gscale.data(), gmean.data(), gvariance.data(),
                                  gdy.data(), 1e-3, to[0], to[1], to[2]);
      });
}

template <class T>
void compare_layer_norm(DType dtype, std::int64_t rows, std::int64_t count) {
  const std::string where = std::to_string(rows) + " rows of " + std::to_string(count);
  const auto x = off_centre<T>(rows * count, 1), scale = normal_numbers<T>(count, 2),
             offset = normal_numbers<T>(count, 3), dy = normal_numbers<T>(rows * count, 4);
  // Of odd numbers of values one operand begins where packs may not.
  const auto before = static_cast<std::size_t>(count % 2);
  const GpuValues<T> gx(x), gscale(scale), goffset(offset), gdy(dy, before);
  compare_results<T>(
      "layer_norm, " + where, 8 * sum_bound<T>, {rows * count, rows, rows},
      [&](auto& to) {
        cpu::layer_norm(dtype, rows, count, x.data(), scale.data(), offset.data(), 1e-3, to[0], to[1], to[2]);
      },
      [&](auto& to) {
        gpu().layer_norm(dtype, rows, count, gx.data(), gscale.data(), goffset.data(), 1e-3, to[0], to[1],
                         to[2]);
      });
  const auto rows_of = static_cast<std::size_t>(rows);
  std::vector<T> y(x.size()), mean(rows_of), variance(rows_of);
  cpu::layer_norm(dtype, rows, count, x.data(), scale.data(), offset.data(), 1e-3, y.data(), mean.data(),
                  variance.data());
  const GpuValues<T> gmean(mean), gvariance(variance);
  compare_results<T>(
      "layer_norm_gradient, " + where, 8 * sum_bound<T>, {rows * count, count, count},
      [&](auto& to) {
        cpu::layer_norm_gradient(dtype, rows, count, x.data(), scale.data(), mean.data(), variance.data(),
                                 dy.data(), 1e-3, to[0], to[1], to[2]);
      },
      [&](auto& to) {
        gpu().layer_norm_gradient(dtype, rows, count, gx.data(), gscale.data(), gmean.data(),
                                  gvariance.data(), gdy.data(), 1e-3, to[0], to[1], to[2]);
      });
}

}  // namespace

class TestLayers : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }
  void poolingAgreesToTheBit() {
    for (const PoolingSize& size : poolings) {
      compare_pooling<float>(DType::float32, size);
      compare_pooling<double>(DType::float64, size);
      compare_pooling<std::int32_t>(DType::int32, size);
      compare_pooling<std::int64_t>(DType::int64, size);
      if (QTest::currentTestFailed()) return;
    }
  }

  void batchNormsAgree() {
    const Channels all[] = {{1, 1, 1},     {7, 5, 1},   {3, 4, 35}, {300, 3, 1}, {2, 70, 1}, {5, 1, 900},
                            {1000, 33, 1}, {40, 6, 49}, {0, 3, 1},  {2, 3, 0},   {4, 0, 5}};
    for (const Channels& of : all) {
      compare_batch_norm<float>(DType::float32, of);
      compare_batch_norm<double>(DType::float64, of);
      if (QTest::currentTestFailed()) return;
    }
  }

  void layerNormsAgree() {
    const std::pair<std::int64_t, std::int64_t> all[] = {{1, 1},   {1, 3000}, {5, 7}, {70, 33},
                                                         {9, 500}, {3, 1100}, {0, 4}, {4, 0}};
    for (const auto& [rows, count] : all) {
      compare_layer_norm<float>(DType::float32, rows, count);
      compare_layer_norm<double>(DType::float64, rows, count);
      if (QTest::currentTestFailed()) return;
    }
  }

  void otherDTypesAreRefused() {
    QVERIFY_THROWS_EXCEPTION(NoKernel, gpu().max_pool(DType::uint64, poolings[0], nullptr, nullptr));
    QVERIFY_THROWS_EXCEPTION(NoKernel, gpu().avg_pool(DType::int32, poolings[0], nullptr, nullptr));
    QVERIFY_THROWS_EXCEPTION(NoKernel, gpu().batch_norm(DType::int32, {1, 1, 1}, nullptr, nullptr, nullptr, 0,
                                                        nullptr, nullptr, nullptr));
    QVERIFY_THROWS_EXCEPTION(NoKernel, gpu().layer_norm(DType::int32, 1, 1, nullptr, nullptr, nullptr, 0,
                                                        nullptr, nullptr, nullptr));
  }
};

TAPEDECK_TEST(TestLayers)
#include "tst_layers.moc"
