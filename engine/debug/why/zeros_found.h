// Zeros of a gradient that were traced to where they were made, and what is said of them.
#pragma once

#include <string>
#include <vector>

#include "engine/debug/why/written_memory.h"

namespace tapedeck::debug {

enum class ZeroKind {
  vjp,        ///< a VJP gives them whatever comes in
  cancelled,  ///< what came into a VJP cancels there
  memory,     ///< a playback filled memory that a view has not
  sum,        ///< contributions that cancel each other
  hook,       ///< a hook of the program made them
  begin,      ///< the playback was given them
};

struct FoundZeros {
  static constexpr std::size_t most_places = 100'000;
  ZeroKind kind = ZeroKind::vjp;
  const RecordView* record = nullptr;  ///< the VJP or the op; nullptr of a hook whose ops are not known
  std::uint64_t tensor = 0;
  std::size_t slot = 0, count = 0;  ///< which gradient of the VJP; how many elements were looked at
  std::uint64_t zeros = 0, swallowed = 0, too_small = 0;
  std::vector<std::int64_t> places = {};  ///< of its zeros; of very many the first
  std::string text = {};                  ///< why, where it is known already

  double share() const { return static_cast<double>(swallowed + too_small) / static_cast<double>(count); }
  void add(std::size_t place) {
    if (places.size() < most_places) places.push_back(static_cast<std::int64_t>(place));
  }
};

/// Used by one thread, while the Past lives.
class ZeroReasons {
 public:
  ZeroReasons(Past& past, WrittenMemory& memory) : past_(past), memory_(memory) {}

  struct Told {
    std::string sentence;  ///< ". It was swallowed in …"
    std::vector<protocol::Reason> reasons;
  };
  /// `alone`: there is no other place at which zeros were made. Throws ValueError and Cancelled.
  Told tell(const FoundZeros& found, bool alone);

 private:
  Past& past_;
  WrittenMemory& memory_;
  std::size_t explained_ = 0;  ///< VJPs that ran again with other operands
};

}  // namespace tapedeck::debug
