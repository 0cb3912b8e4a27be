// Which records belong to which tape. Built when somebody asks, so that ops pay nothing for it.
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
  /// Newest `limit` (at most 10,000) records of the tape up to `last`; `last` 0: up to the newest. Throws
  /// Cancelled.
  protocol::TapeRecords read(const protocol::GetTape& request, const CancelFlag* cancel = nullptr);

 private:
  void catch_up(const CancelFlag* cancel);
  void add(const RecordView& view);

  const Recorder& recorder_;
  std::mutex mutex_;
  std::uint32_t next_ = 1;  ///< the first record that is not in the index
  std::unordered_map<std::uint64_t, std::vector<std::uint32_t>> tapes_;
};

}  // namespace tapedeck::debug
