#include "app/control/recovery_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QUuid>
#include <memory>

#include "app/notebook/document/document.h"

namespace tapedeck::app {
namespace {

QString root() {
  return QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/recovery";
}

QByteArray lockName(const QString& folder) {
  return QFile::encodeName(folder + "/lock");
}

/// A descriptor that holds the folder's lock; -1: another process holds it, or there is none.
int lock(const QString& folder, int flags) {
  const int descriptor = ::open(lockName(folder).constData(), O_RDWR | O_CLOEXEC | flags, 0600);
  if (descriptor < 0) return -1;
  if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return descriptor;
  ::close(descriptor);
  return -1;
}

/// Journals whose recovery file is gone.
void removeJournals(const QString& folder) {
  for (const QString& name : QDir(folder).entryList({"*.journal"}, QDir::Files))
    QFile::remove(folder + "/" + name);
}

class OwnFolder {
 public:
  OwnFolder() {
    const QString name = QUuid::createUuid().toString(QUuid::Id128);
    // Made under a hidden name and renamed once it is locked: another process never sees it unlocked.
    const QString hidden = root() + "/." + name;
    path_ = root() + "/" + name;
    QDir().mkpath(root());
    ::chmod(QFile::encodeName(root()).constData(), 0700);
    if (::mkdir(QFile::encodeName(hidden).constData(), 0700) == 0) descriptor_ = lock(hidden, O_CREAT);
    if (descriptor_ < 0 || !QDir().rename(hidden, path_)) path_.clear();
  }
  ~OwnFolder() {
    if (path_.isEmpty()) return;
    if (QDir(path_).entryList({"*.recovery"}, QDir::Files).isEmpty()) {
      removeJournals(path_);
      ::unlink(lockName(path_).constData());
      ::rmdir(QFile::encodeName(path_).constData());
    }
    ::close(descriptor_);
  }
  OwnFolder(const OwnFolder&) = delete;
  OwnFolder& operator=(const OwnFolder&) = delete;

  QString path() const { return path_; }

 private:
  QString path_;
  int descriptor_ = -1;
};

}  // namespace

QString ownRecoveryFolder() {
  static auto folder = std::make_unique<OwnFolder>();
  // The folder may have been removed while the program runs.
  if (!QFileInfo::exists(folder->path())) folder = std::make_unique<OwnFolder>();
  if (folder->path().isEmpty()) {
    throw NotebookError("No recovery files can be written in " + root().toStdString() + ".");
  }
  return folder->path();
}

QStringList abandonedRecoveryFolders() {
  QStringList abandoned;
  const QDir folder(root());
  for (const QString& name : folder.entryList(QDir::Dirs | QDir::NoDotAndDotDot)) {
    const QString path = folder.filePath(name);
    const int descriptor = lock(path, 0);
    if (descriptor < 0) continue;
    ::close(descriptor);
    abandoned += path;
  }
  return abandoned;
}

void removeIfEmpty(const QString& folder) {
  if (!QDir(folder).entryList({"*.recovery"}, QDir::Files).isEmpty()) return;
  removeJournals(folder);
  ::unlink(lockName(folder).constData());
  ::rmdir(QFile::encodeName(folder).constData());
}

}  // namespace tapedeck::app
