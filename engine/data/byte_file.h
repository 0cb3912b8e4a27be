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

/// Reads a file from its beginning to its end. Errors name the path: NotFoundError where there is none,
/// FailedPreconditionError where it cannot be read, DataLossError where what is compressed is damaged.
class ByteReader {
 public:
  /// `buffer_size`: bytes read at once; at least one is.
  ByteReader(std::string path, Compression compression, std::size_t buffer_size = 256 * 1024);
  ~ByteReader();
  ByteReader(ByteReader&&) noexcept;
  ByteReader& operator=(ByteReader&&) noexcept;

  /// Up to `count` bytes, fewer only at the end.
  std::size_t read(char* to, std::size_t count);
  /// Replaces `to` with the next `count` bytes, fewer only at the end. Memory grows with what is there, not
  /// with `count`.
  void read(std::string& to, std::uint64_t count);
  /// Replaces `to` with the bytes to the next '\n', which is left out. False at the end, where nothing is
  /// left.
  bool read_line(std::string& to);
  /// Passes over the next `count` bytes. False where the file has fewer.
  bool skip(std::uint64_t count);
  /// Of the next byte, counted in what is not compressed.
  std::uint64_t position() const;
  /// How many bytes are left; the most that can be there where the file is compressed.
  std::uint64_t most_left() const;
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Writes a file anew, or at the end of one. Errors as ByteReader's.
class ByteWriter {
 public:
  ByteWriter(std::string path, Compression compression, bool append = false, int level = -1);
  /// Closes it where close() was not called; then errors are lost.
  ~ByteWriter();
  ByteWriter(ByteWriter&&) noexcept;
  ByteWriter& operator=(ByteWriter&&) noexcept;

  void write(std::string_view bytes);
  /// Hands all that was written to the system, so that another process can read it.
  void flush();
  void close();
  const std::string& path() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A whole file. Errors as ByteReader's.
std::string read_whole_file(const std::string& path);

/// What zlib, gzip or raw deflate packed; at most `limit` bytes. InvalidArgumentError naming `op` where the
/// bytes are damaged or hold more.
std::string decompress(std::string_view bytes, Compression compression, std::uint64_t limit,
                       std::string_view op);

}  // namespace tapedeck::data
