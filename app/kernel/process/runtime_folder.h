// The folder of a session's connection file and sockets, which only the user can enter.
#pragma once

#include <QString>
#include <QStringList>
#include <memory>

namespace tapedeck::app {

/// One session's folder, mode 0700; removed with this object. While the object lives its file `lock` is
/// locked, so that folders of dead programs can be told from those in use.
class RuntimeFolder {
 public:
  /// Throws std::runtime_error with a sentence where no folder can be made.
  explicit RuntimeFolder(const QString& base = baseFolder());
  ~RuntimeFolder();
  RuntimeFolder(const RuntimeFolder&) = delete;

  const QString& path() const { return path_; }

  /// The first of `places` that is the user's alone (PrivateFolder), or now became so. Short enough that
  /// a socket's path in a session's folder stays below the system's limit. Throws std::runtime_error.
  static QString baseFolder(const QStringList& places);
  static QString baseFolder() { return baseFolder(baseFolders()); }
  /// `$XDG_RUNTIME_DIR/tapedeck`, the user's own name among the temporary files, and for the case that
  /// another user has taken that, the user's cache folder. endpoint.py has the same list.
  static QStringList baseFolders();
  /// Removes the folders in `base` that no living program holds and that are older than `minimumAgeSeconds`
  /// (a younger one may not be locked yet). Returns how many.
  static int removeStale(const QString& base = baseFolder(), int minimumAgeSeconds = 10);

 private:
  QString path_;
  int lock_ = -1;
};

}  // namespace tapedeck::app
