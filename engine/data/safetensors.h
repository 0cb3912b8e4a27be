// Files of named tensors in the safetensors format, version 0.x of its specification
// (https://github.com/huggingface/safetensors, "Format"): eight bytes with the length of the header, the
// header in JSON, the tensors' bytes, little-endian and row-major, without holes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/data/whole_file.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::data {

constexpr std::uint64_t most_header_bytes = 100'000'000;

using Metadata = std::map<std::string, std::string>;

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Writes the file as WholeFile does, without copying contiguous tensors. Does not need Python's lock. Throws
/// InvalidArgumentError for names that are duplicate or not UTF-8, dtypes that the format does not have, and
/// more than 100 MB of names and metadata; else WholeFile's errors.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata);

/// The format's name of a dtype ("F32"), and the dtype of such a name; nullopt if there is no equivalent.
std::optional<std::string> safetensors_name(DType dtype);
std::optional<DType> dtype_of_safetensors_name(const std::string& name);

/// The header's entry for one tensor. Checked: begin and end lie inside the file's data, and their distance
/// matches shape and dtype.
struct StoredTensor {
  std::string name;
  std::string dtype;                 ///< the format's name; tensors may lack this dtype
  std::vector<std::int64_t> shape;   ///< may have more axes than tensors
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

/// The parsed header of a file of `file_size` bytes that starts with `bytes`. Allocates at most a few times
/// the length of the header. DataLossError says what is wrong, and where.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
  Metadata metadata;
};
SafetensorsHeader parse_safetensors_header(std::string_view header, std::uint64_t data_size,
                                           const std::string& path);

/// An open file. Its header is read and checked on opening; tensors are read on demand, into separate memory.
/// They are not views of a memory-mapped file: if another process wrote to the file, a tensor's values would
/// change, and if it truncated the file, this process would die of SIGBUS. The open file stays readable if it
/// is replaced or removed.
class SafetensorsFile {
 public:
  /// Throws NotFoundError, PermissionDeniedError, FailedPreconditionError; DataLossError for a file that is
  /// not complete.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }
  /// nullptr if there is none of that name.
  const StoredTensor* find(const std::string& name) const;
  /// Throws NotFoundError for an unknown name, UnimplementedError for a dtype that tensors do not have,
  /// DataLossError if the file became shorter or holds invalid values, ResourceExhaustedError if the extents
  /// exceed a tensor's limits or memory. Thread-safe.
  Tensor read(const std::string& name) const;

 private:
  void read_bytes(char* to, std::uint64_t count, std::uint64_t from, const std::string& what) const;

  std::string path_;
  Descriptor file_;
  SafetensorsHeader header_;
  std::uint64_t data_begin_ = 0;
  std::map<std::string, std::size_t> by_name_;
};

}  // namespace tapedeck::data
