// What the recorder wrote last on a thread: for those that note, beside the records, what ran between them.
#pragma once

#include <cstdint>

namespace tapedeck {

struct ThreadRecord {
  std::uint64_t newest = 0;  ///< number of this thread's newest record; 0: none yet
  std::uint16_t thread = 0;  ///< the thread's number in records
};

/// Of this thread; the recorder that observes sets it at each record's begin.
inline ThreadRecord& thread_record() {
  static constinit thread_local ThreadRecord record;
  return record;
}

}  // namespace tapedeck
