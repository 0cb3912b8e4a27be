#include "app/kernel/process/private_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QFile>
#include <QFileInfo>
#include <cerrno>
#include <cstring>
#include <utility>

namespace tapedeck::app {
namespace {

/// Others can neither rename nor replace what the user has there.
bool keepsEntries(const struct stat& folder) {
  const bool trusted = folder.st_uid == ::geteuid() || folder.st_uid == 0;
  const bool writable = (folder.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return trusted && (!writable || (folder.st_mode & S_ISVTX) != 0);
}

}  // namespace

std::optional<PrivateFolder> PrivateFolder::openAt(int folder, const QByteArray& name, Missing missing) {
  const bool make = missing == Missing::isMade;
  if (make && ::mkdirat(folder, name.constData(), 0700) != 0 && errno != EEXIST) return std::nullopt;
  const int descriptor = ::openat(folder, name.constData(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  PrivateFolder opened(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_uid != ::geteuid()) return std::nullopt;
  if ((status.st_mode & 077) != 0 && (!make || ::fchmod(descriptor, 0700) != 0)) return std::nullopt;
  return opened;
}

std::optional<PrivateFolder> PrivateFolder::open(const QString& path, Missing missing) {
  const QFileInfo place(path);
  const int around = ::open(QFile::encodeName(place.path()).constData(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (around < 0) return std::nullopt;
  const PrivateFolder closing(around);
  struct stat status {};
  if (::fstat(around, &status) != 0 || !keepsEntries(status)) return std::nullopt;
  return openAt(around, QFile::encodeName(place.fileName()), missing);
}

PrivateFolder::~PrivateFolder() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

PrivateFolder::PrivateFolder(PrivateFolder&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)) {}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

std::optional<PrivateFolder> PrivateFolder::folder(const QByteArray& name, Missing missing) const {
  return openAt(descriptor_, name, missing);
}

QList<QByteArray> PrivateFolder::names() const {
  QList<QByteArray> found;
  const int copy = ::openat(descriptor_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (copy < 0) return found;
  DIR* entries = ::fdopendir(copy);
  if (!entries) {
    ::close(copy);
    return found;
  }
  while (const dirent* entry = ::readdir(entries))
    if (std::strcmp(entry->d_name, ".") != 0 && std::strcmp(entry->d_name, "..") != 0) found << entry->d_name;
  ::closedir(entries);
  return found;
}

std::optional<QByteArray> PrivateFolder::read(const QByteArray& name, qint64 longest) const {
  // O_NONBLOCK: opening a FIFO without a writer would block.
  const int descriptor =
      ::openat(descriptor_, name.constData(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const PrivateFolder closing(descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) || status.st_uid != ::geteuid() ||
      (status.st_mode & 077) != 0 || status.st_size > longest)
    return std::nullopt;
  QFile file;
  if (!file.open(descriptor, QIODevice::ReadOnly)) return std::nullopt;
  return file.read(longest);
}

void PrivateFolder::removeFolder(const QByteArray& name, std::initializer_list<const char*> files) const {
  if (const auto inside = folder(name))
    for (const char* file : files) ::unlinkat(inside->descriptor_, file, 0);
  ::unlinkat(descriptor_, name.constData(), AT_REMOVEDIR);
}

}  // namespace tapedeck::app
