// Data about every tensor that a kept record mentions, or that still exists: 28 bytes each, by tensor id.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <vector>

namespace tapedeck {

class TraceSource;

/// Where a tensor's value comes from.
class TensorOrigin {
 public:
  TensorOrigin() = default;
  static TensorOrigin made_by(std::uint32_t record, std::uint32_t spec) { return {record, spec}; }
  static TensorOrigin leaf(std::uint32_t spec) { return {0, spec}; }
  /// A leaf small enough to be copied: `index` in the log of small leaves.
  static TensorOrigin small_leaf(std::uint32_t index, std::uint32_t spec) {
    return {index | small_bit, spec};
  }

  bool known() const { return spec_ != 0; }
  std::uint32_t spec() const { return spec_ & ~flag_bits; }
  /// Its held value was released when a recording ended: if it occurs again, it is a leaf.
  bool lost() const { return (spec_ & lost_bit) != 0; }
  TensorOrigin with_lost() const { return {maker_, spec_ | lost_bit}; }
  /// It has a name, see TensorTable::name.
  bool named() const { return (spec_ & named_bit) != 0; }
  /// Its value is in the file from which the trace is read.
  bool stored() const { return (spec_ & stored_bit) != 0; }
  TensorOrigin with_stored() const { return {maker_, spec_ | stored_bit}; }
  /// A leaf that need not be held longer than others: a variable's value that an op computed.
  bool is_version() const { return (spec_ & version_bit) != 0; }
  TensorOrigin with_version() const { return {maker_, spec_ | version_bit}; }
  /// For a small leaf whose values have moved.
  TensorOrigin at_index(std::uint32_t index) const { return {index | small_bit, spec_}; }
  TensorOrigin with_name() const { return {maker_, spec_ | named_bit}; }
  bool is_small_leaf() const { return (maker_ & small_bit) != 0; }
  std::uint32_t small_leaf_index() const { return maker_ & ~small_bit; }
  bool is_leaf() const { return known() && (maker_ == 0 || is_small_leaf()); }
  /// The record that made it; 0 for a leaf.
  std::uint32_t producer() const { return is_small_leaf() ? 0 : maker_; }

  std::uint64_t pack() const { return std::uint64_t{maker_} << 32 | spec_; }
  static TensorOrigin unpack(std::uint64_t bits) {
    return {static_cast<std::uint32_t>(bits >> 32), static_cast<std::uint32_t>(bits)};
  }

 private:
  TensorOrigin(std::uint32_t maker, std::uint32_t spec) : maker_(maker), spec_(spec) {}
  static constexpr std::uint32_t small_bit = 1u << 31;
  static constexpr std::uint32_t named_bit = 1u << 31, stored_bit = 1u << 30, lost_bit = 1u << 29;
  static constexpr std::uint32_t version_bit = 1u << 28;
  static constexpr std::uint32_t flag_bits = named_bit | stored_bit | lost_bit | version_bit;
  friend class TensorTable;
  std::uint32_t maker_ = 0, spec_ = 0;
};

/// Ids grow with time and are dense, so the table is an array in blocks. Reads and writes need no lock,
/// except writes of tensors so old that their blocks may be freed.
class TensorTable {
 public:
  TensorTable()
      : directory_(
            static_cast<std::atomic<Block*>*>(std::calloc(directory_size, sizeof(std::atomic<Block*>)))) {}
  ~TensorTable() {
    for (std::size_t i = 0; i < used_; ++i) std::free(directory_[i].load());
    for (Block* block : spare_) std::free(block);
    std::free(directory_);
  }
  TensorTable(const TensorTable&) = delete;

  TensorOrigin get(std::uint64_t id) const {
    const Block* block = block_of(id);
    if (!block) return source_ ? get_stored(id) : TensorOrigin{};
    const std::uint64_t bits = block->entries[id % block_size].load(std::memory_order_acquire);
    // A block freed meanwhile may already serve other ids.
    return block_of(id) == block ? TensorOrigin::unpack(bits) : TensorOrigin{};
  }

  void set(std::uint64_t id, TensorOrigin origin) {
    if (id >> block_bits >= directory_size) return;
    if (id < forgotten_below_.load(std::memory_order_relaxed)) [[unlikely]]
      return set_old(id, origin);
    Block* block = block_of(id);
    if (!block) block = add_block(id >> block_bits);
    block->entries[id % block_size].store(origin.pack(), std::memory_order_release);
  }

  /// Nanoseconds to recompute the value from held values, along its longest path; up to a minute. 0: it is
  /// held, or unknown.
  std::uint64_t replay_ns(std::uint64_t id) const {
    const Block* block = block_of(id);
    return block ? std::uint64_t{block->costs[id % block_size].load(std::memory_order_relaxed)} * cost_unit_ns
                 : 0;
  }
  /// After set().
  void set_replay_ns(std::uint64_t id, std::uint64_t nanoseconds) {
    if (Block* block = block_of(id))
      block->costs[id % block_size].store(
          static_cast<std::uint32_t>(std::min<std::uint64_t>(nanoseconds / cost_unit_ns, UINT32_MAX)),
          std::memory_order_relaxed);
  }
  /// A record of that number takes the tensor as an input.
  void set_user(std::uint64_t id, std::uint32_t record) {
    if (Block* block = block_of(id)) block->users[id % block_size].store(record, std::memory_order_relaxed);
  }
  /// A record takes it; no effect if it stays longer anyway, as a pinned one does.
  void note_user(std::uint64_t id, std::uint32_t record) {
    Block* block = block_of(id);
    if (block && block->users[id % block_size].load(std::memory_order_relaxed) < record)
      block->users[id % block_size].store(record, std::memory_order_relaxed);
  }

  /// The number of its name, if its origin is named().
  std::uint32_t name(std::uint64_t id) const {
    const Block* block = block_of(id);
    return block ? block->names[id % block_size].load(std::memory_order_relaxed) : 0;
  }
  /// After set(); it is named() from then on.
  void set_name(std::uint64_t id, std::uint32_t name) {
    Block* block = block_of(id);
    if (!block) return;
    block->names[id % block_size].store(name, std::memory_order_relaxed);
    set(id, get(id).with_name());
  }

  /// Memory is tracked by storage; each is identified by the first tensor noted on it, its root.
  struct Life {
    std::uint64_t root = 0;  ///< the tensor itself, or the one whose storage it shares
    std::uint32_t gone = 0;  ///< of a root: the program released it at this record; 0: it still has it
  };
  Life life(std::uint64_t id) const {
    const Block* block = block_of(id);
    if (!block && source_ && get(id).known()) block = block_of(id);
    if (!block) return {id, 0};
    const auto delta =
        static_cast<std::int32_t>(block->roots[id % block_size].load(std::memory_order_relaxed));
    return {id + static_cast<std::uint64_t>(static_cast<std::int64_t>(delta)),
            block->gone[id % block_size].load(std::memory_order_relaxed)};
  }
  void set_gone(std::uint64_t root, std::uint32_t record) {
    if (Block* block = block_of(root))
      block->gone[root % block_size].store(record, std::memory_order_relaxed);
  }
  /// False if the two ids are too far apart.
  bool set_root(std::uint64_t id, std::uint64_t root) {
    const auto delta = static_cast<std::int64_t>(root - id);
    Block* block = block_of(id);
    if (!block || delta != static_cast<std::int32_t>(delta)) return false;
    block->roots[id % block_size].store(static_cast<std::uint32_t>(static_cast<std::int32_t>(delta)),
                                        std::memory_order_relaxed);
    return true;
  }

  /// Calls `visit(id)` for the known roots with ids below `below` that are not gone.
  template <class Visit>
  void visit_alive(std::uint64_t below, Visit&& visit) const {
    for (std::uint64_t index = 0; index <= below >> block_bits && index < directory_size; ++index) {
      const Block* block = block_to_visit(index);
      for (std::size_t i = 0; block && i < block_size && (index << block_bits) + i < below; ++i)
        if (block->entries[i].load(std::memory_order_relaxed) != 0 &&
            block->roots[i].load(std::memory_order_relaxed) == 0 &&
            block->gone[i].load(std::memory_order_relaxed) == 0)
          visit((index << block_bits) + i);
    }
  }

  /// Forgets tensors with ids below `below` that no record from `oldest_record` on takes and whose memory the
  /// program has released. Processes part of the old ones per call, which takes a fraction of a millisecond.
  void forget(std::uint64_t below, std::uint32_t oldest_record);

  /// Marks all tensors known now as lost().
  void lose();

  /// Looks up unknown tensors there, a block at a time. To be called before the table is shared; the source
  /// must outlive it.
  void read_from(TraceSource* source) { source_ = source; }
  /// The indices of the blocks with known tensors; block i has the `block_size` ids from i × block_size on.
  std::vector<std::uint64_t> used_blocks() const;

  static constexpr int block_bits = 14;
  static constexpr std::uint64_t block_size = std::uint64_t{1} << block_bits;
  /// Tensors with ids from here on are not entered.
  static constexpr std::uint64_t id_limit = std::uint64_t{1} << 38;

  /// Without the blocks whose memory was returned to the system.
  std::uint64_t bytes() const { return blocks_.load(std::memory_order_relaxed) * sizeof(Block); }

 private:
  static constexpr std::size_t directory_size =
      id_limit >> block_bits;  // 128 MB of addresses, touched as needed
  static constexpr std::uint64_t cost_unit_ns = 16;
  static constexpr std::size_t blocks_at_once = 8;
  struct Block {
    std::atomic<std::uint64_t> entries[block_size];
    std::atomic<std::uint32_t> costs[block_size];
    std::atomic<std::uint32_t> users[block_size];  ///< the newest record that takes it
    std::atomic<std::uint32_t> gone[block_size];   ///< see Life
    std::atomic<std::uint32_t> roots[block_size];  ///< the root's id less the tensor's own, signed
    std::atomic<std::uint32_t> names[block_size];
  };

  Block* block_of(std::uint64_t id) const {
    return id >> block_bits < directory_size ? directory_[id >> block_bits].load(std::memory_order_acquire)
                                             : nullptr;
  }
  Block* spare_or_new();  ///< the mutex is held
  void put_aside(Block* block);
  Block* add_block(std::size_t index);
  TensorOrigin get_stored(std::uint64_t id) const;
  const Block* block_to_visit(std::uint64_t index) const;
  void set_old(std::uint64_t id, TensorOrigin origin);
  static bool forget_entries(Block& block, std::uint32_t oldest_record);

  std::atomic<Block*>* directory_;
  TraceSource* source_ = nullptr;
  mutable std::mutex loading_;                ///< one block is read at a time
  mutable std::atomic<std::size_t> used_{0};  ///< number of directory entries that may be set
  mutable std::atomic<std::uint64_t> blocks_{0};
  std::atomic<std::uint64_t> forgotten_below_{0};
  std::mutex old_mutex_;         ///< guards what follows, and all writing of entries below `forgotten_below_`
  std::deque<std::size_t> old_;  ///< indices of blocks that are still partly in use
  /// Never freed while the table lives, because of concurrent readers. All but the first few have no memory,
  /// and read as zeros.
  std::vector<Block*> spare_;
};

}  // namespace tapedeck
