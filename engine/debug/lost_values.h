// Which records have values that cannot be recomputed, known before a view asks for them.
#pragma once

#include <bitset>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// A set of tensors' ids, which lie close together.
class TensorSet {
 public:
  void insert(std::uint64_t id);
  bool contains(std::uint64_t id) const;
  void clear() { blocks_.clear(); }

 private:
  static constexpr std::size_t block_size = 1 << 14;
  std::unordered_map<std::uint64_t, std::unique_ptr<std::bitset<block_size>>> blocks_;
};

/// Follows the records from the oldest on: an op's result is lost if an input is, unless it is held for
/// longer than the window. Thread-safe; calls are serialised.
class LostValues {
 public:
  explicit LostValues(const Recorder& recorder) : recorder_(recorder) {}
  /// The requested records that have an input or a result which is neither held nor can be recomputed; never
  /// records that were dropped or do not exist yet. Throws BadRequest for more
  /// than 4096, and Cancelled.
  protocol::LostRecords read(const protocol::GetLostRecords& request, const CancelFlag* cancel = nullptr);

 private:
  struct Seen;
  void start_anew(std::uint64_t version);
  void catch_up(const CancelFlag* cancel);
  void pass(const Seen& record);
  bool is_lost(std::uint64_t id);
  bool find_out(std::uint64_t id);
  bool is_held(std::uint64_t id) const;
  std::uint64_t source_of(std::uint64_t id) const;
  bool is_gone(std::uint64_t id, int depth);
  bool is_made_gone(std::uint64_t id, int depth);

  const Recorder& recorder_;
  std::mutex mutex_;
  std::uint64_t version_ = 0;        ///< Recorder::values_lost() of what follows
  std::uint32_t next_ = 1;           ///< the first record that was not passed
  std::vector<std::uint32_t> late_;  ///< those that ran when they were passed
  std::uint64_t newest_ = 0;         ///< tensor when it began; `held_` knows of none that is newer
  TensorSet held_, known_, lost_;
  /// Of one request: whether what is lost is not there just now either.
  std::unordered_map<std::uint64_t, bool> gone_;
};

}  // namespace tapedeck::debug
