#include "engine/tensor/device_memory.h"

#include <array>
#include <atomic>

namespace tapedeck {
namespace {

constinit std::array<DeviceMemory*, detail::most_gpus> memories{};

}  // namespace

constinit std::atomic<int> detail::gpus{0};

DeviceMemory& device_memory(Device device) {
  return *memories[device.index];
}

int detail::add_gpu_memory(DeviceMemory& memory) {
  const int gpu = gpus.load(std::memory_order_relaxed);
  memories[static_cast<std::size_t>(gpu)] = &memory;
  gpus.store(gpu + 1, std::memory_order_release);
  return gpu;
}

constinit thread_local Device detail::device_of_op;
constinit thread_local const char* detail::op_on_device = nullptr;

}  // namespace tapedeck
