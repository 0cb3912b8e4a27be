// The values that the recorder holds, within a budget: leaves (they cannot be had again), a window of the
// latest results, what variables have and now and then what they had (versions), now and then a result behind
// which recomputing would take long (a checkpoint), what was recomputed lately, and what the user pinned.
//
// Held storage cannot be reused by the ops that follow, so the window is short, and a version or a checkpoint
// is taken only where the way to it took much longer than its memory costs. When the budget is full, both are
// thinned out; when leaves alone pass it, the oldest go, and their statistics stay. Those that the program
// has too are spared as long as there are others: nothing would be won by them. What was recomputed for a
// view takes the room that is free, and is no part of the recording.
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
  /// Of the window of results that are not small. The newest result is held even where it alone is larger. A
  /// window that outgrows a core's own cache makes every op write to cold memory: with 8 MB an op on 64 kB
  /// takes 1.5 times its time without values, with 64 MB 4 times (AMD Zen 5, 32 MB of L3); with 2 MB a
  /// ReLU of 256 kB takes 2.5 times, with half of one as long as without (1 MB of L2).
  std::uint64_t window_bytes = std::uint64_t{512} << 10;
  /// While somebody steps, what the last steps made is looked at, and speed is no matter.
  std::uint64_t stepping_window_bytes = std::uint64_t{256} << 20;
  std::size_t window_count = 1024;
  /// A result becomes a checkpoint where recomputing it from what is held takes as long as this, and as many
  /// nanoseconds for each of its bytes; and no sooner after the one before than that one's bytes make it:
  /// fresh memory comes at about 4 GB/s, so that is 2 to 3 percent of the time.
  std::uint64_t checkpoint_ns = 20'000'000;
  std::uint64_t checkpoint_ns_per_byte = 10;
  /// What an op made and a variable was given is held until the variable has its next value. Of all of
  /// those a generation stays so often, and no more often than its bytes make it: memory that the caches do
  /// not have is written at 5 to 10 GB/s, so that is under half a percent of the time. Memory that is fresh
  /// from the system comes at 0.5 to 4 GB/s, so that most of them take the place of an older one.
  Versions::Pace versions = {.interval_ns = 20'000'000,
                             .ns_per_byte = 40,
                             .free_bytes = std::int64_t{64} << 20,
                             .fresh_ns_per_byte = 500};
  /// Of recomputed values: the neighbours of what somebody looks at are looked at next.
  std::uint64_t recomputed_bytes = std::uint64_t{256} << 20;
  /// Hold every result within the budget, however old.
  bool keep_everything = false;
};

/// All functions may be called from any thread. Held bytes count each value's whole storage, also where
/// several results share it; what leaves share counts once.
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

  /// Keeps a value that no op made, and enters it in the table. `name`: a number from intern_name, or 0.
  void add_leaf(const Tensor& tensor, std::uint32_t name);
  /// After add_leaf() of a variable's new value, which is what an op made of `made_of`'s id: it is a version
  /// from now on. `stays`: for longer than until the variable's next one.
  void make_version(const Tensor& tensor, std::uint64_t made_of, std::uint64_t variable, std::int64_t now_ns,
                    bool stays);
  void variable_gone(std::uint64_t variable);
  /// Of versions that are held as the newest of these variables only.
  void let_go(std::span<const std::uint64_t> variables);
  /// After the table knows who made it. `stepping`: the gate is not simply open.
  void add_result(const Tensor& tensor, bool stepping = false);
  /// Whether a result that takes so long to recompute should become a checkpoint. A few nanoseconds.
  bool needs_checkpoint(const Tensor& tensor, std::uint64_t replay_ns) const;
  /// False: it is too soon after the one before.
  bool add_checkpoint(const Tensor& tensor, std::int64_t now_ns);
  /// Keeps a value that was recomputed, as long as there is room.
  void add_recomputed(std::uint64_t id, const Tensor& value);
  void let_recomputed_go();

  /// The value, where it is held; else undefined.
  Tensor held(std::uint64_t id) const;
  /// What is left of a leaf that had to go.
  std::optional<Summary> statistics_of_dropped(std::uint64_t id) const;
  std::uint32_t name(std::uint64_t id) const;  ///< 0: none

  /// False where the budget has no room for it.
  bool pin(std::uint64_t id, const Tensor& value);
  /// `newest_record`: until that one is forgotten, the table knows the tensor.
  void unpin(std::uint64_t id, std::uint32_t newest_record);

  /// After the table forgot tensors with ids below `below`: their names and small copies go, too.
  void forget(std::uint64_t below);
  /// Lets every held value go, small copies apart.
  void clear();
  void set_budget(std::uint64_t bytes);
  /// What records and all that belongs to them take; beyond 64 MB it leaves the values less of the budget,
  /// half of it at least.
  void set_bookkeeping(std::uint64_t bytes) { bookkeeping_.store(bytes, std::memory_order_relaxed); }
  void set_keep_everything(bool on);
  KeepingOptions options() const;
  std::uint64_t held_bytes() const;        ///< without those that were recomputed
  std::uint64_t recomputed_bytes() const;  ///< of values that were recomputed, beside the ones held
  /// Of copies of small values, names and statistics of what went; no part of the budget.
  std::uint64_t small_bytes() const;
  std::size_t checkpoint_count() const;
  std::uint64_t leaves_dropped() const;
  /// How often leaves went that cannot be had again.
  std::uint64_t lost() const;
  /// How often something went that others may have been computed from.
  std::uint64_t changes() const;
  /// Ids of what is held until changes() is another number: not the window, nor the newest of a variable.
  std::vector<std::uint64_t> lasting_ids() const;
  /// Of variables' values that are held: what follows from these is quickly had.
  std::vector<std::uint64_t> version_ids() const;

  // ---- for trace files
  /// Ids of what is held, without copies of small values and without what was recomputed. Each once.
  std::vector<std::uint64_t> held_ids() const;
  /// The copy of a small value, where there is one.
  Tensor small_value(std::uint64_t id) const;
  std::vector<std::pair<std::uint64_t, Summary>> dropped() const;
  /// Values whose origins are stored() are read from there. Before anybody else uses the values.
  void read_from(TraceSource* source) { source_ = source; }
  /// Keeps a copy of a small value that was read from a file; returns its origin in this process. `origin`: a
  /// leaf, or what an op made.
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
  std::uint64_t room() const;  ///< the budget without what bookkeeping takes of it
  void drop_oldest_leaf(Evicted& evicted);
  void remember_dropped(std::uint64_t id, const KeptValue& leaf);
  void shrink(std::deque<Held>& queue, Evicted& evicted);
  void thin_checkpoints(Evicted& evicted);
  void drop_recomputed(Evicted& evicted);
  /// Several leaves may be views of one storage, which counts once.
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
  std::atomic<bool> keep_everything_;  ///< as in the options, read without the lock
  std::atomic<std::uint64_t> bookkeeping_{0};
  const std::uint64_t checkpoint_ns_, checkpoint_ns_per_byte_;
  TensorTable& table_;
  RecentSmallValues recent_;
  SmallLeaves small_leaves_;
  Versions versions_;
  std::uint64_t bytes_ = 0, window_bytes_ = 0, leaves_dropped_ = 0, cleared_ = 0, changes_ = 0;
  std::uint64_t checkpoint_bytes_ = 0, recomputed_bytes_ = 0;
  /// Doubles whenever checkpoints are thinned out, so that new ones come as rarely as old ones stand.
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
