// A page of tensors: the TensorTable's data of one block, with names and small values.
#pragma once

#include <functional>
#include <unordered_set>

#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/numbering.h"
#include "engine/record/values/values.h"

namespace tapedeck::trace_file {

/// The part of the table that belongs to a file.
struct TensorCut {
  std::uint64_t newest_tensor = 0;
  std::uint32_t newest_record = 0;
  std::unordered_set<std::uint64_t> stored;  ///< those whose values are in value_parts
};

/// Leaves the page empty if the file needs none of the block's tensors.
void write_tensors(const TensorTable& table, const Values& values, std::uint64_t block, const TensorCut& cut,
                   FileNumbers& numbers, PageWriter& page);

struct StoredTensor {
  std::uint64_t id = 0;
  TensorOrigin origin;     ///< small values are not distinguished
  std::uint32_t name = 0;  ///< of this process; 0: none
  bool has_small = false;  ///< its value is in `small`
  std::string_view small;  ///< in the page's bytes
  TensorTable::Life life;
};

/// Reads the tensors of a block. Throws DamagedPage for one that no engine could have written.
void read_tensors(PageReader& page, std::uint64_t block, const TensorCut& cut, const ProcessNumbers& numbers,
                  const std::function<void(const StoredTensor&)>& take);

// ---- values, which may be large

/// The bytes of a value, in parts: numbers as in memory, row-major; for strings the lengths and then the
/// bytes. Each part is valid only during the call.
void write_value(const Tensor& value, const std::function<void(std::span<const std::uint8_t>)>& put);

/// The size of a value of that spec; for strings the minimum.
std::uint64_t value_bytes(const RecordedSpec& spec);
/// Reads what write_value wrote, `total` bytes; `next` returns the parts, an empty one at the end. Throws
/// DamagedPage if they are not a value of that spec, and ResourceExhaustedError.
Tensor read_value(const RecordedSpec& spec, std::uint64_t total,
                  const std::function<std::span<const std::uint8_t>()>& next);

}  // namespace tapedeck::trace_file
