// How matrix products are split into tasks. Included by gemm*.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <type_traits>

#include "engine/cpu/dispatch.h"
#include "engine/tensor/storage.h"

namespace tapedeck::cpu {

inline constexpr std::int64_t depth_at_once = 512;  ///< a panel of the right operand stays in a core's cache
inline constexpr std::int64_t depth_multiple = 16;  ///< whole vectors of every instruction set
inline constexpr std::int64_t row_multiple = 8;     ///< whole tiles of every instruction set
inline constexpr std::int64_t panel_multiple = 48;  ///< whole panels of every instruction set
inline constexpr std::int64_t strip = 4 * panel_multiple;  ///< columns: whole panels, and worth a task
inline constexpr std::int64_t few_rows = 240;              ///< of a task, before columns are cut too
inline constexpr std::int64_t enough_tasks = 16;           ///< for the threads of a large machine
inline constexpr double worth_a_task = 8e5;                ///< multiplications: about 8 µs

inline std::int64_t parts_of(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}
/// A part size near `size` that divides `count` evenly, rounded up to a multiple of `step`.
inline std::int64_t even(std::int64_t count, std::int64_t size, std::int64_t step) {
  const std::int64_t part = parts_of(count, parts_of(count, size));
  return parts_of(part, step) * step;
}
/// The largest power of two up to `count`; 0 for 0. A power of two of tasks keeps a power of two of threads
/// busy to the end.
inline std::int64_t power_of_two_in(std::int64_t count) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(count)));
}
/// How many tasks a product of this size is worth.
inline std::int64_t tasks_worth(std::int64_t m, std::int64_t n, std::int64_t k) {
  const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  return static_cast<std::int64_t>(
      std::clamp<double>(work / worth_a_task, 1, static_cast<double>(enough_tasks)));
}

template <class T>
StoragePointer gemm_buffer(std::int64_t values) {
  return StoragePointer::allocate(static_cast<std::size_t>(values) * sizeof(T));
}

template <class T>
const GemmLoops<T>& gemm_loops() {
  if constexpr (std::is_same_v<T, float>)
    return loops().gemm_float;
  else
    return loops().gemm_double;
}

}  // namespace tapedeck::cpu
