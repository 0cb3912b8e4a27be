// Whole files, as tests read and write them.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QString>

namespace tapedeck::test {

/// What is in a file; "cannot open" where it cannot be read, so that a comparison says so.
inline QByteArray contents(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("cannot open");
}

/// Makes a file, or replaces what is in it. Returns its path. A test that cannot write ends there.
inline QString write(const QString& path, const QByteArray& bytes) {
  QFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
    qFatal("cannot write %s", qPrintable(path));
  return path;
}

}  // namespace tapedeck::test
