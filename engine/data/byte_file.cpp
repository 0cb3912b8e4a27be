#include "engine/data/byte_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "engine/data/data_error.h"

namespace tapedeck::data {

namespace {

constexpr std::uint64_t deflate_ratio = 1032;  // the most that deflate can pack into a byte (zlib's FAQ)
constexpr std::size_t growth = 1024 * 1024;    // bytes reserved before they are read

int window_bits(Compression compression) {
  return compression == Compression::gzip ? MAX_WBITS + 16 : MAX_WBITS;
}

[[noreturn]] void refuse(const std::string& path, const char* what) {
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) fail<NotFoundError>(path, ": there is no such file");
  fail<FailedPreconditionError>(path, ": cannot be ", what, ": ", std::strerror(error));
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags, const char* what)
      : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) refuse(path, what);
  }
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return descriptor_; }
  int take() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

}  // namespace

Compression compression_from_name(std::string_view name, std::string_view op) {
  if (name.empty() || name == "NONE") return Compression::none;
  if (name == "GZIP") return Compression::gzip;
  if (name == "ZLIB") return Compression::zlib;
  fail<InvalidArgumentError>(op, ": compression_type is '", name, "'; known are '', 'GZIP' and 'ZLIB'");
}

struct ByteReader::State {
  State(std::string from, Compression how, std::size_t buffer_size)
      : path(std::move(from)),
        file(path, O_RDONLY, "read"),
        compression(how),
        raw(std::clamp<std::size_t>(buffer_size, 1, 64 * growth)) {
    struct stat status {};
    if (::fstat(file.number(), &status) != 0) refuse(path, "read");
    if (S_ISDIR(status.st_mode)) fail<FailedPreconditionError>(path, ": cannot be read: it is a folder");
    regular = S_ISREG(status.st_mode);
    size = static_cast<std::uint64_t>(status.st_size);
    if (compression == Compression::none) return;
    plain.resize(std::max<std::size_t>(raw.size(), 4096));
    if (::inflateInit2(&stream, window_bits(compression)) != Z_OK)
      fail<ResourceExhaustedError>(path, ": no memory to decompress it");
    inflating = true;
  }
  ~State() {
    if (inflating) ::inflateEnd(&stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// The file's next bytes into `raw`; 0 at its end.
  std::size_t read_raw() {
    for (;;) {
      const ssize_t got = ::read(file.number(), raw.data(), raw.size());
      if (got >= 0) {
        raw_read += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno != EINTR) refuse(path, "read");
    }
  }

  /// Makes `rest` hold the next bytes; false at the end.
  bool fill() {
    if (compression == Compression::none) {
      rest = {raw.data(), read_raw()};
      return !rest.empty();
    }
    stream.next_out = reinterpret_cast<Bytef*>(plain.data());
    stream.avail_out = static_cast<uInt>(plain.size());
    while (stream.avail_out == plain.size()) {
      if (stream.avail_in == 0) {
        stream.avail_in = static_cast<uInt>(read_raw());
        stream.next_in = reinterpret_cast<Bytef*>(raw.data());
        if (stream.avail_in == 0) {
          if (!between_members)
            fail<DataLossError>(path, ": ends in the middle of compressed data, at byte ", raw_read);
          return false;
        }
      }
      inflate_some();
    }
    rest = {plain.data(), plain.size() - stream.avail_out};
    return true;
  }

  void inflate_some() {
    // gzip files may be concatenated members; the end of one is not an error.
    if (between_members && ::inflateReset(&stream) != Z_OK)
      fail<DataLossError>(path, ": cannot be decompressed");
    between_members = false;
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    if (result == Z_STREAM_END) {
      between_members = true;
    } else if (result != Z_OK && result != Z_BUF_ERROR) {
      fail<DataLossError>(path, ": damaged compressed data before byte ", raw_read - stream.avail_in, ": ",
                          stream.msg ? stream.msg : "unknown method");
    }
  }

  std::string path;
  Descriptor file;
  Compression compression;
  std::vector<char> raw, plain;
  std::string_view rest;  // what is left to read
  std::uint64_t position = 0, raw_read = 0, size = 0;
  bool regular = true, inflating = false, between_members = true;
  z_stream stream{};
};

ByteReader::ByteReader(std::string path, Compression compression, std::size_t buffer_size)
    : state_(std::make_unique<State>(std::move(path), compression, buffer_size)) {}
ByteReader::~ByteReader() = default;
ByteReader::ByteReader(ByteReader&&) noexcept = default;
ByteReader& ByteReader::operator=(ByteReader&&) noexcept = default;

std::size_t ByteReader::read(char* to, std::size_t count) {
  State& state = *state_;
  std::size_t done = 0;
  while (done < count) {
    if (state.rest.empty() && !state.fill()) break;
    const std::size_t part = std::min(count - done, state.rest.size());
    std::memcpy(to + done, state.rest.data(), part);
    state.rest.remove_prefix(part);
    done += part;
  }
  state.position += done;
  return done;
}

void ByteReader::read(std::string& to, std::uint64_t count) {
  to.clear();
  while (to.size() < count) {
    const std::size_t before = to.size();
    const std::size_t step =
        static_cast<std::size_t>(std::min<std::uint64_t>(count - before, std::max(growth, before)));
    to.resize(before + step);
    const std::size_t got = read(to.data() + before, step);
    to.resize(before + got);
    if (got < step) return;
  }
}

bool ByteReader::read_line(std::string& to) {
  State& state = *state_;
  to.clear();
  bool any = false;
  for (;;) {
    if (state.rest.empty() && !state.fill()) return any;
    any = true;
    const std::size_t end = state.rest.find('\n');
    const std::string_view part = state.rest.substr(0, end);
    to.append(part);
    const std::size_t used = part.size() + (end == std::string_view::npos ? 0 : 1);
    state.rest.remove_prefix(used);
    state.position += used;
    if (end != std::string_view::npos) return true;
  }
}

bool ByteReader::skip(std::uint64_t count) {
  State& state = *state_;
  while (count > 0) {
    if (state.rest.empty()) {
      // A plain file's size is known, so skipped bytes need not be read.
      if (state.compression == Compression::none && state.regular && count > state.raw.size()) {
        const std::uint64_t left = state.size > state.position ? state.size - state.position : 0;
        if (count > left) return false;
        state.position += count;
        state.raw_read = state.position;
        if (::lseek(state.file.number(), static_cast<off_t>(state.position), SEEK_SET) < 0)
          refuse(state.path, "read");
        return true;
      }
      if (!state.fill()) return false;
    }
    const auto part = static_cast<std::size_t>(std::min<std::uint64_t>(count, state.rest.size()));
    state.rest.remove_prefix(part);
    state.position += part;
    count -= part;
  }
  return true;
}

std::uint64_t ByteReader::position() const {
  return state_->position;
}

std::uint64_t ByteReader::most_left() const {
  const State& state = *state_;
  if (!state.regular) return std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t unread = state.size > state.raw_read ? state.size - state.raw_read : 0;
  if (state.compression == Compression::none) return unread + state.rest.size();
  // inflate holds back at most the output of 32 KiB of input.
  return (unread + state.stream.avail_in + 32768) * deflate_ratio + state.rest.size();
}

const std::string& ByteReader::path() const {
  return state_->path;
}

struct ByteWriter::State {
  State(std::string to, Compression how, bool append, int level)
      : path(std::move(to)),
        file(path, O_WRONLY | O_CREAT | (append ? O_APPEND : O_TRUNC), "written"),
        compression(how),
        buffer(256 * 1024) {
    if (compression == Compression::none) return;
    const int result =
        ::deflateInit2(&stream, level, Z_DEFLATED, window_bits(compression), 8, Z_DEFAULT_STRATEGY);
    if (result != Z_OK)
      fail<InvalidArgumentError>(path, ": compression_level is ", level, "; must be -1 to 9");
    deflating = true;
  }
  ~State() {
    if (deflating) ::deflateEnd(&stream);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void write_raw(const char* bytes, std::size_t count) {
    while (count > 0) {
      const ssize_t written = ::write(file.number(), bytes, count);
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse(path, "written");
      bytes += written;
      count -= static_cast<std::size_t>(written);
    }
  }
  void empty_buffer() {
    write_raw(buffer.data(), filled);
    filled = 0;
  }
  void deflate_bytes(std::string_view bytes, int mode) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    std::size_t left = bytes.size();
    do {
      const auto part = static_cast<uInt>(std::min<std::size_t>(left, 1U << 30));
      stream.avail_in = part;
      left -= part;
      do {
        stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
        stream.avail_out = static_cast<uInt>(buffer.size());
        ::deflate(&stream, left > 0 ? Z_NO_FLUSH : mode);
        write_raw(buffer.data(), buffer.size() - stream.avail_out);
      } while (stream.avail_out == 0);
    } while (left > 0);
  }
  void finish() {
    if (closed) return;
    closed = true;
    if (compression == Compression::none)
      empty_buffer();
    else
      deflate_bytes({}, Z_FINISH);
    if (::close(file.take()) != 0) refuse(path, "written");
  }
  void check_open() const {
    if (closed) fail<FailedPreconditionError>(path, ": is already closed");
  }

  std::string path;
  Descriptor file;
  Compression compression;
  std::vector<char> buffer;
  std::size_t filled = 0;
  bool deflating = false, closed = false;
  z_stream stream{};
};

ByteWriter::ByteWriter(std::string path, Compression compression, bool append, int level)
    : state_(std::make_unique<State>(std::move(path), compression, append, level)) {}
ByteWriter::~ByteWriter() {
  if (!state_) return;
  try {
    close();
  } catch (...) {  // a destructor cannot report it
  }
}
ByteWriter::ByteWriter(ByteWriter&&) noexcept = default;
ByteWriter& ByteWriter::operator=(ByteWriter&&) noexcept = default;

void ByteWriter::write(std::string_view bytes) {
  State& state = *state_;
  state.check_open();
  if (state.compression != Compression::none) {
    state.deflate_bytes(bytes, Z_NO_FLUSH);
    return;
  }
  if (bytes.size() > state.buffer.size() - state.filled) state.empty_buffer();
  if (bytes.size() > state.buffer.size()) {
    state.write_raw(bytes.data(), bytes.size());
  } else {
    std::copy(bytes.begin(), bytes.end(), state.buffer.begin() + static_cast<std::ptrdiff_t>(state.filled));
    state.filled += bytes.size();
  }
}

void ByteWriter::flush() {
  state_->check_open();
  if (state_->compression == Compression::none)
    state_->empty_buffer();
  else
    state_->deflate_bytes({}, Z_SYNC_FLUSH);
}

void ByteWriter::close() {
  state_->finish();
}

const std::string& ByteWriter::path() const {
  return state_->path;
}

std::string read_whole_file(const std::string& path) {
  ByteReader reader(path, Compression::none);
  std::string bytes;
  reader.read(bytes, std::numeric_limits<std::uint64_t>::max());
  return bytes;
}

std::string decompress(std::string_view bytes, Compression compression, std::uint64_t limit,
                       std::string_view op) {
  if (compression == Compression::none) return std::string(bytes);
  z_stream stream{};
  if (::inflateInit2(&stream, window_bits(compression)) != Z_OK)
    fail<ResourceExhaustedError>(op, ": no memory to decompress");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, ::inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(std::min<std::size_t>(bytes.size(), std::numeric_limits<uInt>::max()));
  std::string out;
  std::vector<char> buffer(64 * 1024);
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    const int result = ::inflate(&stream, Z_NO_FLUSH);
    out.append(buffer.data(), buffer.size() - stream.avail_out);
    if (out.size() > limit)
      fail<InvalidArgumentError>(op, ": more than ", limit, " bytes after decompression");
    if (result == Z_STREAM_END) return out;
    if (result != Z_OK)
      fail<InvalidArgumentError>(op, ": damaged compressed data near byte ", stream.total_in, " of ",
                                 bytes.size());
  }
}

}  // namespace tapedeck::data
