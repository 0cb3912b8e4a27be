// Function attributes for code that GPU kernels share.
#pragma once

#ifdef __CUDACC__
#define TAPEDECK_DEVICE __host__ __device__
#define TAPEDECK_INLINE __host__ __device__ __forceinline__
#else
#define TAPEDECK_DEVICE
#define TAPEDECK_INLINE [[gnu::always_inline]] inline
#endif

// TAPEDECK_GPU selects the GPU's variant of code that differs from the CPU's; the emulation counts as a GPU.
#if defined(__CUDA_ARCH__) || defined(TAPEDECK_EMULATED_CUDA)
#define TAPEDECK_GPU
#endif
