// The values that the recorder holds, within a budget: leaves (they cannot be had again), a window of the
// latest results, and what the user pinned.
//
// Held storage cannot be reused by the ops that follow, so the window is short. When leaves alone pass the
// budget, the oldest go; their statistics stay.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/record/small_values.h"
#include "engine/record/summary.h"
#include "engine/record/tensor_table.h"

namespace tapedeck {

struct KeepingOptions {
  std::uint64_t budget_bytes = std::uint64_t{2} << 30;
  /// Of the window of results that are not small. The newest result is held even where it alone is larger. A
  /// window that outgrows the processor's cache makes every op write to cold memory: with 8 MB an op on 64 kB
  /// takes 1.5 times its time without values, with 64 MB 4 times (AMD Zen 5, 32 MB of L3).
  std::uint64_t window_bytes = std::uint64_t{8} << 20;
  /// While somebody steps, what the last steps made is looked at, and speed is no matter.
  std::uint64_t stepping_window_bytes = std::uint64_t{256} << 20;
  std::size_t window_count = 1024;
  /// Hold every result within the budget, however old.
  bool keep_everything = false;
};

/// All functions may be called from any thread. Held bytes count each value's whole storage, also where
/// several values share it.
class Values {
 public:
  Values(KeepingOptions options, TensorTable& table)
      : options_(options), keep_everything_(options.keep_everything), table_(table) {}

  /// Keeps a value that no op made, and enters it in the table. `name`: a number from intern_name, or 0.
  void add_leaf(const Tensor& tensor, std::uint32_t name);
  /// After the table knows who made it. `stepping`: the gate is not simply open.
  void add_result(const Tensor& tensor, bool stepping = false);

  /// The value, where it is held; else undefined.
  Tensor held(std::uint64_t id) const;
  /// What is left of a leaf that had to go.
  std::optional<Summary> statistics_of_dropped(std::uint64_t id) const;
  std::uint32_t name(std::uint64_t id) const;  ///< 0: none

  /// False where the budget has no room for it.
  bool pin(std::uint64_t id, const Tensor& value);
  void unpin(std::uint64_t id);

  /// Lets every held value go, small copies apart.
  void clear();
  void set_budget(std::uint64_t bytes);
  void set_keep_everything(bool on);
  KeepingOptions options() const;
  std::uint64_t held_bytes() const;
  std::uint64_t leaves_dropped() const;

 private:
  struct Held {
    std::uint64_t id = 0;
    Tensor value;
  };
  using Evicted = std::vector<Tensor>;
  void enforce(Evicted& evicted);
  std::uint64_t window_limit() const {
    return stepping_ ? std::max(options_.window_bytes, options_.stepping_window_bytes)
                     : options_.window_bytes;
  }
  void drop_oldest_leaf(Evicted& evicted);
  void shrink(std::deque<Held>& queue, Evicted& evicted);
  void subtract(const Tensor& tensor) { bytes_ -= tensor.storage()->size(); }

  mutable std::mutex mutex_;
  KeepingOptions options_;
  bool stepping_ = false;
  std::atomic<bool> keep_everything_;  ///< as in the options, read without the lock
  TensorTable& table_;
  RecentSmallValues recent_;
  SmallLeaves small_leaves_;
  std::uint64_t bytes_ = 0, window_bytes_ = 0, leaves_dropped_ = 0;
  std::deque<Held> window_;
  std::deque<Held> everything_;
  std::unordered_map<std::uint64_t, Tensor> everything_index_;
  std::unordered_map<std::uint64_t, Tensor> leaves_;
  std::deque<std::uint64_t> leaf_order_;
  std::unordered_map<std::uint64_t, Tensor> pinned_;
  std::unordered_map<std::uint64_t, std::uint32_t> names_;
  std::unordered_map<std::uint64_t, Summary> dropped_;
  std::deque<std::uint64_t> dropped_order_;
};

}  // namespace tapedeck
