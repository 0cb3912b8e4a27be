// One of the two that are compared: a stretch of a recording, perhaps in a branch of What if.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/debug/compare/align.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

struct Side {
  Recorder* recorder = nullptr;
  std::shared_ptr<Recorder> owner;    ///< keeps the recorder, where it is a trace file's
  std::uint32_t first = 1, last = 0;  ///< records that are kept
  std::uint64_t forgotten = 0;        ///< older ones of the stretch that are not
  std::uint64_t branch = 0;           ///< 0: what was recorded
  std::string path;                   ///< of a file; empty: the session
  std::string left_out;               ///< a sentence about what the file has besides; empty: nothing
  /// Equal tensor ids mean equal values.
  bool same_values(const Side& other) const { return recorder == other.recorder && branch == other.branch; }
  bool same_records(const Side& other) const {
    return recorder == other.recorder && first == other.first && last == other.last;
  }
};

/// The ops of a side in the order in which they are compared.
struct Sequence {
  std::vector<std::uint32_t> records;  ///< those of one thread together, each thread's in order
  std::vector<OpKey> keys;
  std::uint64_t foreign_ops = 0, own_ops = 0;  ///< of other frameworks, and of the engine
  bool foreign() const { return foreign_ops > own_ops; }
  bool tensors = false;        ///< they are a file's
  std::uint64_t calls = 0;     ///< of graph functions, and their parts: they are not compared themselves
  std::vector<bool> computes;  ///< an op that ended and made something: its values can be compared
};

/// Called with the number of records read so far.
using SideProgress = std::function<void(std::uint64_t done)>;

/// What takes the place of an op's name, scope and nesting where a port is compared with its original: by op,
/// number of inputs, and scope.
using PortPlace = std::function<std::uint64_t(const RecordGlance& record)>;

/// Throws Cancelled. `port`: places and shapes are those of a comparison across frameworks.
Sequence sequence_of(const Side& side, const CancelFlag* cancel, const SideProgress& progress = {},
                     const PortPlace& port = {});

/// A scope without the numbers that Keras gives layers of one kind: "dense_3/kernel" and "dense/kernel" are
/// the same place of two runs.
std::string scope_without_numbers(const std::string& scope);

}  // namespace tapedeck::debug
