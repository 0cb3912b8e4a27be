#include "inspector/model/ops/bookmarks.h"

#include <algorithm>
#include <tuple>

namespace tapedeck::inspector {

namespace {

bool isForgottenRecord(const protocol::Record& record) {
  return record.state == protocol::RecordState::failed && record.op == "forgotten";
}

auto placeIn(const Bookmark& bookmark) {
  return std::tuple(bookmark.session, bookmark.record);
}

}  // namespace

Bookmarks::Bookmarks(Session* session, QObject* parent) : QObject(parent), session_(session) {
  connect(session, &Session::statusChanged, this, &Bookmarks::look);
  connect(session, &Session::liveChanged, this, &Bookmarks::look);
  connect(session, &Session::cleared, this, &Bookmarks::look);
  connect(session, &Session::recordsChanged, this, &Bookmarks::look);
}

BookmarkState Bookmarks::state(const Bookmark& bookmark) const {
  if (bookmark.session == 0 || bookmark.session != session_->started()) return BookmarkState::gone;
  if (bookmark.record == 0 || bookmark.record > session_->recordCount()) return BookmarkState::gone;
  const protocol::Record* record = session_->cachedRecord(bookmark.record);
  if (!record) return BookmarkState::here;
  if (isForgottenRecord(*record)) return BookmarkState::forgotten;
  // A file may say anything.
  return QString::fromStdString(record->op) == bookmark.op ? BookmarkState::here : BookmarkState::gone;
}

const Bookmark* Bookmarks::find(RecordNumber record) const {
  const auto found = here_.constFind(record);
  return found == here_.constEnd() ? nullptr : &all_[*found];
}

RecordNumber Bookmarks::beside(RecordNumber record, bool after) const {
  const auto place = after ? std::upper_bound(order_.begin(), order_.end(), record)
                           : std::lower_bound(order_.begin(), order_.end(), record);
  if (after) return place == order_.end() ? 0 : *place;
  return place == order_.begin() ? 0 : *std::prev(place);
}

std::optional<Bookmark> Bookmarks::of(RecordNumber number) const {
  const protocol::Record* record = session_->cachedRecord(number);
  if (!record || isForgottenRecord(*record) || session_->started() == 0) return std::nullopt;
  Bookmark bookmark;
  bookmark.session = session_->started();
  bookmark.record = number;
  bookmark.op = QString::fromStdString(record->op);
  bookmark.cell = QString::fromStdString(record->cell);
  bookmark.execution = record->execution;
  if (record->cell.empty()) bookmark.file = QString::fromStdString(record->file);
  bookmark.line = static_cast<int>(record->line);
  return bookmark;
}

std::vector<Bookmark>::iterator Bookmarks::placeOf(const Bookmark& bookmark) {
  return std::lower_bound(all_.begin(), all_.end(), bookmark,
                          [](const Bookmark& a, const Bookmark& b) { return placeIn(a) < placeIn(b); });
}

bool Bookmarks::set(const Bookmark& bookmark) {
  const auto place = placeOf(bookmark);
  if (place != all_.end() && placeIn(*place) == placeIn(bookmark)) {
    if (place->note == bookmark.note) return true;
    place->note = bookmark.note;
  } else {
    if (all_.size() >= most) return false;
    all_.insert(place, bookmark);
  }
  tell();
  emit edited();
  return true;
}

void Bookmarks::remove(const Bookmark& bookmark) {
  const auto place = placeOf(bookmark);
  if (place == all_.end() || placeIn(*place) != placeIn(bookmark)) return;
  all_.erase(place);
  tell();
  emit edited();
}

void Bookmarks::restore(std::vector<Bookmark> bookmarks) {
  std::ranges::stable_sort(bookmarks, {}, placeIn);
  const auto [twice, end] = std::ranges::unique(bookmarks, {}, placeIn);
  bookmarks.erase(twice, end);
  if (bookmarks.size() > most) bookmarks.resize(most);
  all_ = std::move(bookmarks);
  tell();
}

QString Bookmarks::noteOf(const QString& typed) {
  QString note = typed.simplified();
  note.truncate(longest_note);
  if (!note.isEmpty() && note.back().isHighSurrogate()) note.chop(1);  // no half of a character
  return note;
}

/// The session tells its status up to 30 times a second; most of the time nothing is another.
void Bookmarks::look() {
  if (all_.empty()) return;
  for (std::size_t i = 0; i < all_.size(); ++i)
    if (state(all_[i]) != states_[i]) return tell();
}

void Bookmarks::tell() {
  states_.clear();
  here_.clear();
  order_.clear();
  for (std::size_t i = 0; i < all_.size(); ++i) {
    states_.push_back(state(all_[i]));
    if (states_.back() != BookmarkState::here) continue;
    here_.insert(all_[i].record, i);
    order_.push_back(all_[i].record);
  }
  emit changed();
}

}  // namespace tapedeck::inspector
