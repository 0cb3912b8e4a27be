// When a stream did what: spans of its work between two events, whose times are asked for when the device is
// done with them.
//
// Events know nothing of the host's time. A reference, an event that was recorded while the stream had
// nothing to do, happened when the host recorded it; the spans' begins are counted from there.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "engine/cuda/runtime.h"
#include "engine/tensor/device_memory.h"

namespace tapedeck::cuda {

/// Of one stream, whose thread calls all but collect(). Nothing here waits for the device.
class Spans {
 public:
  /// Whatever the stream is given until end() of the same tag. False: too many are under way.
  bool begin(Stream& stream, std::uint64_t tag, std::int64_t (*clock)());
  void end(Stream& stream, std::uint64_t tag);
  /// The stream has just been waited for.
  void note_idle(Stream& stream);
  /// By any thread: those that have got their times since.
  void collect(const std::function<void(const DeviceSpan&)>& take);

 private:
  /// Under way at once: from `many` on it is asked which are done.
  static constexpr std::size_t many = 4096, most = 16 * many;

  struct Span {
    std::uint64_t tag = 0;
    std::int64_t called_ns = 0;  ///< when the host began it
    std::uint64_t place = 0;
    cudaEvent_t begin = nullptr, end = nullptr;  ///< no end: the thread is still at it
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
