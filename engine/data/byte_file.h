// Files as streams of bytes, plain or compressed. One thread at a time may use an object.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace tapedeck::data {

enum class Compression : std::uint8_t { none, gzip, zlib };
/// TensorFlow's names: "", "GZIP", "ZLIB". Throws InvalidArgumentError naming `op` for another one.
Compression compression_from_name(std::string_view name, std::string_view op);

/// Reads a file sequentially. Errors name the path: NotFoundError if there is no file,
/// FailedPreconditionError if it cannot be read, DataLossError if its compressed data is damaged.
class ByteReader {
 public:
  /// `buffer_size`: bytes per read, at least one.
  ByteReader(std::string path, Compression compression, std::size_t buffer_size = 256 * 1024);
  ~ByteReader();
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;

  /// Up to `count` bytes, fewer only at the end.
  std::size_t read(char* to, std::size_t count);
  /// Replaces `to` with the next `count` bytes, fewer only at the end. Memory grows with the bytes in the
  /// file, not with `count`.
  void read(std::string& to, std::uint64_t count);
  /// Replaces `to` with the bytes up to the next '\n', without it. False at the end of the file.
  bool read_line(std::string& to);
  /// Skips the next `count` bytes. False if the file has fewer.
  bool skip(std::uint64_t count);
  /// The position of the next byte in the uncompressed data.
  std::uint64_t position() const;
  /// How many bytes are left; an upper bound if the file is compressed.
  std::uint64_t most_left() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a new file, or appends to one. Errors as in ByteReader.
class ByteWriter {
 public:
  ByteWriter(std::string path, Compression compression, bool append = false, int level = -1);
  /// Closes the file if close() was not called; errors are then lost.
  ~ByteWriter();
  ByteWriter(ByteWriter&&) noexcept;
  ByteWriter& operator=(ByteWriter&&) noexcept;

  void write(std::string_view bytes);
  /// Passes everything written to the system, so that another process can read it.
  void flush();
  void close();
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A whole file. Errors as in ByteReader.
std::string read_whole_file(const std::string& path);

/// Decompresses zlib, gzip or raw deflate data to at most `limit` bytes. InvalidArgumentError naming `op` if
/// the data is damaged or larger.
std::string decompress(std::string_view bytes, Compression compression, std::uint64_t limit,
                       std::string_view op);

}  // namespace tapedeck::data
