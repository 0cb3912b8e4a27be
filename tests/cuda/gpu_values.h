// Values on the GPU, and comparison of results.
#pragma once

#include <QString>
#include <QtTest>
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "engine/backend/backend.h"
#include "engine/backend/devices.h"
#include "engine/cpu/dispatch.h"
#include "engine/tensor/device_memory.h"
#include "tests/cuda/emulated.h"

namespace tapedeck {

/// Selects the first GPU, which the tests use. The thread's kernels run there.
class OnGpu {
 public:
  static Device device() { return {DeviceKind::gpu, 0}; }
  const Backend* operator->() const { return &backend(device()); }

 private:
  OpDeviceScope scope_{device()};
};

/// A std::vector<bool> has no bools in memory.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;

template <class T>
class GpuValues {
 public:
  /// `before`: preceding elements, to begin at an address that is not a multiple of 16 bytes.
  explicit GpuValues(std::int64_t count, std::int64_t before = 0)
      : count_(static_cast<std::size_t>(count)),
        before_(before),
        block_(device_memory(OnGpu::device())
                   .allocate(
                       std::max<std::size_t>(1, (count_ + static_cast<std::size_t>(before)) * sizeof(T)))) {}
  GpuValues(const std::vector<T>& values, std::int64_t before = 0)
      : GpuValues(static_cast<std::int64_t>(values.size()), before) {
    if (count_ > 0) block_->memory->write(values.data(), data(), count_ * sizeof(T));
  }
  ~GpuValues() { block_->memory->free(block_); }
  GpuValues(const GpuValues&) = delete;

  T* data() const { return static_cast<T*>(block_->data) + before_; }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    if (count_ > 0) block_->memory->read(data(), values.data(), count_ * sizeof(T));
    return values;
  }

 private:
  std::size_t count_;
  std::int64_t before_;
  DeviceBlock* block_;
};

/// All NaN are equal.
template <class T>
bool same_bits(T a, T b) {
  if constexpr (std::is_same_v<T, float>)
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  else if constexpr (std::is_same_v<T, double>)
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  else
    return a == b;
}

template <class T>
constexpr const char* element_name() {
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  if constexpr (std::is_same_v<T, std::int64_t>) return "int64";
  if constexpr (std::is_same_v<T, std::uint8_t>) return "uint8 or bool";
  return sizeof(T) == 2 ? "16 bits" : "other";
}

/// Empty if all are `alike`; else a line about the first that are not.
template <class T, class Alike>
QString difference(const std::vector<T>& gpu, const std::vector<T>& cpu, Alike alike) {
  if (gpu.size() != cpu.size())
    return QString("%1 elements on the GPU, %2 on the CPU").arg(gpu.size()).arg(cpu.size());
  for (std::size_t i = 0; i < gpu.size(); ++i)
    if (!alike(gpu[i], cpu[i]))
      return QString("element %1 of %2 (%3): %4 on the GPU, %5 on the CPU")
          .arg(i)
          .arg(gpu.size())
          .arg(QString::fromLatin1(element_name<T>()))
          .arg(static_cast<double>(gpu[i]), 0, 'g', 17)
          .arg(static_cast<double>(cpu[i]), 0, 'g', 17);
  return {};
}
template <class T>
QString difference(const std::vector<T>& gpu, const std::vector<T>& cpu) {
  return difference(gpu, cpu, same_bits<T>);
}
/// Up to `bound`; non-finite values must be equal.
template <class T>
QString difference_above(double bound, const std::vector<T>& gpu, const std::vector<T>& cpu) {
  return difference(gpu, cpu, [=](T a, T b) {
    return same_bits(a, b) || std::abs(static_cast<double>(a) - static_cast<double>(b)) <= bound;
  });
}
/// As the CPU with or without an instruction that fuses products with sums; a GPU has one, the emulation may
/// not. `cpu()` returns the CPU's values.
template <class T, class Cpu>
QString difference_from_any_set(const std::vector<T>& gpu, Cpu cpu) {
  cpu::use_instruction_set(cpu::InstructionSet::baseline);
  const QString plain = difference(gpu, cpu());
  cpu::use_instruction_set(cpu::best_instruction_set());
  return plain.isEmpty() ? plain : difference(gpu, cpu());
}

/// Varied values: including equal ones, and, for floating-point dtypes if `odd`, −0, infinities and NaN.
template <class T>
std::vector<Stored<T>> some_values(std::int64_t count, unsigned seed, bool odd = false) {
  std::mt19937_64 random(seed);
  std::vector<Stored<T>> values(static_cast<std::size_t>(count));
  for (auto& value : values) {
    const auto word = random();
    if constexpr (std::is_same_v<T, bool>)
      value = word % 2;
    else if constexpr (std::is_floating_point_v<T>)
      value = std::normal_distribution<T>()(random);
    else
      value = static_cast<T>(word >> (word % 3 * 20));
    if constexpr (std::is_floating_point_v<T>)
      if (odd) {
        constexpr T infinity = std::numeric_limits<T>::infinity();
        const T others[] = {T(0), -T(0), infinity, -infinity, std::numeric_limits<T>::quiet_NaN(), T(1)};
        if (word % 4 == 0) value = others[word / 4 % 6];
      }
  }
  return values;
}

struct RowsShape {
  std::int64_t outer, count, inner;
};
/// "float32, 3 × 5 × 1: "
template <class T>
QString named(const RowsShape& shape) {
  return QString("%1, %2 × %3 × %4: ")
      .arg(QString::fromLatin1(dtype_name(dtype_of<T>())))
      .arg(shape.outer)
      .arg(shape.count)
      .arg(shape.inner);
}

/// Calls `f.template operator()<T>()` for each of the types.
template <class... T, class F>
void for_types(F f) {
  (f.template operator()<T>(), ...);
}

}  // namespace tapedeck
