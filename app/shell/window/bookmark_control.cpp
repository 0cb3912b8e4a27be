#include "app/shell/window/bookmark_control.h"

#include <algorithm>

#include "app/notebook/document/script.h"
#include "app/shell/window/actions.h"
#include "app/shell/window/bookmark_note.h"
#include "app/shell/window/bookmarks_dialog.h"
#include "inspector/model/format.h"

namespace tapedeck::app {

using inspector::Bookmark;
using inspector::Bookmarks;
using inspector::BookmarkState;
using inspector::countText;

BookmarkControl::BookmarkControl(const Parts& parts, QWidget* window)
    : QObject(window), parts_(parts), window_(window) {
  const auto on = [this](const char* id, auto&& act) {
    connect((*parts_.actions)[id], &QAction::triggered, this, std::forward<decltype(act)>(act));
  };
  on("step.bookmark", [this] { toggle(); });
  on("step.bookmark_note", [this] { editNote(); });
  on("step.previous_bookmark", [this] { go(false); });
  on("step.next_bookmark", [this] { go(true); });
  on("step.bookmarks", [this] { list(); });
}

void BookmarkControl::toggle() {
  const inspector::RecordNumber record = parts_.session->cursor();
  if (const Bookmark* there = parts_.bookmarks->find(record)) {
    removed_ = *there;
    parts_.bookmarks->remove(*removed_);
    return emit told(QString("The bookmark on op %1 is removed. Ctrl+B sets it again%2.")
                         .arg(countText(record), removed_->note.isEmpty() ? "" : ", with its note"));
  }
  std::optional<Bookmark> bookmark = parts_.bookmarks->of(record);
  if (!bookmark) return emit told(whyNone(record));
  if (removed_ && removed_->session == bookmark->session && removed_->record == record)
    bookmark->note = removed_->note;
  openNote(*bookmark);
}

QString BookmarkControl::whyNone(inspector::RecordNumber record) {
  if (record == 0) return "A bookmark goes on an op, and none has run yet.";
  if (parts_.session->started() == 0)
    return "It is not known which session this is, so the op could not be found again.";
  if (!parts_.session->record(record))
    return parts_.session->live()
               ? QString("Op %1 is still being fetched: try again in a moment.").arg(countText(record))
               : QString("Op %1 was not fetched before the session ended.").arg(countText(record));
  return QString("Op %1 was forgotten: a bookmark on it would lead nowhere.").arg(countText(record));
}

void BookmarkControl::editNote() {
  const inspector::RecordNumber record = parts_.session->cursor();
  if (const Bookmark* there = parts_.bookmarks->find(record)) return openNote(*there);
  emit told(record == 0 ? whyNone(record)
                        : QString("Op %1 has no bookmark. Ctrl+B sets one.").arg(countText(record)));
}

void BookmarkControl::openNote(const Bookmark& bookmark) {
  if (note_) note_->reject();
  note_ = new BookmarkNote(bookmark, placeText(bookmark, *parts_.cells),
                           list_ && list_->isVisible() ? static_cast<QWidget*>(list_) : window_);
  connect(note_, &BookmarkNote::kept, this, [this, bookmark](const QString& note) { keep(bookmark, note); });
  note_->open();
}

void BookmarkControl::keep(Bookmark bookmark, const QString& note) {
  bookmark.note = note;
  if (!parts_.bookmarks->set(bookmark))
    return emit told(
        QString("There are already %1 bookmarks, the most that a notebook may have: remove some first.")
            .arg(countText(Bookmarks::most)));
  emit told(QString("Bookmark on op %1%2. %3")
                .arg(countText(bookmark.record), note.isEmpty() ? QString() : ": " + note, whereKept()));
}

QString BookmarkControl::whereKept() const {
  switch (parts_.kernel->runs()) {
    case Runs::nothing:
      return "It is lost when this window closes: the trace's file is not changed.";
    case Runs::program:
      return "It is lost when this window closes; a trace that is saved before then has it.";
    case Runs::cells:
      break;
  }
  return isScript(parts_.document->path()) ? "It is lost when this window closes, because a program's file "
                                             "has no place for it; a trace that is saved before then has it."
                                           : "It is saved with the notebook.";
}

void BookmarkControl::go(bool after) {
  const inspector::RecordNumber cursor = parts_.session->cursor();
  const inspector::RecordNumber to = parts_.bookmarks->beside(cursor, after);
  if (to != 0) {
    const QString note = parts_.bookmarks->find(to)->note;
    parts_.session->setCursor(to);
    return emit told(QString("Bookmark on op %1%2").arg(countText(to), note.isEmpty() ? "" : ": " + note));
  }
  const auto& all = parts_.bookmarks->all();
  const auto here = std::ranges::count_if(
      all, [&](const Bookmark& one) { return parts_.bookmarks->state(one) == BookmarkState::here; });
  if (here > 0)
    return emit told(after ? "No bookmark comes after this op." : "No bookmark comes before this op.");
  const QString others =
      all.empty() ? QString() : QString(" Those of runs that are gone are in the list (Ctrl+Shift+F2).");
  emit told("No op of this session has a bookmark. Ctrl+B sets one." + others);
}

void BookmarkControl::list() {
  if (!list_) {
    list_ = new BookmarksDialog(parts_.session, parts_.bookmarks, parts_.cells, window_);
    connect(list_, &BookmarksDialog::noteWanted, this, &BookmarkControl::openNote);
  }
  list_->open();
}

}  // namespace tapedeck::app
