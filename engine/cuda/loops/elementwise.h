// Shared by elementwise kernels: operands in memory or passed by value, and several elements at a time.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/backend/backend.h"
#include "engine/backend/kernels.h"
#include "engine/cpu/vector/loop.h"
#include "engine/cuda/loops/packs.h"
#include "engine/cuda/loops/walk.h"

namespace tapedeck::cuda {

// The columns of elementwise_functions.h.
using cpu::TAPEDECK_ISA::belongs_to;
using cpu::TAPEDECK_ISA::Domain;
using cpu::TAPEDECK_ISA::Result;

/// Expensive functions process one element at a time, which needs less code.
constexpr bool is_cheap(double cost) {
  return cost <= 2.0;
}

/// An operand: `step` is 1 for contiguous elements, 0 for a single one, which may be passed by value.
template <class T>
struct Source {
  const T* data = nullptr;
  int step = 1;
  bool given = false;
  T value{};

  Source() = default;
  Source(const void* data, int step, bool immediate)
      : data(static_cast<const T*>(data)), step(step), given(immediate) {
    if (immediate) value = *this->data;
  }
  explicit Source(const kernels::Values& values) : Source(values.data, values.step, values.immediate) {}

  __device__ __forceinline__ T at(std::int64_t offset) const { return given ? value : data[offset]; }
  template <int width>
  __device__ __forceinline__ static Pack<T, width> repeated(T one) {
    Pack<T, width> result;
    for (T& each : result.values) each = one;
    return result;
  }
  /// The elements from `first` on; past `count` repeats the first of them, a valid operand.
  template <int width>
  __device__ __forceinline__ Pack<T, width> pack(std::int64_t first, std::int64_t count) const {
    return step == 0 ? repeated<width>(at(0)) : load_pack<width>(data, first, count);
  }
  /// The elements of a step of a walk with this as operand k: `here` elements from `offset` on, then repeats
  /// the first of them.
  template <int width, std::size_t N>
  __device__ __forceinline__ Pack<T, width> step_of(const Walk<N>& walk, std::size_t k, std::int64_t offset,
                                                    std::int64_t here) const {
    if (given || walk.stride[0][k] == 0) return repeated<width>(at(offset));
    if (walk.side_by_side[k]) return load_pack<width>(data + offset, 0, here);
    Pack<T, width> result;
#pragma unroll
    for (int i = 0; i < width; ++i)
      result.values[i] = data[offset + (i < here ? i : 0) * walk.element_stride[k]];
    return result;
  }
};

/// The strides of an operand; 0 for one passed by value.
inline Strides strides_of(const kernels::Operand& operand) {
  if (!operand.immediate) return operand.strides;
  Strides still;
  still.resize(operand.strides.rank());
  return still;
}
/// That operand from an offset on, for a kernel that walks.
template <class T>
Source<T> source_at(const kernels::Operand& operand, std::int64_t offset) {
  return Source<T>(operand.immediate ? operand.data : static_cast<const T*>(operand.data) + offset, 1,
                   operand.immediate);
}

/// Calls `f(kernel, name, T{}, R{})` with the table's kernel for an op and a dtype, whose results have type
/// R. Throws NoKernel if the table has none.
template <class Table, class Op, class F>
void with_kernel(Op op, DType dtype, F&& f) {
  static const Table table;
  const auto number = static_cast<int>(op);
  const auto& kernel = table.kernels[number][static_cast<int>(dtype)];
  if (!kernel.strided) throw NoKernel(table.names[number]);
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (table.truth[number])
      f(kernel, table.names[number], T{}, bool{});
    else
      f(kernel, table.names[number], T{}, T{});
  });
}

}  // namespace tapedeck::cuda
