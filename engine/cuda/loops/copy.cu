#include <bit>
#include <cstring>

#include "engine/cuda/faults.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/linear_algebra/transpose.h"
#include "engine/cuda/loops/copy.h"
#include "engine/cuda/loops/elements.h"
#include "engine/cuda/loops/packs.h"
#include "engine/cuda/loops/walk.h"
#include "engine/cuda/memory.h"

namespace tapedeck::cuda {
namespace {

bool is_aligned(const void* place, std::size_t bytes) {
  return reinterpret_cast<std::uintptr_t>(place) % bytes == 0;
}

const void* at(const void* place, std::int64_t elements, std::size_t size) {
  return static_cast<const char*>(place) + elements * static_cast<std::int64_t>(size);
}
void* at(void* place, std::int64_t elements, std::size_t size) {
  return static_cast<char*>(place) + elements * static_cast<std::int64_t>(size);
}

template <class T>
__global__ void copy_kernel(const T* source, T* target, Walk<2> walk) {
  for (std::int64_t i = thread_number(); i < walk.count; i += thread_count()) {
    std::int64_t place[2];
    walk.offsets(static_cast<std::uint32_t>(i), place);
    target[place[1]] = source[place[0]];
  }
}

template <class T>
void transpose(const Planes& planes, const T* source, T* target) {
  const std::int64_t tiles = std::int64_t{planes.matrices.count} * planes.down * planes.across;
  launch("transpose",
         {.blocks = std::min<std::int64_t>(tiles, 1 << 16),
          .threads = plane_tile * plane_rows,
          .cooperation = Cooperation::block},
         transpose_kernel<T>, source, target, planes);
}

/// Of words of a row.
template <class T>
__global__ void gather_kernel(const T* source, std::int64_t rows, std::int64_t count,
                              const std::int64_t* indices, std::int64_t index_count, std::int64_t words,
                              T* target) {
  for (std::int64_t i = thread_number(); i < rows * words; i += thread_count()) {
    const std::int64_t row = i / words, word = i - row * words;
    const std::int64_t outer = row / index_count;
    target[i] = source[(outer * count + indices[row - outer * index_count]) * words + word];
  }
}

template <class T>
__global__ void pick_kernel(const T* values, std::int64_t rows, std::int64_t count,
                            const std::int64_t* indices, T* out) {
  for (std::int64_t i = thread_number(); i < rows; i += thread_count())
    out[i] = values[i * count + indices[i]];
}

/// Checks for each row whether a later row has the same number: for few rows.
template <class T>
__global__ void scatter_kernel(const T* source, const std::int64_t* numbers, std::int64_t count,
                               std::int64_t words, T* target) {
  for (std::int64_t i = thread_number(); i < count * words; i += thread_count()) {
    const std::int64_t row = i / words, number = numbers[row];
    bool last = true;
    for (std::int64_t other = row + 1; other < count && last; ++other) last = numbers[other] != number;
    if (last) target[number * words + (i - row * words)] = source[i];
  }
}

// Of many rows a hash table says which is the last one of each number: slots of a number and of a row, both
// −1 where there is none.
__global__ void claim_kernel(const std::int64_t* numbers, std::int64_t count, unsigned long long* keys,
                             int* rows, std::uint32_t mask, std::uint32_t* slots) {
  constexpr unsigned long long none = ~0ULL;
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const auto number = static_cast<unsigned long long>(numbers[i]);
    auto slot = static_cast<std::uint32_t>((number * 0x9e3779b97f4a7c15ULL) >> 32) & mask;
    for (;; slot = (slot + 1) & mask) {
      const unsigned long long before = atomicCAS(&keys[slot], none, number);
      if (before == none || before == number) break;
    }
    atomicMax(&rows[slot], static_cast<int>(i));
    slots[i] = slot;
  }
}
template <class T>
__global__ void scatter_claimed_kernel(const T* source, const std::int64_t* numbers, const int* rows,
                                       const std::uint32_t* slots, std::int64_t count, std::int64_t words,
                                       T* target) {
  for (std::int64_t i = thread_number(); i < count * words; i += thread_count()) {
    const std::int64_t row = i / words;
    if (rows[slots[row]] == row) target[numbers[row] * words + (i - row * words)] = source[i];
  }
}

constexpr int check_threads = 256;

/// A block reports the first bad index that it finds.
template <class T>
__global__ void check_indices_kernel(const T* indices, std::int64_t count, std::int64_t low,
                                     std::int64_t high, std::int64_t* out, Report report) {
  __shared__ long long first;
  if (threadIdx.x == 0) first = count;
  __syncthreads();
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    const auto index = static_cast<std::int64_t>(indices[i]);
    const bool good = index >= low && index < high;
    out[i] = good ? index : low;
    if (!good) atomicMin(&first, static_cast<long long>(i));
  }
  __syncthreads();
  if (threadIdx.x != 0 || first == count) return;
  report(first, static_cast<long long>(indices[first]));
}

/// The largest word of which rows consist, and which they are aligned to.
std::size_t word_size(std::size_t row_bytes, const void* a, const void* b) {
  std::size_t size = 16;
  while (size > 1 && (row_bytes % size != 0 || !is_aligned(a, size) || !is_aligned(b, size))) size /= 2;
  return size;
}

/// Rows of adjacent elements move as larger elements, where everything else lies at multiples of those.
struct Widened {
  std::size_t size;
  Shape shape;
  Strides source_strides, target_strides;
};
Widened widened(std::size_t size, const void* source, const Strides& source_strides, void* target,
                const Strides& target_strides, const Shape& shape) {
  Widened wide{size, shape, source_strides, target_strides};
  const int inner = shape.rank() - 1;
  if (inner < 0 || source_strides[inner] != 1 || target_strides[inner] != 1) return wide;
  for (std::size_t larger = 16; larger > size; larger /= 2) {
    const auto times = static_cast<std::int64_t>(larger / size);
    bool fits = is_aligned(source, larger) && is_aligned(target, larger) && shape[inner] % times == 0;
    for (int axis = 0; axis < inner && fits; ++axis)
      fits = source_strides[axis] % times == 0 && target_strides[axis] % times == 0;
    if (!fits) continue;
    wide.size = larger;
    wide.shape[inner] /= times;
    for (int axis = 0; axis < inner; ++axis) {
      wide.source_strides[axis] /= times;
      wide.target_strides[axis] /= times;
    }
    return wide;
  }
  return wide;
}

}  // namespace

void copy_elements(std::size_t size, const void* source, const Strides& source_strides, void* target,
                   const Strides& target_strides, const Shape& shape) {
  const Widened wide = widened(size, source, source_strides, target, target_strides, shape);
  for_walks<2>(wide.shape, {&wide.source_strides, &wide.target_strides},
               [&](const Walk<2>& walk, const std::array<std::int64_t, 2>& start, std::int64_t) {
                 const void* from = at(source, start[0], wide.size);
                 void* to = at(target, start[1], wide.size);
                 if (walk.rank == 1 && walk.stride[0][0] == 1 && walk.stride[0][1] == 1)
                   return check(
                       cudaMemcpyAsync(to, from, walk.count * wide.size, cudaMemcpyDeviceToDevice, stream()),
                       "a copy within the device");
                 visit_size(wide.size, [&]<class T>(T) {
                   if (const auto planes = planes_of(walk))
                     return transpose(*planes, static_cast<const T*>(from), static_cast<T*>(to));
                   launch("copy", grid_for(walk.count), copy_kernel<T>, static_cast<const T*>(from),
                          static_cast<T*>(to), walk);
                 });
               });
}

void copy(std::size_t size, const void* source, const Strides& source_strides, void* target,
          const Strides& target_strides, const Shape& shape) {
  copy_elements(size, source, source_strides, target, target_strides, shape);
}

void fill(std::size_t size, const void* value, void* target, std::int64_t count) {
  visit_size(size, [&]<class T>(T) {
    T element;
    std::memcpy(&element, value, sizeof element);
    launch("fill", grid_for(count, pack_width<T>), fill_kernel<T>, static_cast<T*>(target), element, count);
  });
}

void gather_rows(const void* source, std::int64_t outer, std::int64_t count, const std::int64_t* indices,
                 std::int64_t index_count, std::size_t row_bytes, void* target) {
  const std::int64_t rows = outer * index_count;
  if (rows == 0 || row_bytes == 0) return;
  visit_size(word_size(row_bytes, source, target), [&]<class T>(T) {
    const auto words = static_cast<std::int64_t>(row_bytes / sizeof(T));
    launch("gather_rows", grid_for(rows * words), gather_kernel<T>, static_cast<const T*>(source), rows,
           count, indices, index_count, words, static_cast<T*>(target));
  });
}

void pick(std::size_t size, const void* values, std::int64_t rows, std::int64_t count,
          const std::int64_t* indices, void* out) {
  visit_size(size, [&]<class T>(T) {
    launch("pick", grid_for(rows), pick_kernel<T>, static_cast<const T*>(values), rows, count, indices,
           static_cast<T*>(out));
  });
}

void scatter_rows(const void* source, const std::int64_t* numbers, std::int64_t count, std::size_t row_bytes,
                  void* target) {
  if (count == 0 || row_bytes == 0) return;
  if (count > most_walked / 4)
    fail<UnimplementedError>("scatter of ", count, " rows: a GPU takes up to ", most_walked / 4);
  constexpr std::int64_t few_rows = 1024;
  visit_size(word_size(row_bytes, source, target), [&]<class T>(T) {
    const auto words = static_cast<std::int64_t>(row_bytes / sizeof(T));
    const T* from = static_cast<const T*>(source);
    T* to = static_cast<T*>(target);
    if (count <= few_rows)
      return launch("scatter_rows", grid_for(count * words), scatter_kernel<T>, from, numbers, count, words,
                    to);
    const std::size_t size = std::bit_ceil(static_cast<std::size_t>(2 * count));
    const Scratch keys(size * sizeof(std::uint64_t)), rows(size * sizeof(int));
    const Scratch slots(static_cast<std::size_t>(count) * sizeof(std::uint32_t));
    check(cudaMemsetAsync(keys.data(), 0xff, size * sizeof(std::uint64_t), stream()), "scatter_rows");
    check(cudaMemsetAsync(rows.data(), 0xff, size * sizeof(int), stream()), "scatter_rows");
    launch("scatter_rows", grid_for(count), claim_kernel, numbers, count, keys.as<unsigned long long>(),
           rows.as<int>(), static_cast<std::uint32_t>(size - 1), slots.as<std::uint32_t>());
    launch("scatter_rows", grid_for(count * words), scatter_claimed_kernel<T>, from, numbers, rows.as<int>(),
           slots.as<std::uint32_t>(), count, words, to);
  });
}

std::optional<BadIndex> check_indices(DType dtype, const void* indices, std::int64_t count, std::int64_t low,
                                      std::int64_t high, std::int64_t* out, const std::string& what) {
  if (low >= high && count > 0) {  // no index is valid, which later kernels assume
    GpuMemory& memory = memory_of(current_device());
    std::int64_t wide = 0;
    std::int32_t narrow = 0;
    if (dtype == DType::int64)
      memory.read(indices, &wide, sizeof wide);
    else
      memory.read(indices, &narrow, sizeof narrow);
    return BadIndex{0, dtype == DType::int64 ? wide : narrow};
  }
  const Report report = report_later({FaultMessage::Kind::index, what, low, high});
  Grid grid = grid_for(count, 1, check_threads);
  grid.cooperation = Cooperation::block;
  if (dtype == DType::int32)
    launch("check_indices", grid, check_indices_kernel<std::int32_t>,
           static_cast<const std::int32_t*>(indices), count, low, high, out, report);
  else
    launch("check_indices", grid, check_indices_kernel<std::int64_t>,
           static_cast<const std::int64_t*>(indices), count, low, high, out, report);
  return {};
}

}  // namespace tapedeck::cuda
