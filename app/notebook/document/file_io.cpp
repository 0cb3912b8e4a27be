#include "app/notebook/document/file_io.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QLocale>
#include <QUuid>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "app/notebook/document/document.h"

namespace tapedeck::app {
namespace {

[[noreturn]] void fail(const QString& sentence) {
  throw NotebookError(sentence.toStdString());
}

FileState stateOf(const struct stat& status) {
  return {true, status.st_dev, status.st_ino, status.st_size,
          qint64(status.st_mtim.tv_sec) * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// A temporary file that goes away unless it was renamed.
class TemporaryFile {
 public:
  TemporaryFile(const QByteArray& path, unsigned mode)
      : path_(path), descriptor_(::open(path.constData(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode)) {}
  ~TemporaryFile() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
      ::unlink(path_.constData());
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  bool isOpen() const { return descriptor_ >= 0; }
  /// Each returns 0 or an errno.
  int write(const QByteArray& bytes, const Progress& progress) const {
    constexpr qsizetype piece = 4 << 20;
    qsizetype done = 0;
    while (done < bytes.size()) {
      if (progress && !progress(static_cast<double>(done) / static_cast<double>(bytes.size())))
        throw Stopped();
      const ssize_t written = ::write(descriptor_, bytes.constData() + done,
                                      static_cast<std::size_t>(std::min(piece, bytes.size() - done)));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return errno;
      done += written;
    }
    return 0;
  }
  FileState state() const {
    struct stat status;
    return ::fstat(descriptor_, &status) == 0 ? stateOf(status) : FileState();
  }
  int setMode(mode_t mode) const { return ::fchmod(descriptor_, mode) == 0 ? 0 : errno; }
  int sync() const { return ::fsync(descriptor_) == 0 ? 0 : errno; }
  int renameTo(const QByteArray& target) {
    // Some file systems only report a full disk when the file is closed.
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0 || ::rename(path_.constData(), target.constData()) != 0) {
      const int error = errno;
      ::unlink(path_.constData());
      return error;
    }
    return 0;
  }

 private:
  QByteArray path_;
  int descriptor_;
};

void syncFolder(const QByteArray& folder) {
  const int descriptor = ::open(folder.constData(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

}  // namespace

QString reasonOf(int error) {
  switch (error) {
    case ENOSPC:
      return "the disk is full";
    case EDQUOT:
      return "your disk quota is used up";
    case EFBIG:
      return "the file would be larger than this process may write";
    case EROFS:
      return "the file system is read-only";
    case EACCES:
    case EPERM:
      return "you have no permission";
    case ENOENT:
      return "there is no such file or folder";
    case ENAMETOOLONG:
      return "its name is too long";
    default:
      return QString::fromLocal8Bit(std::strerror(error));
  }
}

FileState fileState(const QString& path) {
  struct stat status;
  return ::stat(QFile::encodeName(path).constData(), &status) == 0 ? stateOf(status) : FileState();
}

QByteArray readWholeFile(const QString& path, FileState* state, const Progress& progress) {
  const QFileInfo info(path);
  const QString name = info.fileName();
  if (info.isDir()) fail(QString("%1 is a folder, not a notebook.").arg(path));
  if (!info.exists()) fail(QString("There is no file %1.").arg(path));
  if (!info.isFile()) fail(QString("%1 is not a regular file.").arg(path));
  if (info.size() > maximum_notebook_bytes) {
    fail(QString(
             "%1 has %2; notebooks of more than %3 can't be opened. Its outputs can be cleared with `jupyter "
             "nbconvert --clear-output --inplace %1`.")
             .arg(name, QLocale::c().formattedDataSize(info.size()),
                  QLocale::c().formattedDataSize(maximum_notebook_bytes)));
  }
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) {
    fail(QString("%1 can't be opened: %2.").arg(path, reasonOf(errno)));
  }
  struct stat status;
  if (state && ::fstat(file.handle(), &status) == 0) *state = stateOf(status);
  constexpr qint64 piece = 4 << 20;
  QByteArray bytes;
  bytes.reserve(file.size() + 1);
  while (!file.atEnd()) {
    if (progress && !progress(static_cast<double>(bytes.size()) / static_cast<double>(file.size() + 1)))
      throw Stopped();
    bytes += file.read(piece);
    if (file.error() != QFileDevice::NoError) {
      fail(QString("%1 can't be read: %2.").arg(path, file.errorString()));
    }
  }
  return bytes;
}

FileState writeFileAtomically(const QString& path, const QByteArray& bytes, const WriteOptions& options) {
  if (bytes.size() > maximum_notebook_bytes)
    fail(QString("%1 can't be saved: it would have %2, and files larger than %3 can't be opened again. "
                 "Clear the outputs of some cells.")
             .arg(path, QLocale::c().formattedDataSize(bytes.size()),
                  QLocale::c().formattedDataSize(maximum_notebook_bytes)));
  const QFileInfo given(path);
  if (given.isDir()) fail(QString("%1 can't be saved: it is a folder.").arg(path));
  QString target = given.absoluteFilePath();
  if (given.exists()) {
    target = given.canonicalFilePath();
  } else if (given.isSymLink()) {
    target = given.symLinkTarget();
  }
  if (isReadOnly(target)) fail(QString("%1 can't be saved: the file is read-only.").arg(path));
  const QString folder = QFileInfo(target).absolutePath();
  if (!QFileInfo(folder).isDir()) {
    fail(QString("%1 can't be saved: there is no folder %2.").arg(path, folder));
  }
  const QString temporary =
      QString("%1/.tapedeck-%2.tmp").arg(folder, QUuid::createUuid().toString(QUuid::Id128).left(12));
  TemporaryFile file(QFile::encodeName(temporary), options.mode);
  if (!file.isOpen()) {
    fail(QString("%1 can't be saved: nothing can be written in the folder %2, %3.")
             .arg(path, folder, reasonOf(errno)));
  }
  struct stat old;
  int error = 0;
  if (::stat(QFile::encodeName(target).constData(), &old) == 0) error = file.setMode(old.st_mode & 07777);
  if (error == 0) error = file.write(bytes, options.progress);
  if (error == 0) error = file.sync();
  const FileState written = file.state();
  if (error == 0 && options.beforeReplacing) options.beforeReplacing();
  if (error == 0) error = file.renameTo(QFile::encodeName(target));
  if (error != 0) {
    fail(QString("%1 can't be saved: %2. The file on disk is unchanged.").arg(path, reasonOf(error)));
  }
  syncFolder(QFile::encodeName(folder));
  return written;
}

bool isReadOnly(const QString& path) {
  struct stat status;
  const QByteArray name = QFile::encodeName(path);
  if (path.isEmpty() || ::stat(name.constData(), &status) != 0) return false;
  return (status.st_mode & 0222) == 0 || ::access(name.constData(), W_OK) != 0;
}

}  // namespace tapedeck::app
