// Files read whole and written atomically, with errors for the user.
#pragma once

#include <QByteArray>
#include <QString>
#include <functional>

namespace tapedeck::app {

/// Larger ones are refused: Qt's texts and the notebook in memory would take many times as much.
constexpr qint64 maximum_notebook_bytes = qint64(2) << 30;

/// Identifies a file's contents: differs after every write by any program.
struct FileState {
  bool exists = false;
  quint64 device = 0;
  quint64 inode = 0;
  qint64 size = 0;
  qint64 modified = 0;  ///< nanoseconds since 1970
  bool operator==(const FileState&) const = default;
};
FileState fileState(const QString& path);

/// From 0 to 1; false stops what runs, which throws Stopped.
using Progress = std::function<bool(double)>;
struct Stopped {};

/// Throws NotebookError, and Stopped. `state`: of what was read.
QByteArray readWholeFile(const QString& path, FileState* state = nullptr, const Progress& progress = {});

/// Options of writeFileAtomically().
struct WriteOptions {
  unsigned mode = 0666;  ///< of a new file, before the umask
  Progress progress;
  /// Called when everything is written and nothing replaced yet; if it throws, the file is unchanged.
  std::function<void()> beforeReplacing;
};

/// Replaces the file's contents by `bytes`, or leaves it unchanged and throws NotebookError (or Stopped): a
/// temporary file in the same folder is written, synced and renamed. Keeps the file's permissions; where
/// `path` is a link, the file that it leads to is replaced. Returns the file's new state.
FileState writeFileAtomically(const QString& path, const QByteArray& bytes, const WriteOptions& options = {});

/// For the end of a sentence: "the disk is full". Of an errno.
QString reasonOf(int error);

/// The file exists and can't or must not be written (also where root could).
bool isReadOnly(const QString& path);

}  // namespace tapedeck::app
