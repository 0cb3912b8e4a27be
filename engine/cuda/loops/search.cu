#include <type_traits>

#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/compact.h"
#include "engine/cuda/loops/elements.h"
#include "engine/cuda/memory.h"

namespace tapedeck::cuda {
namespace {

template <class T, class Place>
__global__ void search_kernel(bool right, const T* sequences, std::int64_t length, const T* values,
                              std::int64_t count, std::int64_t per_row, Place* out) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const T* sequence = sequences + i / per_row * length;
    const T value = values[i];
    // The steps of std::lower_bound and std::upper_bound, which determine where NaN is sorted.
    std::int64_t first = 0;
    for (std::int64_t left = length; left > 0;) {
      const std::int64_t half = left / 2;
      const T middle = sequence[first + half];
      if (right ? !(value < middle) : middle < value) {
        first += half + 1;
        left -= half + 1;
      } else {
        left = half;
      }
    }
    out[i] = static_cast<Place>(first);
  }
}

struct IsTrue {
  const std::uint8_t* flags;
  __device__ bool operator()(std::int64_t i) const { return flags[i] != 0; }
};
struct WriteCoordinates {
  Extents shape;
  std::int64_t room;
  std::int64_t* out;
  __device__ void operator()(std::int64_t i, std::int64_t number, bool flag) const {
    if (!flag || number > room) return;
    std::int64_t* coordinates = out + (number - 1) * shape.rank;
    for (int axis = shape.rank - 1; axis > 0; --axis) {
      const std::int64_t next = i / shape.extent[axis];
      coordinates[axis] = i - next * shape.extent[axis];
      i = next;
    }
    if (shape.rank > 0) coordinates[0] = i;
  }
};

__global__ void add_counts_kernel(const std::int64_t* counts, std::int64_t parts, std::int64_t* sum) {
  unsigned long long found = 0;
  for (std::int64_t i = threadIdx.x; i < parts; i += compact_threads)
    found += static_cast<unsigned long long>(counts[i]);
  found = block_sum(found);
  if (threadIdx.x == 0) *sum = static_cast<std::int64_t>(found);
}

IsTrue is_true(const bool* flags) {
  return {reinterpret_cast<const std::uint8_t*>(flags)};
}

}  // namespace

void search_rows(bool right, DType dtype, const void* sequences, std::int64_t length, const void* values,
                 std::int64_t count, std::int64_t per_row, DType places, void* out) {
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      if (places == DType::int32)
        launch("search_rows", grid_for(count), search_kernel<T, std::int32_t>, right,
               static_cast<const T*>(sequences), length, static_cast<const T*>(values), count, per_row,
               static_cast<std::int32_t*>(out));
      else
        launch("search_rows", grid_for(count), search_kernel<T, std::int64_t>, right,
               static_cast<const T*>(sequences), length, static_cast<const T*>(values), count, per_row,
               static_cast<std::int64_t*>(out));
    }
  });
}

std::int64_t count_true(const bool* flags, std::int64_t count) {
  if (count == 0) return 0;
  const CompactParts parts(count);
  const Scratch counts(parts.counts_bytes()), sum(sizeof(std::int64_t));
  launch("count_true", parts.grid(), count_parts_kernel<IsTrue>, parts, is_true(flags),
         counts.as<std::int64_t>());
  launch("count_true", Grid{.threads = compact_threads, .cooperation = Cooperation::block}, add_counts_kernel,
         counts.as<std::int64_t>(), parts.parts, sum.as<std::int64_t>());
  std::int64_t found = 0;
  memory_of(current_device()).read(sum.data(), &found, sizeof found);
  return found;
}

std::int64_t true_coordinates(const bool* flags, const Shape& shape, std::int64_t room, std::int64_t* out) {
  const std::int64_t count = element_count(shape);
  if (count == 0 || room == 0) return room;
  const CompactParts parts(count);
  const Scratch counts(parts.counts_bytes());
  launch("true_coordinates", parts.grid(), count_parts_kernel<IsTrue>, parts, is_true(flags),
         counts.as<std::int64_t>());
  launch("true_coordinates", parts.grid(), number_places_kernel<IsTrue, WriteCoordinates>, parts,
         is_true(flags), WriteCoordinates{Extents(shape), room, out}, counts.as<std::int64_t>());
  return room;
}

}  // namespace tapedeck::cuda
