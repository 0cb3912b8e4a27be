#include "engine/tensor/foreign_devices.h"

#include <array>
#include <atomic>
#include <mutex>

#include "engine/tensor/error.h"

namespace tapedeck {
namespace {

constexpr int devices_of_a_kind = 16;
constexpr std::array<std::string_view, 4> kinds{"cuda", "xpu", "mps", "hpu"};
constexpr int added_kind = static_cast<int>(kinds.size());

struct AddedKind {
  std::mutex mutex;
  std::string name;
};

AddedKind& added() {
  static auto* one = new AddedKind;
  return *one;
}

constinit std::atomic<ForeignDevices*> memory{nullptr};

}  // namespace

std::optional<Device> foreign_device(std::string_view kind, int number) {
  if (number < 0 || number >= devices_of_a_kind) return std::nullopt;
  int place = 0;
  while (place < added_kind && kinds[static_cast<std::size_t>(place)] != kind) ++place;
  if (place == added_kind) {
    const std::lock_guard lock(added().mutex);
    if (added().name.empty()) added().name = kind;
    if (added().name != kind) return std::nullopt;
  }
  return Device{DeviceKind::gpu,
                static_cast<std::uint8_t>(detail::most_gpus + place * devices_of_a_kind + number)};
}

std::string foreign_device_name(Device device) {
  const int place = (device.index - detail::most_gpus) / devices_of_a_kind;
  const std::string number = ":" + std::to_string((device.index - detail::most_gpus) % devices_of_a_kind);
  if (place < added_kind) return std::string(kinds[static_cast<std::size_t>(place)]) + number;
  const std::lock_guard lock(added().mutex);
  // In a trace of another process the name is not known: as PyTorch calls a kind before it has one.
  return (added().name.empty() ? "privateuseone" : added().name) + number;
}

void set_foreign_devices(ForeignDevices& of_framework) {
  memory.store(&of_framework, std::memory_order_release);
}

ForeignDevices* foreign_devices_or_null() {
  return memory.load(std::memory_order_acquire);
}

ForeignDevices& foreign_devices() {
  ForeignDevices* found = foreign_devices_or_null();
  if (!found) fail<FailedPreconditionError>("the value is on a device of a framework that is not here");
  return *found;
}

}  // namespace tapedeck
