#include "app/shell/window/bookmarks_dialog.h"

#include <QDateTime>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/shell/window/bookmark_note.h"
#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {

using inspector::Bookmark;
using inspector::BookmarkState;
using inspector::countText;

namespace {

constexpr QSize bookmarks_size(760, 380);
enum BookmarkColumn { number_column, op_column, place_column, note_column, state_column };

QString stateText(const Bookmark& bookmark, BookmarkState state) {
  switch (state) {
    case BookmarkState::here:
      return "here";
    case BookmarkState::forgotten:
      return "its record was forgotten";
    case BookmarkState::gone:
      break;
  }
  return QString("its run is gone (session of %1)")
      .arg(QDateTime::fromMSecsSinceEpoch(bookmark.session).toString("yyyy-MM-dd hh:mm"));
}

}  // namespace

BookmarksDialog::BookmarksDialog(inspector::Session* session, inspector::Bookmarks* bookmarks,
                                 inspector::CellNames* cells, QWidget* parent)
    : QDialog(parent),
      session_(session),
      bookmarks_(bookmarks),
      cells_(cells),
      list_(new QTreeWidget),
      summary_(inspector::plainLabel(this)),
      go_(new QPushButton("&Go there")),
      note_(new QPushButton("&Note…")),
      remove_(new QPushButton("&Remove")) {
  setObjectName("bookmarksDialog");
  setWindowTitle("Bookmarks");
  resize(bookmarks_size);
  auto* rows = new QVBoxLayout(this);
  list_->setObjectName("bookmarksList");
  list_->setAccessibleName("Bookmarks");
  list_->setHeaderLabels({"#", "Op", "Where", "Note", "Record"});
  list_->setRootIsDecorated(false);
  list_->setAllColumnsShowFocus(true);
  list_->setUniformRowHeights(true);
  list_->header()->setStretchLastSection(false);
  list_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  list_->header()->setSectionResizeMode(note_column, QHeaderView::Stretch);
  rows->addWidget(list_, 1);
  summary_->setObjectName("bookmarksSummary");
  summary_->setWordWrap(true);
  rows->addWidget(summary_);
  go_->setObjectName("bookmarksGo");
  go_->setToolTip("Move the cursor to the op (Enter)");
  note_->setObjectName("bookmarksNote");
  note_->setToolTip("Edit the note (F2)");
  remove_->setObjectName("bookmarksRemove");
  remove_->setToolTip("Remove the bookmark (Del)");
  auto* close = new QPushButton("Close");
  close->setToolTip("Close (Esc)");
  auto* buttons = new QHBoxLayout;
  for (QPushButton* button : {go_, note_, remove_}) buttons->addWidget(button);
  buttons->addStretch(1);
  buttons->addWidget(close);
  for (QPushButton* button : {go_, note_, remove_, close}) button->setAutoDefault(false);
  rows->addLayout(buttons);
  connect(go_, &QPushButton::clicked, this, &BookmarksDialog::go);
  connect(note_, &QPushButton::clicked, this, &BookmarksDialog::editNote);
  connect(remove_, &QPushButton::clicked, this, &BookmarksDialog::removeCurrent);
  connect(close, &QPushButton::clicked, this, &QDialog::reject);
  connect(list_, &QTreeWidget::itemActivated, this, &BookmarksDialog::go);
  connect(list_, &QTreeWidget::currentItemChanged, this, &BookmarksDialog::enableButtons);
  connect(bookmarks, &inspector::Bookmarks::changed, this, &BookmarksDialog::fillSoon);
  connect(cells, &inspector::CellNames::changed, this, &BookmarksDialog::fillSoon);
  fill();
}

void BookmarksDialog::open() {
  show();
  raise();
  activateWindow();
  list_->setFocus();
}

/// Names of cells change while they run: once for all that comes in one turn.
void BookmarksDialog::fillSoon() {
  if (std::exchange(due_, true)) return;
  QTimer::singleShot(0, this, &BookmarksDialog::fill);
}

void BookmarksDialog::fill() {
  due_ = false;
  const std::optional<Bookmark> before = current() ? std::optional(*current()) : std::nullopt;
  const int row = list_->indexOfTopLevelItem(list_->currentItem());
  list_->clear();
  shown_ = bookmarks_->all();
  int away = 0;
  QTreeWidgetItem* again = nullptr;
  for (const Bookmark& bookmark : shown_) {
    const BookmarkState state = bookmarks_->state(bookmark);
    const QString said = stateText(bookmark, state);
    auto* item = new QTreeWidgetItem(
        list_, {countText(bookmark.record), bookmark.op, placeText(bookmark, *cells_), bookmark.note, said});
    item->setTextAlignment(number_column, Qt::AlignRight | Qt::AlignVCenter);
    item->setToolTip(note_column, inspector::plainTip(bookmark.note));
    const QString whole = QString("op %1, %2, %3: %4; %5")
                              .arg(item->text(number_column), bookmark.op, item->text(place_column),
                                   bookmark.note.isEmpty() ? "no note" : bookmark.note, said);
    item->setData(number_column, Qt::AccessibleTextRole, whole);
    if (state != BookmarkState::here) {
      ++away;
      for (int column = 0; column <= state_column; ++column)
        item->setForeground(column, palette().color(QPalette::PlaceholderText));
    }
    if (before && before->session == bookmark.session && before->record == bookmark.record) again = item;
  }
  // The one that was chosen; where it was removed, the one that took its place.
  if (!again && list_->topLevelItemCount() > 0)
    again = list_->topLevelItem(std::clamp(row, 0, list_->topLevelItemCount() - 1));
  list_->setCurrentItem(again);
  summary_->setText(
      shown_.empty()
          ? QString("No bookmarks yet. Ctrl+B sets one on the op at the cursor.")
          : QString("%1 %2.%3")
                .arg(countText(shown_.size()), shown_.size() == 1 ? "bookmark" : "bookmarks",
                     away == 0 ? QString()
                               : QString(" %1: in a trace of that session the op is found again.")
                                     .arg(away == 1 ? QString("1 is of a run that is gone")
                                                    : QString("%1 are of runs that are gone")
                                                          .arg(countText(static_cast<quint64>(away))))));
  enableButtons();
}

const Bookmark* BookmarksDialog::current() const {
  const int row = list_->indexOfTopLevelItem(list_->currentItem());
  return row < 0 || row >= static_cast<int>(shown_.size()) ? nullptr : &shown_[static_cast<std::size_t>(row)];
}

void BookmarksDialog::enableButtons() {
  const Bookmark* bookmark = current();
  go_->setEnabled(bookmark && bookmarks_->state(*bookmark) == BookmarkState::here);
  note_->setEnabled(bookmark);
  remove_->setEnabled(bookmark);
}

void BookmarksDialog::go() {
  const Bookmark* bookmark = current();
  if (bookmark && bookmarks_->state(*bookmark) == BookmarkState::here) session_->setCursor(bookmark->record);
}

void BookmarksDialog::editNote() {
  if (const Bookmark* bookmark = current()) emit noteWanted(*bookmark);
}

void BookmarksDialog::removeCurrent() {
  if (const Bookmark* bookmark = current()) bookmarks_->remove(*bookmark);
}

void BookmarksDialog::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Delete) return removeCurrent();
  if (event->key() == Qt::Key_F2) return editNote();
  QDialog::keyPressEvent(event);
}

}  // namespace tapedeck::app
