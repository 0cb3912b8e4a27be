// The line in which a bookmark's note is typed: Enter saves it, Esc changes nothing.
#pragma once

#include <QDialog>

#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/session/cell_names.h"

class QLineEdit;

namespace tapedeck::app {

/// Where the op ran: "cell [3], line 4".
QString placeText(const inspector::Bookmark& bookmark, const inspector::CellNames& cells);

class BookmarkNote : public QDialog {
  Q_OBJECT
 public:
  /// Deletes itself when it closes.
  BookmarkNote(const inspector::Bookmark& bookmark, const QString& place, QWidget* parent);
  void open() override;

 signals:
  void kept(const QString& note);

 private:
  QLineEdit* field_;
};

}  // namespace tapedeck::app
