// The files of a program that runs elsewhere, as cells of a document: each is one, named by its path.
#pragma once

#include <QDateTime>
#include <QObject>
#include <QSet>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// A file comes with the first line that is to be shown of it. The document is locked: the lines are the
/// program's.
class ProgramSources : public QObject {
  Q_OBJECT
 public:
  /// `file`: the program's own; empty: it has none. `started`: files that are newer may say something else
  /// than what runs.
  ProgramSources(Document* document, const QString& file, const QDateTime& started,
                 QObject* parent = nullptr);

  /// Looks for the file of a cell that is not there yet. One that can't be read, or is no text, is left out.
  void show(const QString& cell);
  /// Why what is shown may not be what runs; empty: nothing is known against it.
  QString doubt() const;

 private:
  bool read(const QString& path, QString& source);

  Document* document_;
  QDateTime started_;
  QSet<QString> tried_;
  QStringList newer_;
};

}  // namespace tapedeck::app
