#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/cuda/spans.h"

namespace tapedeck::cuda {
namespace {

/// CUDA tells milliseconds as a float: of longer distances it drops microseconds. Clocks drift apart, too.
constexpr double longest_ms = 10'000;
constexpr std::int64_t fresh_ns = 1'000'000'000;  ///< for so long a reference is good enough

std::int64_t nanoseconds(float milliseconds) {
  return static_cast<std::int64_t>(std::llround(static_cast<double>(milliseconds) * 1e6));
}

}  // namespace

cudaEvent_t Spans::take_event() {
  if (!free_.empty()) {
    cudaEvent_t event = free_.back();
    free_.pop_back();
    return event;
  }
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDefault), "an event");
  return event;
}

void Spans::adopt(cudaEvent_t event, std::int64_t ns, std::uint64_t place) {
  if (reference_.event) free_.push_back(reference_.event);
  reference_ = {event, ns, place};
}

bool Spans::begin(Stream& stream, std::uint64_t tag, std::int64_t (*clock)()) {
  std::lock_guard lock(mutex_);
  if (spans_.size() >= many) settle();
  if (spans_.size() >= most) return false;
  clock_ = clock;
  device_ = stream.device;
  if (!reference_.event) {
    if (cudaStreamQuery(stream.handle) == cudaSuccess)
      refer_to_now(stream);
    else
      cudaGetLastError();
  }
  Span span;
  span.tag = tag;
  span.begin = take_event();
  span.called_ns = clock();
  span.place = ++places_;
  check(cudaEventRecord(span.begin, stream.handle), "an event");
  stream.note_work();
  spans_.push_back(span);
  return true;
}

void Spans::end(Stream& stream, std::uint64_t tag) {
  std::lock_guard lock(mutex_);
  const auto span = std::find_if(spans_.rbegin(), spans_.rend(),
                                 [tag](const Span& one) { return one.tag == tag && !one.end; });
  if (span == spans_.rend()) return;
  span->failed = true;  // until all of it went well
  span->end = take_event();
  check(cudaEventRecord(span->end, stream.handle), "an event");
  stream.note_work();
  span->failed = false;
}

void Spans::refer_to_now(Stream& stream) {
  const std::int64_t now = clock_();
  cudaEvent_t event = take_event();
  check(cudaEventRecord(event, stream.handle), "an event");
  adopt(event, now, ++places_);
}

void Spans::note_idle(Stream& stream) {
  std::lock_guard lock(mutex_);
  if (!clock_ || (reference_.event && clock_() - reference_.ns < fresh_ns)) return;
  refer_to_now(stream);
}

/// "Not ready" is not an error.
bool Spans::failed_for_good(cudaError_t error) {
  if (error == cudaErrorNotReady)
    cudaGetLastError();
  else
    note_error(error, "work on a GPU", device_);
  return error != cudaErrorNotReady;
}

/// False: it is not done yet.
bool Spans::times_of(Span& span, DeviceSpan& found) {
  found.known = false;
  if (span.failed || is_lost()) return true;
  float length = 0, after = 0;
  cudaError_t told = cudaEventQuery(span.end);
  if (told == cudaSuccess) told = cudaEventElapsedTime(&length, span.begin, span.end);
  if (told != cudaSuccess) return failed_for_good(told);
  // There is no reference event yet: the first span cannot have begun before the host queued it.
  if (!reference_.event) adopt(std::exchange(span.begin, nullptr), span.called_ns, span.place);
  if (reference_.place != span.place) {
    const bool later = span.place > reference_.place;
    told = later ? cudaEventElapsedTime(&after, reference_.event, span.begin)
                 : cudaEventElapsedTime(&after, span.begin, reference_.event);
    if (told != cudaSuccess) return failed_for_good(told);  // a reference of just now may not be ready
    if (!later) after = -after;
  }
  found = {span.tag, true, reference_.ns + nanoseconds(after), nanoseconds(length)};
  if (after > longest_ms) adopt(std::exchange(span.begin, nullptr), found.begin_ns, span.place);
  return true;
}

/// Moves those that are done from their events to done_.
void Spans::settle() {
  while (!spans_.empty() && (spans_.front().end || is_lost())) {
    Span& span = spans_.front();
    DeviceSpan found{.tag = span.tag};
    if (!times_of(span, found)) break;
    done_.push_back(found);
    for (cudaEvent_t event : {span.begin, span.end})
      if (event) free_.push_back(event);
    spans_.pop_front();
  }
}

void Spans::collect(const std::function<void(const DeviceSpan&)>& take) {
  std::vector<DeviceSpan> done;
  {
    std::lock_guard lock(mutex_);
    settle();
    done.swap(done_);
  }
  for (const DeviceSpan& span : done) take(span);
}

}  // namespace tapedeck::cuda
