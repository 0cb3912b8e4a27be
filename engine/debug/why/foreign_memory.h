// Which tensors of PyTorch's records are one memory, and what wrote into it: from the schemas of their ops,
// which say what is a view and what is written.
#pragma once

#include <unordered_map>
#include <vector>

#include "engine/debug/why/past.h"
#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {

/// An op that wrote into a tensor that it was given.
struct ForeignWrite {
  std::uint32_t record = 0;
  std::uint64_t before = 0, after = 0;  ///< the tensor that it was given, and the same memory afterwards
};

/// Of a record of PyTorch's op; nullptr for another one.
const ForeignOp* foreign_op_of(const RecordView& record);
/// One argument of the schema for each input of a record; empty where they do not fit together, as in a
/// damaged trace file.
std::vector<const ForeignValue*> arguments_of(const ForeignOp& op, const Attributes& attributes,
                                              std::size_t inputs);
/// What the op wrote, by its record.
std::vector<ForeignWrite> writes_of(const ForeignOp& op, const RecordGlance& glance);

/// All kept records up to one of them, read once.
class SharedMemory {
 public:
  /// Throws Cancelled.
  SharedMemory(Past& past, std::uint32_t newest);

  /// The same for all tensors that shared the memory at any time. A tensor that no record relates to another
  /// one is alone.
  std::uint64_t memory_of(std::uint64_t tensor) const;
  /// Writes into the memory of that tensor, in order.
  std::vector<ForeignWrite> writes_into(std::uint64_t tensor) const;
  const std::vector<ForeignWrite>& writes() const { return writes_; }
  /// Of a tensor that no record made: the record behind whose write it was first seen; 0: none.
  std::uint32_t writer_of(std::uint64_t tensor) const;
  /// The newest tensor of the same memory, shape and dtype that is older than this one; 0: none is known.
  std::uint64_t older_value(std::uint64_t tensor) const;

 private:
  void read(const RecordGlance& glance);
  void join(std::uint64_t a, std::uint64_t b);

  Past& past_;
  mutable std::unordered_map<std::uint64_t, std::uint64_t> parents_;
  std::unordered_map<std::uint64_t, std::uint32_t> writers_;
  std::unordered_map<std::uint32_t, std::size_t> write_of_record_;
  std::vector<ForeignWrite> writes_;
};

}  // namespace tapedeck::debug
