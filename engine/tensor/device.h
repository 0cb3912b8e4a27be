// Where a tensor's storage lives.
#pragma once

#include <cstdint>
#include <string>

namespace tapedeck {

enum class DeviceKind : std::uint8_t { cpu, gpu };

struct Device {
  DeviceKind kind = DeviceKind::cpu;
  std::uint8_t index = 0;
  bool operator==(const Device&) const = default;
};

/// "/cpu:0", "/gpu:1".
std::string to_string(Device device);

/// Reads "/cpu:0", "cpu:0", "CPU:0", "/gpu:1", "/device:GPU:1", "gpu". Throws InvalidArgumentError naming the
/// text.
Device device_from_name(const std::string& name);

/// How many GPUs this build can use on this machine.
int gpu_count();

}  // namespace tapedeck
