// The folder in which a session's connection file and sockets lie, and into which only the user can look.
#pragma once

#include <QString>
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

  /// `$XDG_RUNTIME_DIR/tapedeck`, else the user's own folder among the temporary files. Made where it is
  /// missing, with mode 0700. Short enough that a socket's path in a session's folder stays below the
  /// system's limit.
  static QString baseFolder();
  /// Removes the folders in `base` that no living program holds and that are older than `minimumAgeSeconds`
  /// (a younger one may not be locked yet). Returns how many.
  static int removeStale(const QString& base = baseFolder(), int minimumAgeSeconds = 10);

 private:
  QString path_;
  int lock_ = -1;
};

}  // namespace tapedeck::app
