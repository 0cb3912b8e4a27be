// Memory over a run: its curve, the storages alive at a moment and their holders, growth, and what
// recomputation would save.
#pragma once

#include <map>
#include <mutex>

#include "engine/debug/memory/memory_index.h"
#include "engine/protocol/messages.h"

namespace tapedeck::debug {

/// Something that grew until a run of a cell ended.
struct PastGrowth {
  protocol::MemoryGrowth growth;
  std::vector<std::size_t> lives;  ///< places in MemoryIndex::lives()
};

/// Thread-safe; calls are serialised. All throw Cancelled.
class MemoryReader {
 public:
  explicit MemoryReader(const Recorder& recorder) : recorder_(recorder), index_(recorder) {}
  /// Throws BadRequest for more than 4000 points.
  protocol::MemoryCurve curve(const protocol::GetMemoryCurve& request, const CancelFlag* cancel = nullptr);
  protocol::MemoryState state(const protocol::GetMemoryState& request, const CancelFlag* cancel = nullptr);
  protocol::RecomputeSavings savings(const protocol::GetRecomputeSavings& request,
                                     const CancelFlag* cancel = nullptr);

 private:
  std::vector<protocol::MemoryGrowth> growth(const CancelFlag* cancel);

  const Recorder& recorder_;
  std::mutex mutex_;
  MemoryIndex index_;
  std::map<std::uint32_t, std::vector<PastGrowth>> past_;  ///< by the last record of a run of a cell
  std::uint32_t past_first_ = 0;                           ///< MemoryIndex::first() of it
};

/// A storage that is there at some moment.
struct AliveStorage {
  StorageLife life;
  std::size_t place = 0;  ///< in MemoryIndex::lives()
  protocol::MemoryHolder holder = protocol::MemoryHolder::program;
  bool borrowed = false;
  std::uint64_t tape = 0;                ///< that keeps it; 0: none
  std::uint32_t node = 0;                ///< for the VJP of that record
  const VariableValue* value = nullptr;  ///< valid until the index goes on
};

/// What was there while `record` ran, or, where that is 0, what is there now; in the order of birth.
std::vector<AliveStorage> alive_at(const MemoryIndex& index, const Recorder& recorder, std::uint32_t record,
                                   const CancelFlag* cancel);

/// What grows with each turn of the program's loop, the largest first.
std::vector<protocol::MemoryGrowth> find_growth(const MemoryIndex& index, const Recorder& recorder,
                                                const CancelFlag* cancel);
/// What had grown when a run of a cell ended with that record: at least a tenth of what there was then.
std::vector<PastGrowth> find_past_growth(const MemoryIndex& index, const Recorder& recorder,
                                         std::uint32_t record, const CancelFlag* cancel);
/// As the curve has it: what grows now, then what grew and went.
void add_past_growth(const MemoryIndex& index, std::map<std::uint32_t, std::vector<PastGrowth>>& past,
                     std::vector<protocol::MemoryGrowth>& growth);

/// "34 MB": decimal, three figures at most.
std::string bytes_text(std::uint64_t bytes);

}  // namespace tapedeck::debug
