// The files of a program that runs elsewhere, as cells of a document: each is one, named by its path.
#pragma once

#include <QDateTime>
#include <QObject>
#include <QSet>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

/// A file is added when the first of its lines is to be shown. The document is read-only: the lines belong
/// to the program.
class ProgramSources : public QObject {
  Q_OBJECT
 public:
  /// `file`: the program's own; empty: it has none. `started`: files that are newer may differ from the code
  /// that runs.
  ProgramSources(Document* document, const QString& file, const QDateTime& started,
                 QObject* parent = nullptr);

  /// Looks for the file of a cell that is not there yet. One that can't be read, or is not text, is left out.
  void show(const QString& cell);
  /// Why the text shown may not be the code that runs; empty: there is no reason to doubt it.
  QString doubt() const;

 private:
  bool read(const QString& path, QString& source);

  Document* document_;
  QDateTime started_;
  QSet<QString> tried_;
  QStringList newer_;
};

}  // namespace tapedeck::app
