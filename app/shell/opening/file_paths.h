// Which files can be opened here, and which are one and the same.
#pragma once

#include <QFileInfo>
#include <QMimeData>
#include <QUrl>

#include "app/kernel/debug/trace_session.h"
#include "app/notebook/document/script.h"

namespace tapedeck::app {

/// Whether two paths lead to the same file, also through symbolic links.
inline bool isSameFile(const QString& a, const QString& b) {
  if (a.isEmpty() || b.isEmpty()) return false;
  const QString one = QFileInfo(a).canonicalFilePath();
  if (one.isEmpty()) return QFileInfo(a).absoluteFilePath() == QFileInfo(b).absoluteFilePath();
  return one == QFileInfo(b).canonicalFilePath();
}

/// Of what is dragged, the files that can be opened.
inline QStringList filesIn(const QMimeData* data) {
  QStringList paths;
  for (const QUrl& url : data->urls())
    if (const QString path = url.toLocalFile();
        path.endsWith(QLatin1String(".ipynb")) || isScript(path) || isTraceFile(path))
      paths << path;
  return paths;
}

}  // namespace tapedeck::app
