// Memory that PyTorch's programs allocate without writing it: what lies there is no value of the program, and
// is another one in each run.
#pragma once

#include <unordered_map>

#include "engine/ops/core/foreign.h"
#include "engine/record/cancel.h"
#include "engine/record/trace/trace.h"

namespace tapedeck::debug {

/// Whether the op's results are memory with whatever lay there: empty(), new_empty(), empty_like().
bool is_uninitialised(const OpDef& op);
/// Whether the op writes all of the tensor that it is given as that argument, and reads nothing of it:
/// copy_(), fill_(), uniform_(), an "out" that is given by name.
bool overwrites(const ForeignOp& op, const ForeignValue& argument);
/// Of a record's inputs those that it overwrites, by place.
std::vector<bool> overwritten_inputs(const RecordHead& head, std::size_t inputs);

/// What of a tensor's memory was written when it was first seen.
enum class Contents : std::uint8_t { written, in_part, never };

/// An op that read memory which was not written, or not all of it.
struct UninitialisedRead {
  Contents contents = Contents::never;
  std::uint32_t made = 0;  ///< the record that allocated it
};

/// Of tensors of a stretch of records. Writes into parts of a memory are added up: parts that overlap count
/// twice.
class Uninitialised {
 public:
  Contents contents(std::uint64_t tensor) const;
  const UninitialisedRead* read_by(std::uint32_t record) const;

 private:
  friend class UninitialisedReader;
  std::unordered_map<std::uint64_t, Contents> tensors_;
  std::unordered_map<std::uint32_t, UninitialisedRead> reads_;
};

/// Of the records `first` to `last`. Throws Cancelled.
Uninitialised uninitialised_of(const Trace& trace, std::uint32_t first, std::uint32_t last,
                               const CancelFlag* cancel);

}  // namespace tapedeck::debug
