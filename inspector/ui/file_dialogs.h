// How the program asks for the path of a file to save or export, and writes it.
#pragma once

#include <QByteArray>
#include <QString>

class QWidget;

namespace tapedeck::inspector {

/// `name` in the folder where a file dialog that `asking` opens should begin: that of the notebook whose
/// window `asking` belongs to (the window's file path), else the one used last, else the home folder. Never
/// the working folder of the program, which means nothing to its user.
QString suggestedPath(const QWidget* asking, const QString& name);

/// The folder of `path` is where the next dialog of a notebook without a file begins.
void rememberFolder(const QString& path);

/// Asks where to write; empty when the user cancelled. `filter` as QFileDialog has it, its first
/// suffix completes a name without one (before the question about replacing a file). Remembers the folder.
QString askForPath(QWidget* asking, const QString& title, const QString& name, const QString& filter);

/// Replaces the file by `bytes` whole, or leaves it unchanged and says why in `error`: never half a file. A
/// link's target is replaced, permissions stay.
bool replaceFile(const QString& path, const QByteArray& bytes, QString* error);

}  // namespace tapedeck::inspector
