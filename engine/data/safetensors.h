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

/// Writes the file as WholeFile does, without a copy of tensors that are contiguous. No lock of Python's is
/// needed. Throws InvalidArgumentError for names that come twice or are no UTF-8, dtypes that the format does
/// not have, and more than 100 MB of names and metadata; else WholeFile's errors.
void write_safetensors(const std::string& path, std::span<const NamedTensor> tensors,
                       const Metadata& metadata);

/// The format's name of a dtype ("F32"), and the dtype of such a name; none where the other side does not
/// have it.
std::optional<std::string> safetensors_name(DType dtype);
std::optional<DType> dtype_of_safetensors_name(const std::string& name);

/// What the header says of one tensor. Checked: begin and end lie inside the file's data, and are as far
/// apart as the shape and the dtype want it.
struct StoredTensor {
  std::string name;
  std::string dtype;                 ///< the format's name, of a dtype that tensors may not have
  std::vector<std::int64_t> shape;   ///< may have more axes than tensors
  std::uint64_t begin = 0, end = 0;  ///< bytes, counted from the end of the header
};

/// The header of `bytes`, a file of `file_size` bytes whose first ones these are. Allocates no more than a
/// few times the length of the header. DataLossError saying what is wrong where.
struct SafetensorsHeader {
  std::vector<StoredTensor> tensors;  ///< in the order of their bytes
  Metadata metadata;
};
SafetensorsHeader parse_safetensors_header(std::string_view header, std::uint64_t data_size,
                                           const std::string& path);

/// An open file. Its header is read and checked when it is opened; tensors are read when they are asked for,
/// into memory of their own. They are not views of a mapping of the file: a tensor's values would change, and
/// the process die of SIGBUS, when another process writes to the file or shortens it. The open file stays
/// readable where it is replaced or removed.
class SafetensorsFile {
 public:
  /// Throws NotFoundError, PermissionDeniedError, FailedPreconditionError; DataLossError for a file that is
  /// not whole.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return path_; }
  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const Metadata& metadata() const { return header_.metadata; }
  /// nullptr where there is none of that name.
  const StoredTensor* find(const std::string& name) const;
  /// Throws NotFoundError for another name, UnimplementedError for a dtype that tensors do not have,
  /// DataLossError where the file became shorter or holds what its dtype does not have,
  /// ResourceExhaustedError where no tensor has its extents or there is no memory. May be called from several
  /// threads.
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
