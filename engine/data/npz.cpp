#include "engine/data/npz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/data/data_error.h"
#include "engine/data/npy_header.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::data {

namespace {

constexpr std::uint64_t npz_part = 16 << 20;        // bytes between checks for an interrupt
constexpr std::uint64_t most_directory = 64 << 20;  // bytes
constexpr std::uint64_t most_of_deflate = 1032;     // bytes that one byte of deflate can become: zlib's FAQ
constexpr std::size_t end_size = 22, entry_size = 46, local_size = 30, locator_size = 20, end64_size = 56;
constexpr std::uint32_t in_zip64 = 0xffffffff;

template <class T>
T little(std::string_view bytes, std::size_t at) {
  T value = 0;
  for (std::size_t i = 0; i < sizeof value; ++i)
    value = static_cast<T>(value | static_cast<T>(static_cast<unsigned char>(bytes[at + i])) << 8 * i);
  return value;
}

/// Takes the values that did not fit into 32 bits from an entry's extra fields, in their order.
void take_zip64(std::string_view extra, NpzMember& member) {
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const auto id = little<std::uint16_t>(extra, at);
    const std::size_t length = little<std::uint16_t>(extra, at + 2);
    at += 4;
    if (length > extra.size() - at) return;
    if (id == 1) {
      std::size_t field = at;
      for (std::uint64_t* value : {&member.size, &member.packed, &member.offset})
        if (*value == in_zip64 && field + 8 <= at + length) {
          *value = little<std::uint64_t>(extra, field);
          field += 8;
        }
      return;
    }
    at += length;
  }
}

}  // namespace

NpzFile::NpzFile(const std::string& path) : path_(path) {
  file_ = Descriptor(
      ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));  // a pipe would wait for its writer
  if (file_.number() < 0) fail_with_errno(errno, "cannot read " + path);
  struct stat status {};
  if (::fstat(file_.number(), &status) != 0) fail_with_errno(errno, "cannot read " + path);
  if (S_ISDIR(status.st_mode)) fail_with_errno(EISDIR, "cannot read " + path);
  if (!S_ISREG(status.st_mode))
    fail<FailedPreconditionError>("cannot read ", path, ": it is not a regular file");
  size_ = static_cast<std::uint64_t>(status.st_size);
  read_directory();
  check_overlaps();
}

std::string NpzFile::bytes_at(std::uint64_t from, std::uint64_t count, const std::string& what) const {
  if (from > size_ || count > size_ - from)
    fail<DataLossError>(path_, ": ", what, " would be the bytes ", from, " to ", from, " + ", count,
                        ", but the file has ", size_, "; it was cut short, or is damaged");
  std::string bytes(count, '\0');
  for (std::uint64_t done = 0; done < count;) {
    check_interrupt();
    const ssize_t got = ::pread(file_.number(), bytes.data() + done, std::min(count - done, npz_part),
                                static_cast<off_t>(from + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_with_errno(errno, "cannot read " + path_);
    if (got == 0) fail<DataLossError>(path_, ": ", what, ": the file became shorter while it was read");
    done += static_cast<std::uint64_t>(got);
  }
  return bytes;
}

void NpzFile::read_directory() {
  if (size_ < end_size)
    fail<DataLossError>(path_, ": has only ", size_, " bytes; an .npz archive ends with ", end_size,
                        " that name its directory");
  const std::uint64_t tail_begin = size_ - std::min<std::uint64_t>(size_, end_size + 0xffff);
  const std::string tail = bytes_at(tail_begin, size_ - tail_begin, "the archive's end");
  const std::size_t end = tail.rfind(std::string_view("PK\5\6", 4));
  if (end == std::string::npos || tail.size() - end < end_size)
    fail<DataLossError>(path_,
                        ": has no directory at its end, as every .npz archive has; it was cut short, or "
                        "is another kind of file");
  std::uint64_t count = little<std::uint16_t>(tail, end + 10), length = little<std::uint32_t>(tail, end + 12),
                begin = little<std::uint32_t>(tail, end + 16);
  const bool large = count == 0xffff || length == in_zip64 || begin == in_zip64;
  if (large && end >= locator_size && tail.compare(end - locator_size, 4, "PK\6\7") == 0) {
    const std::string end64 = bytes_at(little<std::uint64_t>(tail, end - locator_size + 8), end64_size,
                                       "the end of a large archive");
    if (!end64.starts_with("PK\6\6")) fail<DataLossError>(path_, ": the end of a large archive is damaged");
    count = little<std::uint64_t>(end64, 32);
    length = little<std::uint64_t>(end64, 40);
    begin = little<std::uint64_t>(end64, 48);
  }
  if (length > most_directory)
    fail<DataLossError>(path_, ": the directory would have ", length, " bytes; at most ", most_directory,
                        " are read");
  if (count > length / entry_size)
    fail<DataLossError>(path_, ": ", count, " members would not fit into a directory of ", length, " bytes");
  const std::string directory = bytes_at(begin, length, "the directory");
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < count; ++i) read_entry(directory, at, begin);
}

void NpzFile::read_entry(const std::string& directory, std::size_t& at, std::uint64_t begin) {
  if (directory.size() - at < entry_size || directory.compare(at, 4, "PK\1\2") != 0)
    fail<DataLossError>(path_, ": the directory is damaged at byte ", begin + at);
  const std::size_t name = little<std::uint16_t>(directory, at + 28),
                    extra = little<std::uint16_t>(directory, at + 30),
                    comment = little<std::uint16_t>(directory, at + 32);
  if (name + extra + comment > directory.size() - at - entry_size)
    fail<DataLossError>(path_, ": a member's name ends behind the directory, at byte ", begin + at);
  NpzMember member;
  member.name = directory.substr(at + entry_size, name);
  const auto flags = little<std::uint16_t>(directory, at + 8),
             method = little<std::uint16_t>(directory, at + 10);
  member.crc = little<std::uint32_t>(directory, at + 16);
  member.packed = little<std::uint32_t>(directory, at + 20);
  member.size = little<std::uint32_t>(directory, at + 24);
  member.offset = little<std::uint32_t>(directory, at + 42);
  take_zip64(std::string_view(directory).substr(at + entry_size + name, extra), member);
  at += entry_size + name + extra + comment;
  const std::string subject = path_ + ": member \"" + member.name + "\": ";
  if (flags & 1) fail<UnimplementedError>(subject, "is encrypted");
  if (method != 0 && method != Z_DEFLATED)
    fail<UnimplementedError>(subject, "is compressed by method ", method,
                             "; stored (0) and deflate (8) can be read");
  member.deflated = method != 0;
  if (member.offset > size_ || local_size > size_ - member.offset ||
      member.packed > size_ - member.offset - local_size)
    fail<DataLossError>(subject, member.packed, " bytes at byte ", member.offset,
                        " do not lie in the file, which has ", size_);
  if (member.deflated ? member.size / most_of_deflate > member.packed : member.size != member.packed)
    fail<DataLossError>(subject, member.size, " bytes cannot come from ", member.packed, ", at byte ",
                        member.offset);
  if (!member.name.ends_with(".npy")) return;  // another file that was put in
  member.name.resize(member.name.size() - 4);
  members_.push_back(std::move(member));
}

void NpzFile::check_overlaps() const {
  std::vector<const NpzMember*> sorted;
  for (const NpzMember& member : members_) sorted.push_back(&member);
  std::ranges::sort(sorted, {}, [](const NpzMember* member) { return member->offset; });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i]->offset - sorted[i - 1]->offset < local_size + sorted[i - 1]->packed)
      fail<DataLossError>(path_, ": member \"", sorted[i]->name, "\" at byte ", sorted[i]->offset,
                          " overlaps with \"", sorted[i - 1]->name, "\" at byte ", sorted[i - 1]->offset);
}

std::string NpzFile::unpacked(const NpzMember& member, const std::string& subject) const {
  const std::string local =
      bytes_at(member.offset, local_size, "the header of member \"" + member.name + "\"");
  if (!local.starts_with("PK\3\4"))
    fail<DataLossError>(subject, "there is no header at byte ", member.offset);
  const std::uint64_t begin = member.offset + local_size + little<std::uint16_t>(local, 26) +
                              std::uint64_t{little<std::uint16_t>(local, 28)};
  std::string bytes = bytes_at(begin, member.packed, "member \"" + member.name + "\"");
  if (member.deflated) {
    std::string plain(member.size, '\0');
    z_stream stream{};
    if (::inflateInit2(&stream, -MAX_WBITS) != Z_OK)
      fail<ResourceExhaustedError>(subject, "no memory to unpack it");
    std::size_t in = 0, out = 0;
    int result = Z_OK;
    while (result == Z_OK) {
      const auto take = static_cast<uInt>(std::min<std::uint64_t>(bytes.size() - in, npz_part)),
                 give = static_cast<uInt>(std::min<std::uint64_t>(plain.size() - out, npz_part));
      stream.next_in = reinterpret_cast<Bytef*>(bytes.data() + in);
      stream.next_out = reinterpret_cast<Bytef*>(plain.data() + out);
      stream.avail_in = take;
      stream.avail_out = give;
      result = ::inflate(&stream, Z_NO_FLUSH);
      in += take - stream.avail_in;
      out += give - stream.avail_out;
      if (result == Z_OK && take == stream.avail_in && give == stream.avail_out) result = Z_BUF_ERROR;
    }
    ::inflateEnd(&stream);
    if (result != Z_STREAM_END || out != plain.size())
      fail<DataLossError>(subject, "damaged compressed data near byte ", begin + in);
    bytes = std::move(plain);
  }
  const auto crc = ::crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  if (crc != member.crc)
    fail<DataLossError>(subject, "the checksum of its bytes from ", begin, " on is wrong");
  return bytes;
}

Tensor NpzFile::read(const NpzMember& member) const {
  const std::string subject = path_ + ": member \"" + member.name + "\": ";
  return tensor_of_npy(unpacked(member, subject), subject);
}

}  // namespace tapedeck::data
