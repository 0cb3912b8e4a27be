// Matrix products and convolutions on a GPU against the CPU's.
#include <array>
#include <numeric>

#include "compared.h"
#include "engine/cpu/kernels.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::cuda;
using kernels::ConvolutionSize;
using kernels::MatmulSize;

namespace {

using Places = std::vector<std::int64_t>;

template <class T>
std::vector<const void*> at(const T* first, const Places& places) {
  std::vector<const void*> pointers;
  for (const std::int64_t place : places) pointers.push_back(first + place);
  return pointers;
}

MatmulSize stored(std::int64_t m, std::int64_t n, std::int64_t k, int transposed, std::int64_t gap) {
  const bool a = transposed & 1, b = transposed & 2;
  return {m, n, k, a, b, (a ? m : k) + gap, (b ? k : n) + gap};
}

std::string text_of(const MatmulSize& s) {
  return std::to_string(s.m) + " × " + std::to_string(s.k) + " by " + std::to_string(s.n) +
         (s.transpose_a ? ", aᵀ" : "") + (s.transpose_b ? ", bᵀ" : "");
}

/// The places are where the matrices of the batch begin.
template <class T>
void compare_products(DType dtype, const MatmulSize& size, const Places& a_places, const Places& b_places,
                      const std::vector<T>& a, const std::vector<T>& b) {
  const std::size_t count = a_places.size() * static_cast<std::size_t>(size.m * size.n);
  std::vector<T> expected(count);
  cpu::matmul(dtype, size, at(a.data(), a_places), at(b.data(), b_places), expected.data());
  const GpuValues<T> a_there(a), b_there(b), first(count), again(count);
  gpu().matmul(dtype, size, at(a_there.data(), a_places), at(b_there.data(), b_places), first.data());
  gpu().matmul(dtype, size, at(a_there.data(), a_places), at(b_there.data(), b_places), again.data());
  SAME(unequal(first.read(), again.read()), "again, " + text_of(size));
  if constexpr (std::is_integral_v<T>)
    SAME(unequal(expected, first.read()), text_of(size));
  else
    SAME(far(expected, first.read(), sum_bound<T>), text_of(size));
}

std::int64_t values_of(const MatmulSize& s, bool left) {
  if (left) return (s.transpose_a ? s.k : s.m) * s.lda;
  return (s.transpose_b ? s.n : s.k) * s.ldb;
}

template <class T>
std::vector<T> numbers(std::int64_t count, unsigned seed) {
  // Products of whole numbers of this size wrap around.
  return normal_numbers<T>(count, seed, std::is_integral_v<T> ? (sizeof(T) == 4 ? 1e8 : 1e17) : 1.0);
}

template <class T>
void compare_sizes(DType dtype) {
  const std::array<std::array<std::int64_t, 3>, 9> sizes{{{1, 1, 1},
                                                          {1, 17, 5},
                                                          {33, 1, 9},
                                                          {16, 16, 16},
                                                          {15, 31, 17},
                                                          {64, 33, 50},
                                                          {3, 4, 0},
                                                          {1, 1, 40},
                                                          {2, 300, 3}}};
  for (const auto& [m, n, k] : sizes)
    for (int transposed = 0; transposed < 4; ++transposed) {
      const MatmulSize size = stored(m, n, k, transposed, transposed == 2 ? 3 : 0);
      compare_products<T>(dtype, size, {0}, {0}, numbers<T>(values_of(size, true) + 1, 1),
                          numbers<T>(values_of(size, false) + 1, 2));
      if (QTest::currentTestFailed()) return;
    }
}

template <class T>
void compare_batches(DType dtype) {
  const MatmulSize size = stored(3, 5, 4, 0, 0);
  const std::vector<T> a = numbers<T>(12 * 6, 3), b = numbers<T>(20 * 6, 4);
  const std::pair<Places, Places> batches[] = {
      {{0, 12, 24, 36}, {0, 20, 40, 60}},
      {{0, 12, 24, 36}, {20, 20, 20, 20}},                // the same for all
      {{0, 0, 0, 12, 12, 12}, {0, 20, 40, 0, 20, 40}},    // two axes
      {{0, 0, 12, 12, 24, 24}, {0, 20, 0, 20, 0, 20}},    // the shorter one inside
      {{0, 12, 24, 36, 48, 60}, {40, 40, 0, 0, 20, 20}},  // no axes at all
      {{36, 24, 12, 0}, {0, 20, 40, 60}},                 // backwards
      {{0, 12, 36, 60}, {0, 0, 20, 0}}};
  for (const auto& [a_places, b_places] : batches) {
    compare_products<T>(dtype, size, a_places, b_places, a, b);
    if (QTest::currentTestFailed()) return;
  }
}

struct Convolution {
  const char* what;
  ConvolutionSize size;
};

/// Output as large as the padding, `after` below and to the right, lets it be.
ConvolutionSize convolution(std::int64_t batch, kernels::Extent2 input, kernels::Extent2 kernel,
                            kernels::Extent2 stride, kernels::Extent2 dilation, kernels::Extent2 before,
                            kernels::Extent2 after, std::array<std::int64_t, 3> channels) {
  const auto [groups, in, out] = channels;
  ConvolutionSize s{batch, input, kernel, {}, stride, dilation, before, groups, in, out, 0, 0, 0};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const std::int64_t room =
        input[axis] + before[axis] + after[axis] - (kernel[axis] - 1) * dilation[axis] - 1;
    s.output[axis] = room < 0 ? 0 : room / stride[axis] + 1;
  }
  // As tf.nn.conv2d and depthwise_conv2d keep their filters.
  const bool depthwise = in == 1 && groups > 1;
  s.in_stride = depthwise ? 0 : groups * out;
  s.position_stride = depthwise ? groups * out : in * groups * out;
  s.group_stride = out;
  return s;
}

const Convolution convolutions[] = {
    {"one pixel", convolution(1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1, 1})},
    {"plain", convolution(2, {9, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 3, 4})},
    {"without padding", convolution(3, {8, 8}, {3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 2, 5})},
    {"stride", convolution(2, {11, 10}, {3, 3}, {2, 3}, {1, 1}, {0, 1}, {1, 1}, {1, 4, 3})},
    {"stride larger than the window",
     convolution(2, {9, 9}, {1, 2}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 2, 2})},
    {"dilation", convolution(1, {13, 12}, {3, 2}, {1, 1}, {2, 3}, {2, 1}, {2, 2}, {1, 3, 2})},
    {"pointwise", convolution(3, {5, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 7, 3})},
    {"pointwise in groups", convolution(2, {5, 6}, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {2, 3, 4})},
    {"groups", convolution(2, {7, 9}, {3, 3}, {2, 1}, {1, 2}, {1, 2}, {1, 2}, {3, 2, 4})},
    {"groups of channels that move at once",
     convolution(2, {7, 6}, {3, 2}, {1, 2}, {1, 1}, {1, 1}, {1, 1}, {2, 8, 3})},
    {"depthwise", convolution(2, {9, 8}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {5, 1, 1})},
    {"depthwise, several filters each",
     convolution(2, {9, 8}, {3, 2}, {2, 2}, {1, 2}, {0, 1}, {1, 1}, {4, 1, 3})},
    {"depthwise of many pixels", convolution(4, {40, 41}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {3, 1, 2})},
    {"grey images", convolution(2, {10, 10}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 1, 6})},
    {"no images", convolution(0, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 2, 2})},
    {"a window larger than the image",
     convolution(2, {2, 2}, {3, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 2, 2})},
};

/// The images begin `shift` values behind where memory does.
template <class T>
void compare_convolution(DType dtype, const char* what, const ConvolutionSize& s, std::int64_t shift = 0) {
  const auto input = normal_numbers<T>(s.input_count(), 1), filter = normal_numbers<T>(s.filter_count(), 2),
             gradient = normal_numbers<T>(s.output_count(), 3);
  std::vector<T> shifted(static_cast<std::size_t>(shift));
  shifted.insert(shifted.end(), input.begin(), input.end());
  const GpuValues<T> input_there(shifted), filter_there(filter), gradient_there(gradient);
  const auto compare = [&](std::int64_t count, const char* which, auto&& on_cpu, auto&& on_gpu) {
    std::vector<T> expected(static_cast<std::size_t>(count));
    on_cpu(expected.data());
    const GpuValues<T> first(expected.size()), again(expected.size());
    on_gpu(first.data());
    on_gpu(again.data());
    const std::string where = std::string(what) + ", " + which;
    SAME(unequal(first.read(), again.read()), "again, " + where);
    SAME(far(expected, first.read(), sum_bound<T>), where);
  };
  compare(
      s.output_count(), "forward",
      [&](T* to) { cpu::convolution(dtype, s, input.data(), filter.data(), to); },
      [&](T* to) { gpu().convolution(dtype, s, input_there.data() + shift, filter_there.data(), to); });
  compare(
      s.input_count(), "input's gradient",
      [&](T* to) { cpu::convolution_input_gradient(dtype, s, filter.data(), gradient.data(), to); },
      [&](T* to) {
        gpu().convolution_input_gradient(dtype, s, filter_there.data(), gradient_there.data(), to);
      });
  compare(
      s.filter_count(), "filter's gradient",
      [&](T* to) { cpu::convolution_filter_gradient(dtype, s, input.data(), gradient.data(), to); },
      [&](T* to) {
        gpu().convolution_filter_gradient(dtype, s, input_there.data() + shift, gradient_there.data(), to);
      });
}

}  // namespace

class TestProducts : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }
  void productsAgree() {
    compare_sizes<float>(DType::float32);
    compare_sizes<double>(DType::float64);
    compare_sizes<std::int32_t>(DType::int32);
    compare_sizes<std::int64_t>(DType::int64);
  }

  void batchesOfProductsAgree() {
    compare_batches<float>(DType::float32);
    compare_batches<double>(DType::float64);
    compare_batches<std::int32_t>(DType::int32);
    compare_batches<std::int64_t>(DType::int64);
  }

  void convolutionsAgree() {
    for (const Convolution& of : convolutions) {
      compare_convolution<float>(DType::float32, of.what, of.size);
      compare_convolution<double>(DType::float64, of.what, of.size);
      if (QTest::currentTestFailed()) return;
    }
  }

  void imagesThatBeginAnywhereAgree() {
    const ConvolutionSize size = convolution(2, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {1, 4, 3});
    compare_convolution<float>(DType::float32, "shifted", size, 1);
    compare_convolution<double>(DType::float64, "shifted", size, 1);
  }

  void convolutionsTooLargeToUnfoldAtOnceAgree() {
    compare_convolution<float>(DType::float32, "blocks of pixels across images",
                               convolution(2, {62, 61}, {5, 5}, {1, 1}, {1, 1}, {2, 2}, {2, 2}, {1, 96, 1}));
  }

  // The sum of the first half of k has 12 bits, one more than a float16 (8 more than a bfloat16).
  void sumsOfHalvesAreNeverHalves() {
    constexpr std::int64_t k = 2 * 2049;
    for (const DType dtype : {DType::float16, DType::bfloat16}) {
      const std::uint16_t one = dtype == DType::float16 ? 0x3c00 : 0x3f80;
      std::vector<std::uint16_t> ones(k, one), signs(k, one);
      for (std::size_t i = k / 2; i < k; ++i) signs[i] = one | 0x8000;
      signs[k - 1] = 0;
      const GpuValues<std::uint16_t> a(ones), b(signs), out(1);
      const void* const left = a.data();
      const void* const right = b.data();
      gpu().matmul(dtype, stored(1, 1, k, 0, 0), {&left, 1}, {&right, 1}, out.data());
      QCOMPARE(out.read()[0], one);
    }
  }

  void otherDTypesAreRefused() {
    const void* none = nullptr;
    QVERIFY_THROWS_EXCEPTION(
        NoKernel, gpu().matmul(DType::uint64, stored(1, 1, 1, 0, 0), {&none, 1}, {&none, 1}, nullptr));
    QVERIFY_THROWS_EXCEPTION(
        NoKernel, gpu().convolution(DType::int32, convolutions[1].size, nullptr, nullptr, nullptr));
  }
};

TAPEDECK_TEST(TestProducts)
#include "tst_products.moc"
