#include <cmath>

#include "engine/cuda/kernels.h"
#include "engine/cuda/launch.h"

namespace tapedeck::cuda {
namespace {

constexpr int warp_lanes = 32;
constexpr std::int64_t long_row = 2048;  ///< from here on a block for each row

/// `group` threads, a warp or the block, for each row.
template <class T>
__global__ void in_top_k_kernel(const T* values, std::int64_t rows, std::int64_t count,
                                const std::int64_t* targets, std::int64_t k, int group, bool* out) {
  const int groups = static_cast<int>(blockDim.x) / group, own = static_cast<int>(threadIdx.x) / group;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * groups;
  __shared__ unsigned long long larger[warp_lanes];
  __shared__ bool refused[warp_lanes];
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * groups; first < rows; first += step) {
    const std::int64_t row = first + own;
    const std::int64_t target = row < rows ? targets[row] : -1;
    const bool inside = target >= 0 && target < count;
    const T* of = values + row * count;
    unsigned long long better = 0;
    bool finite = inside;
    for (std::int64_t j = static_cast<int>(threadIdx.x) % group; finite && j < count; j += group) {
      finite = std::isfinite(of[j]);
      better += of[j] > of[target] ? 1 : 0;
    }
    if (threadIdx.x < static_cast<unsigned>(groups)) {
      larger[threadIdx.x] = 0;
      refused[threadIdx.x] = false;
    }
    __syncthreads();
    if (!finite) refused[own] = true;
    if (better > 0) atomicAdd(&larger[own], better);
    __syncthreads();
    if (row < rows && static_cast<int>(threadIdx.x) % group == 0)
      out[row] = !refused[own] && static_cast<std::int64_t>(larger[own]) < k;
    __syncthreads();
  }
}

template <class T>
void mark_top(const void* values, std::int64_t rows, std::int64_t count, const std::int64_t* targets,
              std::int64_t k, bool* out) {
  constexpr int threads = 256;
  const int group = count >= long_row ? threads : warp_lanes;
  const std::int64_t groups = threads / group;
  const Grid grid{.blocks = std::min<std::int64_t>((rows + groups - 1) / groups, 1 << 16),
                  .threads = threads,
                  .cooperation = Cooperation::block};
  launch("in_top_k", grid, in_top_k_kernel<T>, static_cast<const T*>(values), rows, count, targets, k, group,
         out);
}

}  // namespace

void in_top_k(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
              const std::int64_t* targets, std::int64_t k, bool* out) {
  if (dtype == DType::float32)
    mark_top<float>(values, rows, count, targets, k, out);
  else
    mark_top<double>(values, rows, count, targets, k, out);
}

}  // namespace tapedeck::cuda
