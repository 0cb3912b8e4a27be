// All records of a session: about a hundred bytes each, in chunks, numbered in the order in which they began.
//
// The thread that runs an op writes its record without a lock; any thread may read one that is published.
#pragma once

#include <algorithm>
#include <atomic>
#include <boost/container/small_vector.hpp>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <span>
#include <string>
#include <thread>
#include <unordered_map>

#include "engine/ops/core/observer.h"
#include "engine/protocol/messages.h"
#include "engine/record/trace/tensor_table.h"

namespace tapedeck {

using protocol::RecordState;
using TensorIds = boost::container::small_vector<std::uint64_t, 8>;

/// The begin of a record, filled by the thread that runs it and never changed after it is published.
struct RecordHead {
  const OpDef* op = nullptr;  ///< op, vjp of an op
  std::uint32_t label = 0;    ///< see set_label(): a chunk has no room for two numbers
  EventKind kind = EventKind::op;
  bool custom_gradient = false;
  bool backward = false;
  std::uint16_t depth = 0;
  std::uint16_t thread = 0;
  std::uint32_t parent = 0;
  std::uint32_t forward = 0;
  std::uint32_t tape = 0;
  std::uint32_t scope = 0;
  std::uint32_t location = 0;
  std::int64_t start = 0;  ///< ticks (clock.h) since the recorder began
  Attributes attributes;

  /// To be called when `op` is set. `name`: from intern_name, ignored if there is an op. `call`: as the
  /// program wrote it, from intern_call.
  void set_label(std::uint32_t name, std::uint32_t call);
  std::uint32_t name() const;  ///< number of the name; 0 if there is an op
  std::uint32_t call() const;  ///< 0: not known
};

using protocol::WorkTime;

/// When a GPU did a record's work. The record itself has the time of the host's call.
struct DeviceTime {
  WorkTime state = WorkTime::host;  ///< host: no GPU did
  std::uint8_t gpu = 0;
  std::int64_t start = 0, duration = 0;  ///< ticks, if known
};

/// A copy of a record, for readers.
struct RecordView {
  std::uint32_t number = 0;
  RecordHead head;
  RecordState state = RecordState::pending;
  std::int64_t start_ns = 0, call_ns = 0;  ///< of the host's call
  DeviceTime device;
  std::int64_t work_start_ns = 0, duration_ns = 0;  ///< of the work, the host's or a GPU's; 0 until known
  TensorIds inputs, outputs;
  TensorSpecs pending_outputs;       ///< at the gate: the expected outputs
  std::vector<bool> pending_wanted;  ///< a VJP at the gate: which inputs' gradients are wanted
  std::string error;
  std::string name() const;  ///< the op's, or the function's
};

/// A view of a record for fast scans, valid only during the callback.
struct RecordGlance {
  std::uint32_t number = 0;
  const RecordHead& head;
  RecordState state = RecordState::pending;
  std::int64_t duration = 0;  ///< of the host's call, ticks; 0 until it ended
  DeviceTime device;
  std::span<const std::uint64_t> inputs, outputs;
};

/// The extent of a trace that is read from a file.
struct TraceExtent {
  std::uint32_t oldest = 1, newest = 0;
  std::uint32_t finished = 0;  ///< the newest that has finished
  std::uint64_t ended = 0;     ///< number of finished records
  std::uint64_t oldest_tensor = 0;
};

class Trace {
 public:
  /// Keeps the newest `limit` records (rounded up to whole chunks), fewer if they and the data about their
  /// tensors take more than `most_bytes`; older ones are forgotten. `first`: number of the first one.
  explicit Trace(std::uint64_t limit, std::uint64_t most_bytes = UINT64_MAX, std::uint32_t first = 1);
  ~Trace();
  Trace(const Trace&) = delete;
  /// From now on the records come from a file: pages are read on demand, with bounded memory. To be called
  /// before the trace is shared; nothing may be recorded in it afterwards; the source must outlive it.
  void read_from(TraceSource& source, const TraceExtent& extent);

  // ---- called by the thread that runs the op
  /// The largest number that a record can have; begin returns a larger one, and records nothing, when all are
  /// used up.
  static constexpr std::uint32_t newest_possible = (1u << 31) - 1;
  /// A new record, published in `state`.
  std::uint32_t begin(RecordHead&& head, std::span<const Tensor> inputs, RecordState state);
  void set_state(std::uint32_t number, RecordState state);
  void set_pending_outputs(std::uint32_t number, std::span<const TensorSpec> specs);
  void set_pending_wanted(std::uint32_t number, std::span<const bool> wanted);
  /// `error`: nullptr, or the message. `now` and `waited`: ticks; the duration excludes time at the gate.
  void end(std::uint32_t number, std::span<const Tensor> outputs, const char* error, std::int64_t now,
           std::int64_t waited);

  /// A GPU has started on the record's work.
  void begin_device_work(std::uint32_t number, std::uint8_t gpu);

  // ---- called by any thread
  /// Sets the times that a GPU reports later; the record may be forgotten by then.
  void set_device_time(std::uint32_t number, const DeviceTime& time) const;
  /// Number of records whose GPU times are outstanding, and of those with GPU times.
  std::uint64_t device_times_pending() const { return device_pending_.load(std::memory_order_relaxed); }
  std::uint64_t device_times_told() const { return device_told_.load(std::memory_order_relaxed); }
  /// If less than in use, the oldest records are dropped at once.
  void set_most_bytes(std::uint64_t bytes);
  std::uint32_t newest() const {
    return std::min(next_.load(std::memory_order_acquire) - 1, newest_possible);
  }
  std::uint32_t newest_finished() const { return finished_.load(std::memory_order_acquire); }
  std::uint64_t ended() const { return ended_.load(std::memory_order_relaxed); }  ///< done or failed
  std::uint32_t oldest_kept() const { return oldest_.load(std::memory_order_acquire); }
  /// Tensors with smaller ids are older than the oldest kept record.
  std::uint64_t oldest_tensor() const { return oldest_tensor_.load(std::memory_order_acquire); }
  /// Whether all record numbers are used up, so that no record can begin.
  bool full() const { return next_.load(std::memory_order_relaxed) > newest_possible; }
  /// False if there is no such record, or it was forgotten. Waits briefly if it is being written.
  bool read(std::uint32_t number, RecordView& view) const;
  /// Visits the kept records of [first, last] in order, without copying; returns the number after the last
  /// one visited, which is below `last` + 1 if one is being written. For a few thousand at a time, because no
  /// record is forgotten meanwhile.
  std::uint32_t glance(std::uint32_t first, std::uint32_t last,
                       const std::function<void(const RecordGlance&)>& visit) const;
  /// The scope of a record that has ended; 0 if it is not kept.
  std::uint32_t scope_of(std::uint32_t number) const;
  std::uint64_t bytes() const;

  TensorTable& tensors() { return tensors_; }
  const TensorTable& tensors() const { return tensors_; }

  /// Records per page of a trace file; pages start at its multiples.
  static constexpr std::uint32_t page_size = 18432;

 private:
  struct Slot;
  class Chunk;
  Chunk* chunk_of(std::uint32_t number) const;
  Chunk& make_chunk(std::uint32_t number);
  Chunk* hold(std::uint32_t number, std::shared_lock<std::shared_mutex>& lock) const;
  void load(std::uint32_t index) const;
  void drop_loaded() const;
  std::uint32_t glance_held(std::uint32_t first, std::uint32_t last,
                            const std::function<void(const RecordGlance&)>& visit) const;
  void add_extra(Chunk& chunk, std::uint64_t bytes);
  void prepare_chunks();
  void forget_oldest();
  bool passes_limits() const;
  std::shared_lock<std::shared_mutex> hold_if_old(std::uint32_t number) const;

  std::uint64_t limit_;
  std::atomic<std::uint64_t> most_bytes_;
  std::unique_ptr<std::atomic<Chunk*>[]> chunks_;
  std::atomic<std::uint32_t> next_, finished_, oldest_;
  std::atomic<std::uint64_t> oldest_tensor_{0};
  mutable std::atomic<std::uint64_t> chunk_count_{0}, extra_bytes_{0};
  mutable std::atomic<std::uint64_t> device_pending_{0}, device_told_{0};
  std::atomic<std::uint64_t> ended_{0};
  TensorTable tensors_;
  TraceSource* source_ = nullptr;
  mutable std::mutex loading_;                ///< serialises page reads; guards what follows
  mutable std::deque<std::uint32_t> loaded_;  ///< chunks that were read, in that order
  // Fresh memory is slow, so the next chunk is prepared in the background.
  std::mutex spare_mutex_;
  std::condition_variable spare_wanted_;
  std::atomic<Chunk*> spare_{nullptr};
  bool wants_spare_ = false, stopping_ = false;
  std::thread preparer_;
  mutable std::shared_mutex reclaim_;  ///< shared by readers; exclusive to forget a chunk
  mutable std::mutex rare_mutex_;      ///< guards what follows
  std::map<std::uint32_t, std::string> errors_;
  struct Pending {
    TensorSpecs outputs;
    std::vector<bool> wanted;
  };
  std::unordered_map<std::uint32_t, Pending> pending_;
};

/// The protocol's name for it.
protocol::RecordKind record_kind(EventKind kind);

/// Number of a name, and back.
std::uint32_t intern_name(std::string_view name);
std::string name_of(std::uint32_t number);

}  // namespace tapedeck
