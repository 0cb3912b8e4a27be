// Which records belong to which tape. Built on request, so that ops pay nothing for it.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "engine/debug/describe.h"

namespace tapedeck::debug {

/// A record belongs to a tape that recorded it or is played by it; so do the records inside of it, except
/// those of built-in VJPs: sums of gradients, and the user's own ops inside custom gradients.
class TapeIndex {
 public:
  explicit TapeIndex(const Recorder& recorder) : recorder_(recorder) {}
  /// See GetTape; `limit` is at most 10,000, `last` 0: up to the newest. Throws Cancelled.
  protocol::TapeRecords read(const protocol::GetTape& request, const CancelFlag* cancel = nullptr);

 private:
  struct Entry {
    std::uint32_t number = 0;
    /// The op of the tape that it belongs to: itself, the one whose VJP it is, or the one that its parent
    /// belongs to. 0: to none (playbacks, and what they begin with).
    std::uint32_t op = 0;
    bool vjp = false;
  };
  using Entries = std::vector<Entry>;

  void catch_up(const CancelFlag* cancel);
  void add(const RecordView& view);
  static std::uint32_t op_of(const RecordView& view, std::uint64_t tape, const Entries& earlier);
  static std::vector<std::uint32_t> newest(const Entries& all, std::size_t there, std::uint32_t limit,
                                           protocol::TapeRecords& answer);
  static std::vector<std::uint32_t> around(const Entries& all, std::size_t there, std::uint64_t record,
                                           std::uint32_t limit, protocol::TapeRecords& answer);

  const Recorder& recorder_;
  std::mutex mutex_;
  std::uint32_t next_ = 1;  ///< the first record that is not in the index
  std::unordered_map<std::uint64_t, Entries> tapes_;
};

}  // namespace tapedeck::debug
