// The part of CUDA's runtime that the engine uses, on machines without a GPU: two devices whose memory the
// host cannot access, and streams that run late: queued work runs only when something waits for it.
//
// Mistakes that often go unnoticed on a GPU show up here: a host that reads device memory crashes, a missing
// wait reads old values, memory is filled with 0xff before it is written and after it is freed, and an access
// past an allocation's end is an error that names the kernel. Names and semantics are NVIDIA's (CUDA Runtime
// API, version 12).
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "syntax.h"

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInitializationError = 3,
  cudaErrorInsufficientDriver = 35,
  cudaErrorNoDevice = 100,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorNotReady = 600,
  cudaErrorIllegalAddress = 700,
  cudaErrorLaunchFailure = 719
};
enum cudaMemcpyKind {
  cudaMemcpyHostToHost,
  cudaMemcpyHostToDevice,
  cudaMemcpyDeviceToHost,
  cudaMemcpyDeviceToDevice,
  cudaMemcpyDefault
};
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97 };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8 };
enum cudaMemPoolAttr {
  cudaMemPoolAttrReleaseThreshold = 4,
  cudaMemPoolAttrReservedMemCurrent = 5,
  cudaMemPoolAttrUsedMemCurrent = 7
};
struct cudaDeviceProp {
  char name[256];
  std::size_t totalGlobalMem;
  int major, minor;
  int multiProcessorCount;
};

namespace emulation {
struct Stream;
struct Event;
struct Pool;
}  // namespace emulation
using cudaStream_t = emulation::Stream*;
using cudaEvent_t = emulation::Event*;
using cudaMemPool_t = emulation::Pool*;

inline constexpr unsigned cudaStreamNonBlocking = 1;
inline constexpr unsigned cudaEventDefault = 0, cudaEventDisableTiming = 2;
inline constexpr unsigned cudaHostAllocPortable = 1, cudaHostAllocMapped = 2;

/// TAPEDECK_EMULATED_GPU_STATE: "old driver", "no driver" (that works), "no device", "broken" or "old
/// devices".
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaDriverGetVersion(int* version);
cudaError_t cudaRuntimeGetVersion(int* version);
cudaError_t cudaGetDevice(int* device);
cudaError_t cudaSetDevice(int device);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device);
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device);
cudaError_t cudaDeviceSynchronize();
cudaError_t cudaGetLastError();
cudaError_t cudaPeekAtLastError();
const char* cudaGetErrorName(cudaError_t error);
const char* cudaGetErrorString(cudaError_t error);

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaStreamQuery(cudaStream_t stream);
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags = 0);
/// The callback must not call CUDA.
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, void (*function)(void* data), void* data);
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags);
cudaError_t cudaEventDestroy(cudaEvent_t event);
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t cudaEventSynchronize(cudaEvent_t event);
cudaError_t cudaEventQuery(cudaEvent_t event);
/// By the host's clock, when the stream reached the events; on an idle stream an event happens at once.
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end);

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device);
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value);
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, std::size_t bytes);
cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total);
/// Fails if TAPEDECK_EMULATED_GPU_MEMORY bytes (2 GiB) would be exceeded.
cudaError_t cudaMallocAsync(void** place, std::size_t bytes, cudaStream_t stream);
cudaError_t cudaFreeAsync(void* place, cudaStream_t stream);
cudaError_t cudaHostAlloc(void** place, std::size_t bytes, unsigned flags);
cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags);
cudaError_t cudaFreeHost(void* place);
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream);
cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, std::size_t bytes,
                                cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* place, int value, std::size_t bytes, cudaStream_t stream);
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel, cudaFuncAttribute, int) {
  return cudaSuccess;
}

namespace emulation {

/// Queues the work of a kernel or copy with that name; runs when the stream reaches it, with the devices'
/// memory accessible.
void enqueue(Stream* stream, const char* name, std::function<void()> work);

struct Launch {
  const char* name;
  unsigned blocks, threads;
  std::size_t shared_bytes;
  bool cooperates;
};
/// `all_threads` calls the kernel for every thread of a block, `one_thread` for the thread that threadIdx
/// names.
void launch(const Launch& launch, Stream* stream, std::function<void()> all_threads,
            std::function<void()> one_thread);

/// Device memory that was not freed and library handles that were not destroyed, a line each; empty if there
/// are none. The engine's streams and their handles live as long as the process. If
/// TAPEDECK_EMULATED_GPU_LEAKS is set, a process with leaks fails at exit.
std::string leaks();
/// "2 streams, 5 events, …": the objects that the program has created and not destroyed.
std::string kept();

}  // namespace emulation
