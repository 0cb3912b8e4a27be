// A page of tensors: what the TensorTable knows of one of its blocks, with names and small values.
#pragma once

#include <functional>
#include <unordered_set>

#include "engine/record/trace_file/bytes.h"
#include "engine/record/trace_file/numbering.h"
#include "engine/record/values/values.h"

namespace tapedeck::trace_file {

/// What of the table belongs to a file.
struct TensorCut {
  std::uint64_t newest_tensor = 0;
  std::uint32_t newest_record = 0;
  std::unordered_set<std::uint64_t> stored;  ///< those whose values are in value_parts
};

/// Nothing where the file needs none of the block's tensors: the page is empty then.
void write_tensors(const TensorTable& table, const Values& values, std::uint64_t block, const TensorCut& cut,
                   FileNumbers& numbers, PageWriter& page);

struct StoredTensor {
  std::uint64_t id = 0;
  TensorOrigin origin;     ///< a small value counts as any other
  std::uint32_t name = 0;  ///< of this process; 0: none
  bool has_small = false;  ///< its value stands here
  std::string_view small;  ///< in the page's bytes
  TensorTable::Life life;
};

/// Gives the tensors of a block. Throws DamagedPage where one is none that an engine could have written.
void read_tensors(PageReader& page, std::uint64_t block, const TensorCut& cut, const ProcessNumbers& numbers,
                  const std::function<void(const StoredTensor&)>& take);

// ---- values, which may be large

/// The bytes of a value, in parts: numbers as they stand in memory, row-major; of strings their lengths and
/// then their bytes. Each part is valid during the call alone.
void write_value(const Tensor& value, const std::function<void(std::span<const std::uint8_t>)>& put);

/// How many bytes the value of that spec has at least, and, but for strings, at most.
std::uint64_t value_bytes(const RecordedSpec& spec);
/// What write_value put, `total` bytes in all; `next` gives the parts, an empty one where there is none left.
/// Throws DamagedPage where they are no value of that spec, and ResourceExhaustedError.
Tensor read_value(const RecordedSpec& spec, std::uint64_t total,
                  const std::function<std::span<const std::uint8_t>()>& next);

}  // namespace tapedeck::trace_file
