// The library's one function.
#include <cstdlib>
#include <string>
#include <vector>

#include "engine/cuda/kernels.h"
#include "engine/cuda/memory.h"

namespace tapedeck::cuda {
namespace {

constexpr int least_major = 8;  ///< compute capability that the kernels are compiled for

std::vector<GpuMemory*>& memories() {
  static auto* const instance = new std::vector<GpuMemory*>;
  return *instance;
}

/// "12.4" of 12040.
std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string why_none(cudaError_t error) {
  if (error == cudaErrorInsufficientDriver) {
    int driver = 0, runtime = 0;
    check(cudaDriverGetVersion(&driver), "the driver's version");
    check(cudaRuntimeGetVersion(&runtime), "the runtime's version");
    if (driver == 0) return "this machine's CUDA driver (libcuda.so.1) does not work";
    return "this machine's CUDA driver is too old: it knows CUDA " + version_text(driver) +
           ", and the kernels need CUDA " + version_text(runtime);
  }
  if (error == cudaErrorNoDevice) {
    const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
    if (!visible) return "this machine has a CUDA driver, but no GPU";
    return "CUDA_VISIBLE_DEVICES=" + std::string(visible) + " names no GPU of this machine";
  }
  return std::string("CUDA finds no GPU: ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
         ")";
}

/// Or why there is none.
std::string add_gpus(const GpuHost& given) {
  set_host(given);
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) {
    cudaGetLastError();
    return why_none(error);
  }
  std::vector<int> usable;
  std::string why = why_none(cudaErrorNoDevice);
  for (int device = 0; device < count && usable.size() < detail::most_gpus; ++device) {
    cudaDeviceProp properties;
    check(cudaGetDeviceProperties(&properties, device), "the properties of a device");
    if (properties.major >= least_major)
      usable.push_back(device);
    else
      why = std::string(properties.name) + " has compute capability " + std::to_string(properties.major) +
            "." + std::to_string(properties.minor) + "; the kernels need " + std::to_string(least_major) +
            ".0";
  }
  if (usable.empty()) return why;
  set_devices(usable);
  for (int device = 0; device < static_cast<int>(usable.size()); ++device) {
    memories().push_back(new GpuMemory(device));
    given.add(*memories().back(), kernel_table);
  }
  return {};
}

}  // namespace

GpuMemory& memory_of(int device) {
  return *memories()[static_cast<std::size_t>(device)];
}

GpuMemory* find_memory(int device) {
  const std::vector<GpuMemory*>& known = memories();
  return static_cast<std::size_t>(device) < known.size() ? known[static_cast<std::size_t>(device)] : nullptr;
}

}  // namespace tapedeck::cuda

extern "C" [[gnu::visibility("default")]] const char* tapedeck_add_gpus(const tapedeck::GpuHost& host) {
  static auto* const why = new std::string;
  try {
    *why = tapedeck::cuda::add_gpus(host);
  } catch (const std::exception& error) {
    *why = error.what();
  }
  return why->c_str();
}
