// The only way to launch kernels.
//
// Under nvcc it is a launch on the calling thread's stream. The tests compile the same sources with the
// host's compiler against an emulation (tests/cuda/emulation), where it runs the blocks one after another on
// the CPU, later, as a stream would.
//
// What kernels may use: threadIdx, blockIdx, blockDim, gridDim; `__shared__` variables of fixed size, and
// shared_memory<T>() for a size given at the launch; __syncthreads(), __syncwarp(), the __shfl…_sync
// functions, __ballot_sync() (with Cooperation::block); atomicAdd, atomicMax, atomicMin, atomicCAS,
// atomicExch. tests/cuda/emulation/syntax.h lists the available CUDA functions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "engine/cuda/runtime.h"

namespace tapedeck::cuda {

/// none: threads never wait for each other. The emulation then needs no fiber per thread, and a barrier is an
/// error.
enum class Cooperation { none, block };

/// `blocks` is limited to `most_blocks`: a kernel that may have more continues in steps of gridDim.x.
struct Grid {
  std::int64_t blocks = 1;
  int threads = 256;             ///< of a block, up to 1024; a multiple of 32 if they cooperate
  std::size_t shared_bytes = 0;  ///< for shared_memory<T>(); up to 48 KiB, or what the device allows
  Cooperation cooperation = Cooperation::none;
};
constexpr std::int64_t most_blocks = 0x7fffffff;

/// Enough blocks for `count` elements, `each` per thread, but no more than keep a GPU busy: for kernels with
/// grid-stride loops.
inline Grid grid_for(std::int64_t count, int each = 1, int threads = 256) {
  const std::int64_t block = std::int64_t{threads} * each;
  return {.blocks = std::min<std::int64_t>((count + block - 1) / block, 1 << 16), .threads = threads};
}

/// The number of the thread in the grid, and how many there are.
__device__ __forceinline__ std::int64_t thread_number() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}
__device__ __forceinline__ std::int64_t thread_count() {
  return static_cast<std::int64_t>(gridDim.x) * blockDim.x;
}

/// Of the size given at the launch, aligned to 16 bytes.
template <class T>
__device__ __forceinline__ T* shared_memory() {
#ifdef TAPEDECK_EMULATED_CUDA
  return reinterpret_cast<T*>(emulation::dynamic_shared_memory);
#else
  extern __shared__ __align__(16) unsigned char tapedeck_shared_memory[];
  return reinterpret_cast<T*>(tapedeck_shared_memory);
#endif
}

/// Starts `kernel`, a __global__ function that takes its parameters by value, on the calling thread's stream
/// on the current device. Does nothing for zero blocks. `name` is a literal, for asynchronous errors.
template <class... Parameters, class... Arguments>
void launch(const char* name, const Grid& grid, void (*kernel)(Parameters...),
            const Arguments&... arguments) {
  static_assert((!std::is_reference_v<Parameters> && ...), "kernels take their parameters by value");
  if (grid.blocks <= 0) return;
  const auto blocks = static_cast<unsigned>(std::min(grid.blocks, most_blocks));
  const auto threads = static_cast<unsigned>(grid.threads);
  std::tuple<Parameters...> values(static_cast<Parameters>(arguments)...);
  Stream& stream = current_stream();
  stream.note_kernel(name);
#ifdef TAPEDECK_EMULATED_CUDA
  emulation::launch(
      {.name = name,
       .blocks = blocks,
       .threads = threads,
       .shared_bytes = grid.shared_bytes,
       .cooperates = grid.cooperation == Cooperation::block},
      stream.handle,
      [kernel, values, threads] {
        for (threadIdx.x = 0; threadIdx.x < threads; ++threadIdx.x) std::apply(kernel, values);
      },
      [kernel, values] { std::apply(kernel, values); });
#else
  if (grid.shared_bytes > (48U << 10))
    check(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               static_cast<int>(grid.shared_bytes)),
          name);
  std::apply(
      [&](Parameters&... parameters) {
        void* places[sizeof...(Parameters) + 1] = {static_cast<void*>(&parameters)..., nullptr};
        check(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(blocks), dim3(threads), places,
                               grid.shared_bytes, stream.handle),
              name);
      },
      values);
#endif
  stream.note_work();
}

}  // namespace tapedeck::cuda
