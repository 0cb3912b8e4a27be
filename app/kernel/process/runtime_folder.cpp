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

namespace tapedeck::app {
namespace {

constexpr auto prefix = "s-";

/// The longest path of a socket: "/s-XXXXXX/debug", behind the base folder's, and a NUL.
constexpr int longestBase = int{sizeof(sockaddr_un::sun_path)} - 1 - int{sizeof("/s-XXXXXX/debug") - 1};

/// True where `path` is, or now became, a real folder of this user that nobody else can enter.
bool ownPrivateFolder(const QString& path) {
  const QByteArray name = QFile::encodeName(path);
  if (name.size() > longestBase) return false;
  if (::mkdir(name.constData(), 0700) != 0 && errno != EEXIST) return false;
  struct stat status {};
  if (::lstat(name.constData(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
    return false;
  return (status.st_mode & 0777) == 0700 || ::chmod(name.constData(), 0700) == 0;
}

bool oldEnough(const QString& path, int seconds) {
  return QFileInfo(path).lastModified().secsTo(QDateTime::currentDateTime()) >= seconds;
}

}  // namespace

QString RuntimeFolder::baseFolder() {
  const QString runtime = qEnvironmentVariable("XDG_RUNTIME_DIR");
  if (!runtime.isEmpty() && QDir::isAbsolutePath(runtime)) {
    const QString path = QDir::cleanPath(runtime) + QStringLiteral("/tapedeck");
    if (ownPrivateFolder(path)) return path;
  }
  const QString name = QStringLiteral("/tapedeck-%1").arg(::geteuid());
  for (const QString& folder : {QDir::tempPath(), QStringLiteral("/tmp")})
    if (ownPrivateFolder(folder + name)) return folder + name;
  throw std::runtime_error(("No folder can be made for the session's sockets: neither in XDG_RUNTIME_DIR (" +
                            (runtime.isEmpty() ? QStringLiteral("not set") : runtime) + ") nor " +
                            QDir::tempPath() + name)
                               .toStdString());
}

RuntimeFolder::RuntimeFolder(const QString& base) {
  QByteArray name = QFile::encodeName(base) + '/' + prefix + "XXXXXX";
  if (!::mkdtemp(name.data()))
    throw std::runtime_error(
        ("No folder can be made in " + base + " for the session's sockets: " + std::strerror(errno))
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
    if (!oldEnough(path, minimumAgeSeconds)) continue;
    const int lock =
        ::open(QFile::encodeName(path + QStringLiteral("/lock")).constData(), O_RDWR | O_CLOEXEC);
    const bool held = lock >= 0 && ::flock(lock, LOCK_EX | LOCK_NB) != 0;
    if (!held && QDir(path).removeRecursively()) ++removed;
    if (lock >= 0) ::close(lock);
  }
  return removed;
}

}  // namespace tapedeck::app
