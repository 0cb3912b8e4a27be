#include "engine/data/whole_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/tensor/interrupt.h"

namespace tapedeck::data {

namespace {

constexpr const char ending[] = ".writing";  // of files that are not complete
constexpr std::size_t buffered = 1 << 20;    // bytes of short pieces that are buffered
constexpr std::size_t part_size = 16 << 20;  // bytes between checks for an interrupt
constexpr std::size_t longest_stem = 180;    // bytes; a file's name may have 255
constexpr std::time_t long_ago = 3600;       // seconds
constexpr int most_names = 1000;             // tried before a writer gives up

/// A name in the folder that no other writer uses: unique in this process; if other machines share the
/// folder, the caller tries further ones.
std::string next_name(const std::string& stem) {
  static std::atomic<unsigned> count{0};
  return "." + stem + "." + std::to_string(::getpid()) + "-" + std::to_string(count.fetch_add(1)) + ending;
}

/// Whether this is the name of a writer's temporary file; the target's name, as far as it fits.
std::optional<std::string_view> stem_of(std::string_view name) {
  if (!name.starts_with('.') || !name.ends_with(ending)) return std::nullopt;
  name = name.substr(1, name.size() - 1 - std::strlen(ending));
  const std::size_t point = name.rfind('.');
  if (point == std::string_view::npos || point + 1 == name.size() ||
      name.find_first_not_of("0123456789-", point + 1) != std::string_view::npos)
    return std::nullopt;
  return name.substr(0, point);
}

}  // namespace

void fail_with_errno(int error, const std::string& subject) {
  switch (error) {
    case ENOENT:
      fail<NotFoundError>(subject, ": there is no such file or folder");
    case ENOTDIR:
      fail<FailedPreconditionError>(subject, ": a part of the path is not a folder");
    case EISDIR:
      fail<FailedPreconditionError>(subject, ": it is a folder");
    case ENOSPC:
      fail<ResourceExhaustedError>(subject, ": the disk is full");
    case EDQUOT:
      fail<ResourceExhaustedError>(subject, ": the disk quota is used up");
    case EFBIG:
      fail<ResourceExhaustedError>(subject, ": the file would be larger than this process may write");
    case EMFILE:
    case ENFILE:
      fail<ResourceExhaustedError>(subject, ": too many files are open");
    case EROFS:
      fail<PermissionDeniedError>(subject, ": the file system is read-only");
    case EACCES:
    case EPERM:
      fail<PermissionDeniedError>(subject, ": permission denied");
    case ENAMETOOLONG:
      fail<InvalidArgumentError>(subject, ": the name is too long");
    default:
      fail<Error>(subject, ": ", std::strerror(error));
  }
}

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}
Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  std::swap(number_, other.number_);
  return *this;
}
int Descriptor::release() {
  return std::exchange(number_, -1);
}

WholeFile::WholeFile(const std::string& path) : path_(path) {
  const std::size_t slash = path.rfind('/');
  folder_ = slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  stem_ = path.substr(slash == std::string::npos ? 0 : slash + 1);
  if (stem_.empty() || stem_ == "." || stem_ == "..")
    fail<FailedPreconditionError>(subject(), ": it is a folder");
  if (path.find('\0') != std::string::npos)
    fail<InvalidArgumentError>(subject(), ": a path cannot contain a NUL byte");
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  folder_descriptor_ = Descriptor(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (folder_descriptor_.number() < 0)
    fail_with_errno(error ? error.value() : errno, "cannot write to the folder " + folder_);
  struct stat status {};
  if (::fstatat(folder_descriptor_.number(), stem_.c_str(), &status, 0) == 0 && S_ISDIR(status.st_mode))
    fail_with_errno(EISDIR, subject());
  stem_ = stem_.substr(0, longest_stem);
  remove_leftovers();
  open_temporary();
}

WholeFile::~WholeFile() {
  if (file_.number() >= 0) ::unlinkat(folder_descriptor_.number(), temporary_.c_str(), 0);
}

std::string WholeFile::subject() const {
  return "cannot write " + path_;
}

// A writer holds a lock on its temporary file until its process ends. If the lock can be acquired, the writer
// is gone.
void WholeFile::remove_leftovers() const {
  const int copy = ::openat(folder_descriptor_.number(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(copy < 0 ? nullptr : ::fdopendir(copy), ::closedir);
  if (!folder) return;
  while (const dirent* entry = ::readdir(folder.get())) {
    const auto stem = stem_of(entry->d_name);
    if (!stem) continue;
    const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    const Descriptor left(::openat(folder_descriptor_.number(), entry->d_name, flags));
    struct stat status {};
    if (left.number() < 0 || ::fstat(left.number(), &status) != 0) continue;
    // Those of other files only if they have not been written for long: a file system may have no locks
    // between machines.
    if (*stem != stem_ && status.st_mtime > ::time(nullptr) - long_ago) continue;
    if (::flock(left.number(), LOCK_EX | LOCK_NB) == 0)
      ::unlinkat(folder_descriptor_.number(), entry->d_name, 0);
  }
}

void WholeFile::open_temporary() {
  for (int i = 0; i < most_names; ++i)
    if (open_one(next_name(stem_))) return;
  fail<Error>(subject(), ": ", most_names, " names for a temporary file beside it are taken");
}

// False if the name is taken, or another writer mistook the file for an abandoned one before it was locked.
bool WholeFile::open_one(const std::string& name) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  Descriptor made(::openat(folder_descriptor_.number(), name.c_str(), flags, 0666));
  if (made.number() < 0) {
    if (errno == EEXIST) return false;
    fail_with_errno(errno, subject());
  }
  const bool locked = ::flock(made.number(), LOCK_EX | LOCK_NB) == 0;
  struct stat status {};
  if ((!locked && errno == EWOULDBLOCK) || (::fstat(made.number(), &status) == 0 && status.st_nlink == 0)) {
    ::unlinkat(folder_descriptor_.number(), name.c_str(), 0);
    return false;
  }
  temporary_ = name;
  file_ = std::move(made);
  return true;
}

void WholeFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > buffered) flush();
  if (bytes.size() > buffered)
    write_out(bytes.data(), bytes.size());
  else
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void WholeFile::flush() {
  write_out(reinterpret_cast<const std::byte*>(buffer_.data()), buffer_.size());
  buffer_.clear();
}

void WholeFile::write_out(const std::byte* bytes, std::size_t count) {
  while (count > 0) {
    check_interrupt();
    const ssize_t written = ::write(file_.number(), bytes, std::min(count, part_size));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_with_errno(errno, subject());
    bytes += written;
    count -= static_cast<std::size_t>(written);
  }
}

void WholeFile::commit() {
  flush();
  if (::fsync(file_.number()) != 0) fail_with_errno(errno, subject());
  const int folder = folder_descriptor_.number();
  const std::string name = path_.substr(path_.rfind('/') + 1);  // npos + 1 is 0
  if (::renameat(folder, temporary_.c_str(), folder, name.c_str()) != 0) fail_with_errno(errno, subject());
  file_ = Descriptor();
  ::fsync(folder);  // if the file system cannot do that, the file is still complete
}

}  // namespace tapedeck::data
