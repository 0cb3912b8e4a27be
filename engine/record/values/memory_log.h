// What records do not say of memory: when values came that no op made, which variable had which value, when
// tapes let go, and how much the recorder alone held. Plain rows, in the order of time.
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
  arrived,        ///< subject: a storage's root that no op made
  assigned,       ///< subject: a tensor, now the value of variable `object`
  variable_gone,  ///< subject: a variable
  taped,          ///< subject: a record; `object`: a tape that keeps it beside the record's own
  tape_used_up,   ///< subject: a tape; its playback drops each op when it has been played
  tape_emptied,   ///< subject: a tape that let all go
  cell_ended
};

struct MemoryEvent {
  std::uint64_t subject = 0, object = 0;
  std::uint32_t after = 0;  ///< the newest record then
  MemoryEventKind kind = MemoryEventKind::arrived;
};

/// What the recorder alone held.
struct RecorderSample {
  std::uint32_t record = 0;
  std::uint64_t bytes = 0;
};

/// Any thread may call.
class MemoryLog {
 public:
  void add(const MemoryEvent& event);
  /// Events from `position` on, at most `limit`; `position` is moved behind them. Those before `first()` are
  /// forgotten, but for the ones that are still of use: position 0 gives these first.
  std::vector<MemoryEvent> read(std::uint64_t& position, std::size_t limit = 65536) const;
  std::uint64_t first() const;
  /// What happened before that record goes, but for what is said of tensors that the table knows.
  void forget(std::uint32_t oldest_record, const TensorTable& table);

  /// Bytes of a root's storage, where they are not those of the tensor.
  void set_size(std::uint64_t root, std::uint64_t bytes, bool borrowed);
  struct Size {
    std::uint64_t bytes = 0;
    bool borrowed = false;
  };
  /// All that are known, by root.
  std::vector<std::pair<std::uint64_t, Size>> sizes() const;
  /// The tensor's own size where nothing else is known.
  Size size(std::uint64_t root, std::uint64_t tensor_bytes) const;

  /// Whether it is time for the next sample.
  bool wants_sample(std::uint32_t record) const {
    return record >= next_sample_.load(std::memory_order_relaxed);
  }
  /// At most 4096 are kept, evenly spaced.
  void add_sample(const RecorderSample& sample);
  std::vector<RecorderSample> samples() const;

  std::uint64_t bytes() const;

 private:
  static constexpr std::size_t most_samples = 4096;
  mutable std::mutex mutex_;
  std::deque<MemoryEvent> events_;
  std::vector<MemoryEvent> old_;  ///< from before first_, still of use
  std::uint64_t first_ = 0;       ///< position of events_.front()
  std::unordered_map<std::uint64_t, Size> sizes_;
  std::atomic<std::size_t> size_count_{0};
  std::vector<RecorderSample> samples_;
  std::uint32_t spacing_ = 16;
  std::atomic<std::uint32_t> next_sample_{0};
};

}  // namespace tapedeck
