// Files that other processes see whole or not at all, and what the system says when it refuses.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "engine/tensor/error.h"

namespace tapedeck::data {

/// The user may not do that with the file. TensorFlow's class of the same name in Python.
struct PermissionDeniedError : Error {
  using Error::Error;
};

/// Throws the error that stands for an errno: "SUBJECT: what the system says". NotFoundError,
/// FailedPreconditionError (a folder where a file should be, and the other way round), ResourceExhaustedError
/// (disk full, quota, too large), PermissionDeniedError; Error for others.
[[noreturn]] void fail_with_errno(int error, const std::string& subject);

/// A descriptor that closes itself.
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

/// Writes a file beside its place and moves it there when it is complete and on the disk. Until then, and
/// where anything fails or the process dies, the place holds what it held. Missing folders are made. The file
/// gets the rights that the umask leaves. Several writers of one place do not disturb each other; the last
/// one to finish stays. What dead writers left is removed: of this file by the
/// next one, of others in the folder after an hour.
class WholeFile {
 public:
  explicit WholeFile(const std::string& path);
  /// Removes what was written, unless it was committed.
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  /// Appends. Long pieces are written in parts, between which the user may interrupt.
  void write(std::span<const std::byte> bytes);
  void write(const std::string& bytes) { write(std::as_bytes(std::span(bytes))); }
  /// Waits for the disk, then moves the file to its place.
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
