// The values that the recorder holds, within a budget: leaves (they cannot be recomputed), a window of the
// latest results, current and some earlier values of variables (versions), some results that would take long
// to recompute (checkpoints), recently recomputed values, and values that the user pinned.
//
// Held storage cannot be reused by the ops that follow, so the window is short, and a version or checkpoint
// is kept only if recomputing it takes much longer than its memory costs. When the budget is full, both are
// thinned out; when leaves alone exceed it, the oldest are dropped, and only their statistics stay. Leaves
// that the program also holds are dropped last, because that frees nothing. Values recomputed for a view take
// the free room, and are not part of the recording.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "engine/record/trace/tensor_table.h"
#include "engine/record/values/kept_value.h"
#include "engine/record/values/small_values.h"
#include "engine/record/values/summary.h"
#include "engine/record/values/versions.h"

namespace tapedeck {

struct KeepingOptions {
  std::uint64_t budget_bytes = 2'000'000'000;
  /// The size of the window of results that are not small. The newest result is held even if it alone is
  /// larger. A window that outgrows a core's own cache makes every op write to cold memory: with 8 MB an op
  /// on 64 kB takes 1.5 times its time without values, with 64 MB 4 times (AMD Zen 5, 32 MB of L3); with 2 MB
  /// a ReLU of 256 kB takes 2.5 times, with half of one as long as without (1 MB of L2).
  std::uint64_t window_bytes = std::uint64_t{512} << 10;
  /// While the user steps, recent results are viewed, and speed does not matter.
  std::uint64_t stepping_window_bytes = std::uint64_t{256} << 20;
  std::size_t window_count = 1024;
  /// A result becomes a checkpoint if recomputing it from held values takes at least this long plus this many
  /// nanoseconds per byte, and no sooner after the previous one than that one's bytes demand: fresh memory
  /// comes at about 4 GB/s, so checkpoints take 2 to 3 percent of the time.
  std::uint64_t checkpoint_ns = 20'000'000;
  std::uint64_t checkpoint_ns_per_byte = 10;
  /// A variable's computed value is held until its next one. At this interval, stretched in proportion to its
  /// bytes, a generation of all of them stays: uncached memory is written at 5 to 10 GB/s, so generations
  /// take under half a percent of the time. Memory fresh from the system comes at 0.5 to 4 GB/s, so most
  /// generations replace an older one.
  Versions::Pace versions = {.interval_ns = 20'000'000,
                             .ns_per_byte = 40,
                             .free_bytes = std::int64_t{64} << 20,
                             .fresh_ns_per_byte = 500};
  /// Room for recomputed values: the neighbours of a viewed value are usually viewed next.
  std::uint64_t recomputed_bytes = std::uint64_t{256} << 20;
  /// Hold every result within the budget, however old.
  bool keep_everything = false;
};

/// Thread-safe. Held bytes count each value's whole storage, even if several results share it; storage shared
/// by leaves counts once.
class Values {
 public:
  Values(KeepingOptions options, TensorTable& table)
      : options_(options),
        keep_everything_(options.keep_everything),
        checkpoint_ns_(options.checkpoint_ns),
        checkpoint_ns_per_byte_(options.checkpoint_ns_per_byte),
        table_(table),
        small_leaves_(table),
        versions_(options.versions) {}

  /// Keeps a value that no op made, and adds it to the table. `name`: a number from intern_name, or 0.
  void add_leaf(const Tensor& tensor, std::uint32_t name);
  /// After add_leaf() of a variable's new value that an op computed (`made_of`: the id of that result): makes
  /// it a version. `stays`: beyond the variable's next one.
  void make_version(const Tensor& tensor, std::uint64_t made_of, std::uint64_t variable, std::int64_t now_ns,
                    bool stays);
  void variable_gone(std::uint64_t variable);
  /// Releases versions that are held only as the newest of these variables.
  void release_newest(std::span<const std::uint64_t> variables);
  /// To be called after the table knows its producer. `stepping`: the gate is not simply open.
  void add_result(const Tensor& tensor, bool stepping = false);
  /// Whether a result that takes `replay_ns` to recompute should become a checkpoint. Takes a few
  /// nanoseconds.
  bool needs_checkpoint(const Tensor& tensor, std::uint64_t replay_ns) const;
  /// False: too soon after the previous one.
  bool add_checkpoint(const Tensor& tensor, std::int64_t now_ns);
  /// Keeps a recomputed value while there is room.
  void add_recomputed(std::uint64_t id, const Tensor& value);
  void let_recomputed_go();

  /// The value if it is held; else undefined.
  Tensor held(std::uint64_t id) const;
  /// The statistics of a dropped leaf.
  std::optional<Summary> statistics_of_dropped(std::uint64_t id) const;
  std::uint32_t name(std::uint64_t id) const;  ///< 0: none

  /// False if the budget has no room for it.
  bool pin(std::uint64_t id, const Tensor& value);
  /// `newest_record`: the table keeps the tensor until this record is forgotten.
  void unpin(std::uint64_t id, std::uint32_t newest_record);

  /// To be called after the table forgot tensors with ids below `below`: drops their names and small copies,
  /// too.
  void forget(std::uint64_t below);
  /// Releases every held value except small copies.
  void clear();
  void set_budget(std::uint64_t bytes);
  /// Sets the size of records and bookkeeping; beyond 64 MB it reduces the values' share of the budget, down
  /// to half.
  void set_bookkeeping(std::uint64_t bytes) { bookkeeping_.store(bytes, std::memory_order_relaxed); }
  void set_keep_everything(bool on);
  KeepingOptions options() const;
  std::uint64_t held_bytes() const;        ///< without recomputed ones
  std::uint64_t recomputed_bytes() const;  ///< of recomputed values, in addition to held_bytes()
  /// Copies of small values, names, and statistics of dropped leaves; outside the budget.
  std::uint64_t small_bytes() const;
  std::size_t checkpoint_count() const;
  std::uint64_t leaves_dropped() const;
  /// How often leaves that cannot be recomputed were dropped.
  std::uint64_t lost() const;
  /// How often a value from which others may have been recomputed was dropped.
  std::uint64_t changes() const;
  /// Ids of values that are held until changes() changes: neither the window nor the newest of a variable.
  std::vector<std::uint64_t> lasting_ids() const;
  /// Ids of held values of variables, from which others can be recomputed quickly.
  std::vector<std::uint64_t> version_ids() const;

  // ---- for trace files
  /// Ids of held values, without copies of small values and recomputed ones. Each once.
  std::vector<std::uint64_t> held_ids() const;
  /// The copy of a small value, if there is one.
  Tensor small_value(std::uint64_t id) const;
  std::vector<std::pair<std::uint64_t, Summary>> dropped() const;
  /// Reads values whose origins are stored() from there. To be called before the values are shared.
  void read_from(TraceSource* source) { source_ = source; }
  /// Keeps a copy of a small value that was read from a file; returns its origin in this process. `origin`: a
  /// leaf, or an op's result.
  TensorOrigin restore_small(std::uint64_t id, TensorOrigin origin, const void* bytes, std::size_t size);
  void restore_dropped(std::uint64_t id, const Summary& summary);
  void restore_leaves_dropped(std::uint64_t count);

 private:
  struct Held {
    std::uint64_t id = 0;
    KeptValue value;
  };
  using Evicted = std::vector<KeptValue>;
  void enforce(Evicted& evicted);
  std::uint64_t window_limit() const {
    return stepping_ ? std::max(options_.window_bytes, options_.stepping_window_bytes)
                     : options_.window_bytes;
  }
  std::uint64_t room() const;  ///< the budget minus bookkeeping
  void drop_oldest_leaf(Evicted& evicted);
  void remember_dropped(std::uint64_t id, const KeptValue& leaf);
  void shrink(std::deque<Held>& queue, Evicted& evicted);
  void thin_checkpoints(Evicted& evicted);
  void drop_recomputed(Evicted& evicted);
  /// Counts a storage once even if several leaves are views of it.
  void count_leaf(std::uint64_t id, const KeptValue& leaf, bool is_view);
  void uncount_leaf(std::uint64_t id, const KeptValue& leaf);
  std::uint64_t all_bytes() const { return bytes_ + versions_.bytes(); }
  void subtract(const KeptValue& value) { bytes_ -= value.bytes(); }
  /// `value` under `tensor`'s id and spec.
  KeptValue kept(std::uint64_t id, const Tensor& value) const { return {value, table_.get(id).spec()}; }

  TraceSource* source_ = nullptr;
  mutable std::mutex mutex_;
  KeepingOptions options_;
  bool stepping_ = false;
  std::atomic<bool> keep_everything_;  ///< copy of the option, readable without the lock
  std::atomic<std::uint64_t> bookkeeping_{0};
  const std::uint64_t checkpoint_ns_, checkpoint_ns_per_byte_;
  TensorTable& table_;
  RecentSmallValues recent_;
  SmallLeaves small_leaves_;
  Versions versions_;
  std::uint64_t bytes_ = 0, window_bytes_ = 0, leaves_dropped_ = 0, cleared_ = 0, changes_ = 0;
  std::uint64_t checkpoint_bytes_ = 0, recomputed_bytes_ = 0;
  /// Doubles whenever checkpoints are thinned out, so that new ones are spaced like the old ones.
  std::atomic<std::uint64_t> checkpoint_scale_{1};
  std::int64_t next_checkpoint_ns_ = 0;  ///< none before
  std::deque<std::uint64_t> checkpoint_order_, recomputed_order_;
  std::unordered_map<std::uint64_t, KeptValue> checkpoints_, recomputed_;
  std::deque<Held> window_;
  std::deque<Held> everything_;
  std::unordered_map<std::uint64_t, KeptValue> everything_index_;
  std::unordered_map<std::uint64_t, KeptValue> leaves_;
  std::deque<std::uint64_t> leaf_order_;
  std::unordered_set<std::uint64_t> view_leaves_;
  std::unordered_map<const Storage*, std::uint32_t> viewed_;  ///< by how many of them
  std::unordered_map<std::uint64_t, KeptValue> pinned_;
  std::unordered_map<std::uint64_t, Summary> dropped_;
  std::deque<std::uint64_t> dropped_order_;
};

}  // namespace tapedeck
