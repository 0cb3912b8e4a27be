// The device that has a tensor's storage.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace tapedeck {

enum class DeviceKind : std::uint8_t {
  cpu,
  gpu,
  symbolic  ///< nowhere: of a tensor in a graph that is being traced
};

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

namespace detail {
extern constinit std::atomic<int> gpus;
inline constexpr int most_gpus = 16;
#ifndef __CUDACC__  // which refuses the attribute; only the engine uses the variable
[[gnu::tls_model("initial-exec")]] extern constinit thread_local Device device_of_op;
#endif
}  // namespace detail
/// How many GPUs this build can use on this machine; 0 until load_gpus() (backend/devices.h) has looked.
inline int gpu_count() {
  return detail::gpus.load(std::memory_order_acquire);
}

#ifndef __CUDACC__
/// Where the op that runs on this thread was placed; the CPU where none runs. Forward functions take their
/// memory there.
inline Device op_device() {
  return detail::device_of_op;
}
class OpDeviceScope {
 public:
  explicit OpDeviceScope(Device device) : before_(detail::device_of_op) { detail::device_of_op = device; }
  ~OpDeviceScope() { detail::device_of_op = before_; }
  OpDeviceScope(const OpDeviceScope&) = delete;

 private:
  Device before_;
};
#endif

}  // namespace tapedeck
