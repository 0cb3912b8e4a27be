// NumPy's .npz archives: zip files of .npy members, stored or deflated. Sources: "Format version numbering"
// in the documentation of numpy.lib.format; PKWARE's APPNOTE.TXT, 4.3 and 4.5.3 (zip64).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/whole_file.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::data {

/// A member, as the archive's directory has it. Checked: its bytes lie inside the file and overlap with those
/// of no other member.
struct NpzMember {
  std::string name;                    ///< without ".npy"
  bool deflated = false;               ///< else stored as it is
  std::uint64_t packed = 0, size = 0;  ///< bytes in the file, and unpacked
  std::uint64_t offset = 0;            ///< of its local header
  std::uint32_t crc = 0;
};

/// An open archive. Its directory is read and checked on opening, arrays on demand. No Python object in it is
/// unpickled. Memory grows with the file's bytes, not with what its headers announce.
class NpzFile {
 public:
  /// Throws NotFoundError, PermissionDeniedError, FailedPreconditionError; DataLossError for a file that is
  /// no complete archive. Errors name the file, the member and the byte.
  explicit NpzFile(const std::string& path);
  const std::string& path() const { return path_; }
  const std::vector<NpzMember>& members() const { return members_; }
  /// Throws UnimplementedError for a dtype that tensors do not have (objects, text, big-endian numbers),
  /// DataLossError for damage, ResourceExhaustedError. Thread-safe.
  Tensor read(const NpzMember& member) const;

 private:
  void read_directory();
  void read_entry(const std::string& directory, std::size_t& at, std::uint64_t begin);
  void check_overlaps() const;
  std::string bytes_at(std::uint64_t from, std::uint64_t count, const std::string& what) const;
  std::string unpacked(const NpzMember& member, const std::string& subject) const;

  std::string path_;
  Descriptor file_;
  std::uint64_t size_ = 0;
  std::vector<NpzMember> members_;
};

}  // namespace tapedeck::data
