// Timing of the recorder's ops on GPUs: requested around the work, reported later.
#include <algorithm>

#include "engine/record/recorder.h"
#include "engine/record/recorder_thread.h"
#include "engine/record/trace/clock.h"
#include "engine/tensor/device_memory.h"

namespace tapedeck {
namespace {

constexpr unsigned serial_shift = 32;

std::int64_t clock_ns() {
  return clock::nanoseconds(clock::ticks());
}

}  // namespace

void Recorder::begin_device_work(Thread& thread, std::uint32_t number, Device device) {
  if (number > Trace::newest_possible) return;
  trace_.begin_device_work(number, device.index);
  if (device_memory(device).begin_span(serial_ << serial_shift | number, clock_ns))
    thread.on_devices.push_back({number, device});
  else
    trace_.set_device_time(number, {.state = WorkTime::lost, .gpu = device.index});
}

void Recorder::end_device_work(Thread& thread, std::uint32_t number) {
  if (thread.on_devices.back().number != number) return;
  device_memory(thread.on_devices.back().device).end_span(serial_ << serial_shift | number);
  thread.on_devices.pop_back();
}

void Recorder::collect_device_times() const {
  if (trace_.device_times_pending() == 0) return;
  for (int gpu = 0; gpu < gpu_count(); ++gpu) {
    const auto index = static_cast<std::uint8_t>(gpu);
    device_memory({DeviceKind::gpu, index}).collect_spans([&](const DeviceSpan& span) {
      if (span.tag >> serial_shift != serial_) return;  // of an earlier recorder
      DeviceTime time{.state = WorkTime::lost, .gpu = index};
      if (span.known) {
        time.state = WorkTime::known;
        time.start = clock::ticks_of(span.begin_ns) - origin_;
        time.duration = clock::ticks_of(span.duration_ns);
      }
      trace_.set_device_time(static_cast<std::uint32_t>(span.tag), time);
    });
  }
}

}  // namespace tapedeck
