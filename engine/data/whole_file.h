// Files that other processes see complete or not at all, and the system's error messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/tensor/error.h"

namespace tapedeck::data {

/// The user lacks permission for this. In Python TensorFlow's class of the same name.
struct PermissionDeniedError : Error {
  using Error::Error;
};

/// Throws the error for an errno: "SUBJECT: the system's message". NotFoundError, FailedPreconditionError (a
/// folder instead of a file, or the reverse), ResourceExhaustedError (disk full, quota, too large),
/// PermissionDeniedError; Error for others.
[[noreturn]] void fail_with_errno(int error, const std::string& subject);

/// An owning file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : number_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  int number() const { return number_; }
  int release();

 private:
  int number_;
};

/// Writes a temporary file beside the target and renames it when it is complete and on disk. Until then, and
/// if anything fails or the process dies, the target is unchanged. Creates missing folders. The file's
/// permissions follow the umask. Concurrent writers of one target do not disturb each other; the last one to
/// finish wins. Temporary files of dead writers are removed: of this target by the next writer, of others in
/// the folder after an hour.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);
  /// Removes the temporary file unless it was committed.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Appends. Writes long pieces in parts, between which the user may interrupt.
  void write(std::span<const std::byte> bytes);
  void write(const std::string& bytes) { write(std::as_bytes(std::span(bytes))); }
  /// Syncs to disk, then renames the file to its target.
  void commit();

 private:
  void open_temporary();
  bool open_one(const std::string& name);
  void remove_leftovers() const;
  void write_out(const std::byte* bytes, std::size_t count);
  void flush();
  std::string subject() const;

  std::string path_, folder_, stem_, temporary_;
  Descriptor folder_descriptor_, file_;
  std::string buffer_;  // of short pieces
};

}  // namespace tapedeck::data
