#include "app/kernel/process/runtime_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <QDateTime>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "app/kernel/process/private_folder.h"

namespace tapedeck::app {
namespace {

constexpr auto prefix = "s-";

/// The longest path of a socket: "/s-XXXXXX/debug", behind the base folder's, and a NUL.
constexpr int longestBase = int{sizeof(sockaddr_un::sun_path)} - 1 - int{sizeof("/s-XXXXXX/debug") - 1};

/// A real folder of the user's own: what is in it can be removed without anybody exchanging it meanwhile.
bool isOwn(const QString& path) {
  struct stat status {};
  return ::lstat(QFile::encodeName(path).constData(), &status) == 0 && S_ISDIR(status.st_mode) &&
         status.st_uid == ::geteuid() && (status.st_mode & 022) == 0;
}

QString absoluteVariable(const char* name) {
  const QString path = qEnvironmentVariable(name);
  return QDir::isAbsolutePath(path) ? QDir::cleanPath(path) : QString();
}

/// Of the user's cache directory; empty where there is none.
QString cacheFolder() {
  const QString cache = absoluteVariable("XDG_CACHE_HOME");
  if (!cache.isEmpty()) return cache + QStringLiteral("/tapedeck");
  const QString home = absoluteVariable("HOME");
  return home.isEmpty() ? QString() : home + QStringLiteral("/.cache/tapedeck");
}

bool oldEnough(const QString& path, int seconds) {
  return QFileInfo(path).lastModified().secsTo(QDateTime::currentDateTime()) >= seconds;
}

}  // namespace

QStringList RuntimeFolder::baseFolders() {
  QStringList places;
  const QString runtime = absoluteVariable("XDG_RUNTIME_DIR"), temporary = absoluteVariable("TMPDIR");
  const QString name = QStringLiteral("/tapedeck-%1").arg(::geteuid());
  if (!runtime.isEmpty()) places << runtime + QStringLiteral("/tapedeck");
  if (!temporary.isEmpty()) places << temporary + name;
  places << QStringLiteral("/tmp") + name;
  // Where another user can't have taken the name.
  if (const QString cache = cacheFolder(); !cache.isEmpty()) places << cache + QStringLiteral("/run");
  places.removeDuplicates();
  return places;
}

QString RuntimeFolder::baseFolder(const QStringList& places) {
  const QString cache = cacheFolder();
  for (const QString& path : places) {
    if (QFile::encodeName(path).size() > longestBase) continue;
    if (!cache.isEmpty() && QFileInfo(path).path() == cache) {
      QDir().mkpath(QFileInfo(cache).path());
      PrivateFolder::open(cache, PrivateFolder::Missing::isMade);
    }
    if (PrivateFolder::open(path, PrivateFolder::Missing::isMade)) return path;
  }
  throw std::runtime_error(
      ("No folder that only you can enter can be created for the session's sockets: tried " +
       places.join(QStringLiteral(", ")))
          .toStdString());
}

RuntimeFolder::RuntimeFolder(const QString& base) {
  QByteArray name = QFile::encodeName(base) + '/' + prefix + "XXXXXX";
  if (!::mkdtemp(name.data()))
    throw std::runtime_error(
        ("No folder can be created in " + base + " for the session's sockets: " + std::strerror(errno))
            .toStdString());
  path_ = QFile::decodeName(name);
  lock_ = ::open((name + "/lock").constData(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX | LOCK_NB);
}

RuntimeFolder::~RuntimeFolder() {
  QDir(path_).removeRecursively();
  if (lock_ >= 0) ::close(lock_);
}

int RuntimeFolder::removeStale(const QString& base, int minimumAgeSeconds) {
  int removed = 0;
  const auto folders = QDir(base).entryInfoList({QLatin1String(prefix) + QLatin1Char('*')},
                                                QDir::Dirs | QDir::NoDotAndDotDot | QDir::NoSymLinks);
  for (const QFileInfo& folder : folders) {
    const QString path = folder.absoluteFilePath();
    if (!oldEnough(path, minimumAgeSeconds) || !isOwn(path)) continue;
    const int lock = ::open(QFile::encodeName(path + QStringLiteral("/lock")).constData(),
                            O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    const bool held = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0;
    if (!held && QDir(path).removeRecursively()) ++removed;
    if (lock >= 0) ::close(lock);
  }
  return removed;
}

}  // namespace tapedeck::app
