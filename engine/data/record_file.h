// TensorFlow's record files (TFRecord): one record after another, each
//   uint64 length, uint32 masked CRC-32C of the length, the bytes, uint32 masked CRC-32C of the bytes,
// all little-endian. Event files of summaries are such files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/data/byte_file.h"

namespace tapedeck::data {

/// Not thread-safe. Errors as in ByteWriter.
class RecordWriter {
 public:
  /// `level`: zlib's, -1 to 9, if it compresses.
  explicit RecordWriter(std::string path, Compression compression = Compression::none, bool append = false,
                        int level = -1)
      : file_(std::move(path), compression, append, level) {}
  void write(std::string_view record);
  /// Passes everything written to the system, so that another process can read it.
  void flush() { file_.flush(); }
  void close() { file_.close(); }
  const std::string& path() const { return file_.path(); }

 private:
  ByteWriter file_;
};

/// Not thread-safe. A length is never trusted beyond what the file can hold.
class RecordReader {
 public:
  explicit RecordReader(std::string path, Compression compression = Compression::none,
                        std::size_t buffer_size = 256 * 1024)
      : file_(std::move(path), compression, buffer_size) {}
  /// The next record into `record`; false at the end. DataLossError names path, the record's number and
  /// offset, and what is wrong: "events.1: record 3 at byte 412: its length 99999 goes beyond the file's
  /// end".
  bool read(std::string& record);
  /// Skips a record without checking its bytes; false at the end.
  bool skip();
  std::uint64_t records_read() const { return records_; }
  /// The position of the next record in the uncompressed data.
  std::uint64_t position() const { return file_.position(); }
  const std::string& path() const { return file_.path(); }

 private:
  /// The next record's length, checked; false at the end.
  bool read_length(std::uint64_t& length);
  [[noreturn]] void refuse(const std::string& what) const;

  ByteReader file_;
  std::uint64_t records_ = 0;
  std::uint64_t begin_ = 0;  ///< of the record being read
};

}  // namespace tapedeck::data
