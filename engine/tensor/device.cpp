#include "engine/tensor/device.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>

#include "engine/tensor/error.h"
#include "engine/tensor/foreign_devices.h"

namespace tapedeck {
namespace {

[[noreturn]] void refuse(const std::string& name) {
  fail<InvalidArgumentError>("'", name,
                             "' is not a device; devices are named \"/cpu:0\", \"/gpu:0\", \"/gpu:1\"");
}

bool take_prefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

/// TensorFlow's full names begin with these: "/job:localhost/replica:0/task:0/device:CPU:0".
bool names_a_place_above_devices(std::string_view part) {
  return part.starts_with("job:") || part.starts_with("replica:") || part.starts_with("task:");
}

}  // namespace

std::string to_string(Device device) {
  if (device.kind == DeviceKind::symbolic) return "no device";
  if (is_foreign(device)) return foreign_device_name(device);
  return (device.kind == DeviceKind::cpu ? "/cpu:" : "/gpu:") + std::to_string(device.index);
}

Device device_from_name(const std::string& name) {
  std::string lower = name;
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view rest = lower;
  take_prefix(rest, "/");
  for (auto slash = rest.find('/'); slash != std::string_view::npos; slash = rest.find('/')) {
    if (!names_a_place_above_devices(rest.substr(0, slash))) refuse(name);
    rest.remove_prefix(slash + 1);
  }
  take_prefix(rest, "device:");
  Device device;
  if (take_prefix(rest, "gpu"))
    device.kind = DeviceKind::gpu;
  else if (!take_prefix(rest, "cpu"))
    refuse(name);
  if (rest.empty()) return device;
  if (!take_prefix(rest, ":")) refuse(name);
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), device.index);
  if (error != std::errc{} || end != rest.data() + rest.size()) refuse(name);
  return device;
}

}  // namespace tapedeck
