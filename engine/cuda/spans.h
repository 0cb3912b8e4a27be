// Timing of a stream's work: spans between two events, whose times are queried when the device has finished
// them.
//
// Events have no host time. A reference event, recorded while the stream was idle, happened when the host
// recorded it; begins of spans are measured from it.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/tensor/device_memory.h"

namespace tapedeck::cuda {

/// The spans of one stream, whose thread calls everything except collect(). Never waits for the device.
class Spans {
 public:
  /// Begins a span, which lasts until end() with the same tag. False: too many are open.
  bool begin(Stream& stream, std::uint64_t tag, std::int64_t (*clock)());
  void end(Stream& stream, std::uint64_t tag);
  /// The thread has just waited for the stream.
  void note_idle(Stream& stream);
  /// From any thread: delivers the spans whose times became known.
  void collect(const std::function<void(const DeviceSpan&)>& take);

 private:
  /// Limits of open spans: from `many` on it checks which are done.
  static constexpr std::size_t many = 4096, most = 16 * many;

  struct Span {
    std::uint64_t tag = 0;
    std::int64_t called_ns = 0;  ///< when the host began it
    std::uint64_t place = 0;
    cudaEvent_t begin = nullptr, end = nullptr;  ///< no end: the span is still open
    bool failed = false;
  };
  struct Reference {
    cudaEvent_t event = nullptr;
    std::int64_t ns = 0;
    std::uint64_t place = 0;
  };

  cudaEvent_t take_event();
  void adopt(cudaEvent_t event, std::int64_t ns, std::uint64_t place);
  void refer_to_now(Stream& stream);
  void settle();
  bool failed_for_good(cudaError_t error);
  bool times_of(Span& span, DeviceSpan& found);

  std::mutex mutex_;  ///< guards all
  int device_ = -1;
  std::int64_t (*clock_)() = nullptr;
  std::uint64_t places_ = 0;
  std::vector<cudaEvent_t> free_;
  std::deque<Span> spans_;  ///< in the order of their begins
  std::vector<DeviceSpan> done_;
  Reference reference_;
};

}  // namespace tapedeck::cuda
