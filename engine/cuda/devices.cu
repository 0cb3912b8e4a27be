// The library's one function.
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

/// Or why there is none.
std::string add_gpus(const GpuHost& given) {
  set_host(given);
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess)
    return std::string("CUDA finds no GPU: ") + cudaGetErrorString(error);
  std::vector<int> usable;
  std::string why = "this machine has no GPU";
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
