// The headings of a notebook's Markdown cells, kept in step with the document. QtCore only.
#pragma once

#include <QHash>
#include <QList>
#include <QObject>
#include <QTimer>

#include "app/notebook/document/document.h"

namespace tapedeck::app {

struct Heading {
  QString cellId;
  int level = 1;  ///< 1 to 6
  QString text;   ///< without Markdown's marks
  bool operator==(const Heading&) const = default;
};

/// The headings of one Markdown text: "# …" and underlined ones, those in fenced code left out.
QList<Heading> headingsOf(const QString& markdown);

class OutlineModel : public QObject {
  Q_OBJECT
 public:
  explicit OutlineModel(Document* document, QObject* parent = nullptr);

  const QList<Heading>& headings() const { return headings_; }
  /// The heading under which a cell stands: its own first one, or the last one above it; -1: none.
  int headingOver(int cell) const;

 signals:
  void changed();

 private:
  void forget(int cell);
  void refresh();

  Document* document_;
  QTimer timer_;
  QHash<QString, QList<Heading>> known_;  ///< by cell
  QList<Heading> headings_;
};

}  // namespace tapedeck::app
