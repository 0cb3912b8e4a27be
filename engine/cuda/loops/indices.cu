#include <cstring>
#include <vector>

#include "engine/cuda/faults.h"
#include "engine/cuda/index.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"
#include "engine/cuda/loops/elements.h"
#include "engine/cuda/memory.h"

namespace tapedeck::cuda {
namespace {

template <class T, class Index, class Number>
__global__ void one_hot_kernel(const Index* indices, Number depth, Number inner, T on, T off, T* out,
                               Number results) {
  for (auto n = static_cast<Number>(thread_number()); n < results; n += static_cast<Number>(thread_count())) {
    const Number row = n / inner, o = row / depth, k = row - o * depth;
    const Index index = indices[o * inner + (n - row * inner)];
    out[n] = static_cast<std::int64_t>(index) == static_cast<std::int64_t>(k) ? on : off;
  }
}

template <class Index>
__global__ void slice_numbers_kernel(const Index* coordinates, std::int64_t rows, Extents shape,
                                     std::int64_t per_batch, std::int64_t rows_per_batch, std::int64_t* out,
                                     Report report) {
  long long bad = no_place, outside = 0;
  for (std::int64_t row = thread_number(); row < rows; row += thread_count()) {
    std::int64_t number = 0;
    for (int axis = 0; axis < shape.rank; ++axis) {
      const auto at = static_cast<std::int64_t>(coordinates[row * shape.rank + axis]);
      if (at < 0 || at >= shape.extent[axis]) {
        if (bad == no_place) {
          bad = row;
          outside = at;
        }
        number = 0;
        break;
      }
      number = number * shape.extent[axis] + at;
    }
    out[row] = row / rows_per_batch * per_batch + number;
  }
  report_first(report, bad, outside);
}

template <class Index>
void number_slices(const Index* coordinates, std::int64_t rows, const Shape& shape,
                   std::int64_t rows_per_batch, std::int64_t* out, const std::string& what) {
  const auto depth = static_cast<std::size_t>(shape.rank());
  const std::int64_t per_batch = element_count(shape);
  if (per_batch == 0 && rows > 0) {  // no number is valid, which later kernels assume
    std::vector<Index> first(depth);
    memory_of(current_device()).read(coordinates, first.data(), depth * sizeof(Index));
    Shape named;
    for (const Index at : first) named.push_back(at);
    fail<OutOfRangeError>(what, "[0] is ", to_string(named), ", outside of shape ", to_string(shape));
  }
  const Report report = report_later(
      {.kind = FaultMessage::Kind::slice, .what = what, .rest = "outside of shape " + to_string(shape)});
  Grid grid = grid_for(rows);
  grid.cooperation = Cooperation::block;
  launch("slice_numbers", grid, slice_numbers_kernel<Index>, coordinates, rows, Extents(shape), per_batch,
         rows_per_batch, out, report);
}

/// If a number occurs twice, its first position stays. Free entries hold the largest number.
__global__ void invert_kernel(const std::int64_t* x, std::int64_t count, unsigned long long* out) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count())
    atomicMin(&out[x[i]], static_cast<unsigned long long>(i));
}
__global__ void find_repeated_kernel(const std::int64_t* x, std::int64_t count, const std::int64_t* out,
                                     Report report) {
  long long repeated = no_place;
  for (std::int64_t i = thread_number(); i < count && repeated == no_place; i += thread_count())
    if (out[x[i]] != i) repeated = i;
  report_first(report, repeated, repeated == no_place ? 0 : static_cast<long long>(x[repeated]));
}

__global__ void any_kernel(const std::uint8_t* flags, std::int64_t count, Report report) {
  long long found = no_place;
  for (std::int64_t i = thread_number(); i < count && found == no_place; i += thread_count())
    if (flags[i] != 0) found = i;
  report_first(report, found, 1);
}

}  // namespace

void one_hot(std::size_t size, DType dtype, const void* indices, std::int64_t outer, std::int64_t depth,
             std::int64_t inner, const void* on, const void* off, void* out) {
  const std::int64_t results = outer * depth * inner;
  visit_size(size, [&]<class T>(T) {
    T on_value, off_value;
    std::memcpy(&on_value, on, sizeof on_value);
    std::memcpy(&off_value, off, sizeof off_value);
    visit_index(results, [&]<class Number>(Number) {
      const auto mark = [&]<class Index>(const Index* from) {
        launch("one_hot", grid_for(results), one_hot_kernel<T, Index, Number>, from,
               static_cast<Number>(depth), static_cast<Number>(inner), on_value, off_value,
               static_cast<T*>(out), static_cast<Number>(results));
      };
      if (dtype == DType::int32)
        mark(static_cast<const std::int32_t*>(indices));
      else
        mark(static_cast<const std::int64_t*>(indices));
    });
  });
}

std::optional<std::int64_t> slice_numbers(DType dtype, const void* coordinates, std::int64_t rows,
                                          const Shape& shape, std::int64_t rows_per_batch, std::int64_t* out,
                                          const std::string& what) {
  if (dtype == DType::int32)
    number_slices(static_cast<const std::int32_t*>(coordinates), rows, shape, rows_per_batch, out, what);
  else
    number_slices(static_cast<const std::int64_t*>(coordinates), rows, shape, rows_per_batch, out, what);
  return {};
}

std::optional<std::int64_t> invert_permutation(const std::int64_t* x, std::int64_t count, std::int64_t* out,
                                               const std::string& what) {
  if (count == 0) return {};
  check(cudaMemsetAsync(out, 0xff, static_cast<std::size_t>(count) * sizeof(std::int64_t), stream()),
        "invert_permutation");
  launch("invert_permutation", grid_for(count), invert_kernel, x, count,
         reinterpret_cast<unsigned long long*>(out));
  Grid grid = grid_for(count);
  grid.cooperation = Cooperation::block;
  launch("invert_permutation", grid, find_repeated_kernel, x, count, out,
         report_later({.kind = FaultMessage::Kind::repeated, .what = what}));
  return {};
}

bool any(const bool* flags, std::int64_t count, const std::string& error) {
  Grid grid = grid_for(count, 8);
  grid.cooperation = Cooperation::block;
  launch("any", grid, any_kernel, reinterpret_cast<const std::uint8_t*>(flags), count,
         report_later({.kind = FaultMessage::Kind::text, .what = error}));
  return false;
}

}  // namespace tapedeck::cuda
