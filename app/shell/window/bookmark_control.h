// Bookmarks by keys and menu: set, removed, given notes, gone through.
#pragma once

#include <QObject>
#include <QPointer>
#include <optional>

#include "app/kernel/kernel.h"
#include "app/notebook/document/document.h"
#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/session/cell_names.h"

class QWidget;

namespace tapedeck::app {

class Actions;
class BookmarkNote;
class BookmarksDialog;

class BookmarkControl : public QObject {
  Q_OBJECT
 public:
  struct Parts {
    Kernel* kernel;
    Document* document;
    inspector::Session* session;
    inspector::Bookmarks* bookmarks;
    inspector::CellNames* cells;
    Actions* actions;
  };
  BookmarkControl(const Parts& parts, QWidget* window);

 signals:
  /// For the status bar: what was done, or why nothing was.
  void told(const QString& sentence);

 private:
  void toggle();
  void editNote();
  void go(bool after);
  void list();
  void openNote(const inspector::Bookmark& bookmark);
  void keep(inspector::Bookmark bookmark, const QString& note);
  QString whyNone(inspector::RecordNumber record);
  QString whereKept() const;

  Parts parts_;
  QWidget* window_;
  QPointer<BookmarkNote> note_;
  QPointer<BookmarksDialog> list_;
  std::optional<inspector::Bookmark> removed_;  ///< the one that was removed last: its note is offered again
};

}  // namespace tapedeck::app
