// Casts of a GPU among all dtypes of numbers and truth values give what the op gives on the CPU.
#include <cstring>

#include "engine/ops/core/ops.h"
#include "engine/tensor/tensor.h"
#include "tests/cuda/gpu_values.h"
#include "tests/test_program.h"

using namespace tapedeck;

namespace {

constexpr DType dtypes[] = {DType::bool_,   DType::int32,  DType::int64,   DType::float32,
                            DType::float64, DType::int8,   DType::int16,   DType::uint8,
                            DType::uint16,  DType::uint32, DType::float16, DType::bfloat16};

/// Numbers within every dtype and without, halves between two of float16, infinities and NaN.
std::vector<double> numbers() {
  std::vector<double> values{
      0,        -0.0,          0.5,        -0.5,  1,     -1,     1.5,          2.5,
      127,      128,           -128,       -129,  255,   256,    300.75,       -300.75,
      32767,    32768,         -32769,     65504, 65519, 65520,  1e5,          -1e5,
      3e38,     1e300,         2147483647, 1e10,  -1e10, 1e19,   -1e19,        2049,
      2051,     1.00048828125, 1e-8,       6e-8,  3e-5,  -3e-40, 4294967295.0, 1 + 0x1p-11 + 0x1p-40,
      INFINITY, -INFINITY,     NAN};
  for (int i = 0; i < 60; ++i)
    values.push_back(std::ldexp(1.0 + i * 0.0137, i * 3 % 80 - 30) * (i % 2 == 0 ? 1 : -1));
  return values;
}

/// NaN as one.
std::vector<std::uint8_t> bytes_of(const Tensor& tensor) {
  const Tensor same = tensor.dtype() == DType::float16 || tensor.dtype() == DType::bfloat16
                          ? ops::cast(tensor, DType::float32)
                          : tensor;
  std::vector<std::uint8_t> bytes(same.bytes());
  std::memcpy(bytes.data(), same.raw(), bytes.size());
  const auto set_nan = [&]<class T>(T) {
    for (std::size_t i = 0; i < bytes.size(); i += sizeof(T)) {
      T value;
      std::memcpy(&value, &bytes[i], sizeof value);
      if (value != value) std::memset(&bytes[i], 0xee, sizeof value);
    }
  };
  if (same.dtype() == DType::float32) set_nan(float{});
  if (same.dtype() == DType::float64) set_nan(double{});
  return bytes;
}

}  // namespace

class CastsTest : public QObject {
  Q_OBJECT
 private slots:
  void initTestCase() { load_gpus(); }

  void every_dtype_becomes_every_other_one() {
    const std::vector<double> values = numbers();
    const auto count = static_cast<std::int64_t>(values.size());
    Tensor wide = Tensor::allocate(DType::float64, {count});
    std::memcpy(wide.writable_data<double>(), values.data(), wide.bytes());
    for (const DType from : dtypes) {
      const Tensor x = ops::cast(wide, from).make_contiguous();
      GpuValues<std::uint8_t> source(static_cast<std::int64_t>(x.bytes()));
      device_memory(OnGpu::device()).write(x.raw(), source.data(), x.bytes());
      for (const DType to : dtypes) {
        if (from == to) continue;
        const Tensor expected = ops::cast(x, to).make_contiguous();
        const GpuValues<std::uint8_t> target(static_cast<std::int64_t>(expected.bytes()));
        // Backwards, so that it walks.
        const auto size = static_cast<std::int64_t>(item_size(from));
        OnGpu()->cast(from, to, {source.data() + (count - 1) * size, {-1}}, target.data(), {count});
        Tensor result = Tensor::allocate(to, {count});
        const std::vector<std::uint8_t> read = target.read();
        std::memcpy(result.writable_data<std::byte>(), read.data(), read.size());
        const Tensor turned = Tensor::view(result.storage(), to, {count}, {-1}, count - 1).make_contiguous();
        QVERIFY2(bytes_of(turned) == bytes_of(expected),
                 qPrintable(QString("%1 to %2").arg(dtype_name(from).data()).arg(dtype_name(to).data())));
        // Side by side, from each place of a pack on.
        for (const std::int64_t first : {0, 1, 2, 8}) {
          OnGpu()->cast(from, to, {source.data() + first * size, {1}}, target.data(), {count - first});
          const std::vector<std::uint8_t> side_by_side = target.read();
          std::memcpy(result.writable_data<std::byte>(), side_by_side.data(), side_by_side.size());
          const Tensor some = Tensor::view(result.storage(), to, {count - first}, {1}, 0).make_contiguous();
          const Tensor wanted =
              Tensor::view(expected.storage(), to, {count - first}, {1}, first).make_contiguous();
          QVERIFY2(bytes_of(some) == bytes_of(wanted), qPrintable(QString("%1 to %2 from %3 on")
                                                                      .arg(dtype_name(from).data())
                                                                      .arg(dtype_name(to).data())
                                                                      .arg(first)));
        }
        // One number that the launch takes along.
        OnGpu()->cast(from, to, {x.raw(), {0}, true}, target.data(), {2});
        const std::vector<std::uint8_t> one = target.read();
        QCOMPARE(std::memcmp(one.data() + item_size(to), expected.raw(), item_size(to)), 0);
      }
    }
  }
};

TAPEDECK_TEST(CastsTest)
#include "tst_casts.moc"
