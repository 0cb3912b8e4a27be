// Files read whole and written atomically, with errors for people.
#pragma once

#include <QByteArray>
#include <QString>

namespace tapedeck::app {

/// Larger ones are refused: Qt's texts and the notebook in memory would take many times as much.
constexpr qint64 maximum_notebook_bytes = qint64(2) << 30;

/// Throws NotebookError.
QByteArray readWholeFile(const QString& path);

/// Replaces the file by `bytes`, or leaves it as it was and throws NotebookError: a temporary file in the
/// same folder is written, synced and renamed. Keeps the file's permissions; where `path` is a link, the file
/// that it leads to is replaced. `mode`: of a new file, before the umask.
void writeFileAtomically(const QString& path, const QByteArray& bytes, unsigned mode = 0666);

/// The file is there and must not or can not be written (also where root could).
bool isReadOnly(const QString& path);

}  // namespace tapedeck::app
