// Memory events outside the records: values that no op made, values of variables, releases by tapes, and how
// much only the recorder held. Plain rows in order of time.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/record/trace/tensor_table.h"

namespace tapedeck {

enum class MemoryEventKind : std::uint8_t {
  arrived,        ///< subject: the root of a storage that no op made
  assigned,       ///< subject: a tensor, now the value of variable `object`
  variable_gone,  ///< subject: a variable
  taped,          ///< subject: a record; `object`: a tape that keeps it beside the record's own
  tape_used_up,   ///< subject: a tape; its playback drops each op after playing it
  tape_emptied,   ///< subject: a tape that released everything
  cell_ended
};

struct MemoryEvent {
  std::uint64_t subject = 0, object = 0;
  std::uint32_t after = 0;  ///< the newest record then
  MemoryEventKind kind = MemoryEventKind::arrived;
};

/// What only the recorder held.
struct RecorderSample {
  std::uint32_t record = 0;
  std::uint64_t bytes = 0;
};

/// Thread-safe.
class MemoryLog {
 public:
  void add(const MemoryEvent& event);
  /// At most `limit` events from `position` on; moves `position` past them. Events before `first()` are
  /// forgotten, except those still needed: position 0 returns these first.
  std::vector<MemoryEvent> read(std::uint64_t& position, std::size_t limit = 65536) const;
  std::uint64_t first() const;
  /// Drops events before that record, except those of tensors that the table knows.
  void forget(std::uint32_t oldest_record, const TensorTable& table);

  /// Sets the bytes of a root's storage, if they differ from the tensor's.
  void set_size(std::uint64_t root, std::uint64_t bytes, bool borrowed);
  struct Size {
    std::uint64_t bytes = 0;
    bool borrowed = false;
  };
  /// All known sizes, by root.
  std::vector<std::pair<std::uint64_t, Size>> sizes() const;
  /// The storage's size, if known; else the tensor's own.
  Size size(std::uint64_t root, std::uint64_t tensor_bytes) const;

  /// Whether it is time for the next sample.
  bool wants_sample(std::uint32_t record) const {
    return record >= next_sample_.load(std::memory_order_relaxed);
  }
  /// Keeps at most 4096, evenly spaced.
  void add_sample(const RecorderSample& sample);
  std::vector<RecorderSample> samples() const;

  std::uint64_t bytes() const;

 private:
  static constexpr std::size_t most_samples = 4096;
  mutable std::mutex mutex_;
  std::deque<MemoryEvent> events_;
  std::vector<MemoryEvent> old_;  ///< from before first_, still needed
  std::uint64_t first_ = 0;       ///< position of events_.front()
  std::unordered_map<std::uint64_t, Size> sizes_;
  std::atomic<std::size_t> size_count_{0};
  std::vector<RecorderSample> samples_;
  std::uint32_t spacing_ = 16;
  std::atomic<std::uint32_t> next_sample_{0};
};

}  // namespace tapedeck
