// TensorFlow's record files (TFRecord): one record after another, each
//   uint64 length, uint32 masked CRC-32C of the length, the bytes, uint32 masked CRC-32C of the bytes,
// all little-endian. Event files of summaries are such files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/data/byte_file.h"

namespace tapedeck::data {

/// Not for several threads at once. Errors as ByteWriter's.
class RecordWriter {
 public:
  /// `level`: zlib's, -1 to 9, where it compresses.
  explicit RecordWriter(std::string path, Compression compression = Compression::none, bool append = false,
                        int level = -1)
      : file_(std::move(path), compression, append, level) {}
  void write(std::string_view record);
  /// Hands what was written to the system, so that another process can read it.
  void flush() { file_.flush(); }
  void close() { file_.close(); }
  const std::string& path() const { return file_.path(); }

 private:
  ByteWriter file_;
};

/// Not for several threads at once. A length is never trusted beyond what the file can hold.
class RecordReader {
 public:
  explicit RecordReader(std::string path, Compression compression = Compression::none,
                        std::size_t buffer_size = 256 * 1024)
      : file_(std::move(path), compression, buffer_size) {}
  /// The next record into `record`; false at the end. DataLossError names path, the record's number and
  /// offset, and what is wrong: "events.1: record 3 at byte 412: its length 99999 goes beyond the file's
  /// end".
  bool read(std::string& record);
  /// Passes over a record without looking at its bytes; false at the end.
  bool skip();
  std::uint64_t records_read() const { return records_; }
  /// Where the next record begins, counted in what is not compressed.
  std::uint64_t position() const { return file_.position(); }
  const std::string& path() const { return file_.path(); }

 private:
  /// The next record's length, checked; false at the end.
  bool read_length(std::uint64_t& length);
  [[noreturn]] void refuse(const std::string& what) const;

  ByteReader file_;
  std::uint64_t records_ = 0;
  std::uint64_t begin_ = 0;  ///< of the record that is being read
};

}  // namespace tapedeck::data
