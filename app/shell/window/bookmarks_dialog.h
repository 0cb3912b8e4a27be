// All bookmarks of a notebook, also of runs that are gone. Stays open beside the work.
#pragma once

#include <QDialog>

#include "inspector/model/ops/bookmarks.h"
#include "inspector/model/session/cell_names.h"

class QLabel;
class QPushButton;
class QTreeWidget;

namespace tapedeck::app {

class BookmarksDialog : public QDialog {
  Q_OBJECT
 public:
  BookmarksDialog(inspector::Session* session, inspector::Bookmarks* bookmarks, inspector::CellNames* cells,
                  QWidget* parent);
  /// The keyboard goes to the list.
  void open() override;

 signals:
  void noteWanted(const tapedeck::inspector::Bookmark& bookmark);

 protected:
  void keyPressEvent(QKeyEvent* event) override;

 private:
  void fill();
  void fillSoon();
  void go();
  void editNote();
  void removeCurrent();
  void enableButtons();
  const inspector::Bookmark* current() const;

  inspector::Session* session_;
  inspector::Bookmarks* bookmarks_;
  inspector::CellNames* cells_;
  std::vector<inspector::Bookmark> shown_;
  bool due_ = false;
  QTreeWidget* list_;
  QLabel* summary_;
  QPushButton *go_, *note_, *remove_;
};

}  // namespace tapedeck::app
