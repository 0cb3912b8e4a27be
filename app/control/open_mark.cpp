#include "app/control/open_mark.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFileInfo>
#include <QStandardPaths>

namespace tapedeck::app {

bool OpenMark::set(const QString& path) {
  lock_.reset();
  if (path.isEmpty()) return true;
  const QString folder = QStandardPaths::writableLocation(QStandardPaths::AppDataLocation) + "/open";
  QDir().mkpath(folder);
  QString file = QFileInfo(path).canonicalFilePath();
  if (file.isEmpty()) file = QFileInfo(path).absoluteFilePath();
  const QByteArray name = QCryptographicHash::hash(file.toUtf8(), QCryptographicHash::Sha1).toHex();
  auto lock = std::make_unique<QLockFile>(folder + "/" + QString::fromLatin1(name) + ".lock");
  lock->setStaleLockTime(0);  // however long a notebook is open
  if (!lock->tryLock(0)) return lock->error() != QLockFile::LockFailedError;
  lock_ = std::move(lock);
  return true;
}

}  // namespace tapedeck::app
