// Paths as people read them.
#pragma once

#include <QDir>
#include <QString>

namespace tapedeck::app {

/// "~/models" for what is in the user's home folder.
inline QString shortPath(const QString& path) {
  const QString home = QDir::homePath();
  return path == home ? "~" : path.startsWith(home + '/') ? '~' + path.mid(home.size()) : path;
}

}  // namespace tapedeck::app
