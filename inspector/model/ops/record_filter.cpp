#include "inspector/model/ops/record_filter.h"

#include <algorithm>

#include "engine/protocol/record_filter.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

namespace {

const QString filter_channel = QStringLiteral("ops/filter");

/// Looked at between two events, where the session is gone.
constexpr RecordNumber cached_at_once = 5000;

}  // namespace

RecordFilter::RecordFilter(Session* session, QObject* parent) : QObject(parent), session_(session) {
  timer_.setSingleShot(true);
  timer_.setInterval(0);
  connect(&timer_, &QTimer::timeout, this, &RecordFilter::search);
  connect(session, &Session::statusChanged, this, &RecordFilter::schedule);
  connect(session, &Session::liveChanged, this, &RecordFilter::schedule);
}

void RecordFilter::set(const QString& text, Direction direction) {
  text_ = text;
  direction_ = direction;
  const protocol::Condition filter = protocol::parse_filter(text.toStdString());
  asksForValues_ = protocol::asks_for_values(filter);
  asksForBookmarks_ = protocol::asks_for_bookmarks(filter);
  restart();
}

void RecordFilter::setCellLabels(const QHash<QString, QString>& labels) {
  labels_ = labels;
}

bool RecordFilter::setBookmarked(const std::vector<RecordNumber>& bookmarked) {
  if (std::ranges::equal(bookmarked, bookmarked_)) return false;
  bookmarked_.assign(bookmarked.begin(), bookmarked.end());
  return asksForBookmarks_;
}

void RecordFilter::restart() {
  matches_.clear();
  open_.clear();
  scanned_ = 0;
  lost_ = 0;
  stopped_ = false;
  session_->drop(filter_channel);
  schedule();
}

void RecordFilter::stop() {
  stopped_ = true;
  session_->drop(filter_channel);
  timer_.stop();
  emit progressed();
}

void RecordFilter::schedule() {
  if (stopped_ || !active() || session_->asking(filter_channel) || timer_.isActive()) return;
  const bool changed = !open_.empty() && session_->live() && session_->status().ended != ended_;
  if (scanned_ < session_->recordCount() || changed) timer_.start();
}

void RecordFilter::search() {
  if (!active() || session_->asking(filter_channel)) return;
  if (!session_->live()) return searchCached();
  protocol::FindRecords find;
  find.filter = text_.toStdString();
  if (direction_ != Direction::both) find.backward = direction_ == Direction::backward;
  find.labels = cellLabels(labels_);
  find.first = scanned_ + 1;
  find.again = open_;
  if (asksForBookmarks_) find.bookmarked = bookmarked_;
  ended_ = session_->status().ended;
  // A failure ends the search until the session says something new.
  session_->request<protocol::FoundRecords>(
      find, this, [this](const protocol::FoundRecords& found) { take(found); },
      [](const protocol::Failure&) {}, filter_channel);
}

void RecordFilter::take(const protocol::FoundRecords& found) {
  for (const std::uint64_t number : std::exchange(open_, {}))
    correct(number, std::find(found.again.begin(), found.again.end(), number) != found.again.end());
  // The session may be ahead of what it last told.
  const auto known = std::min<RecordNumber>(found.scanned, session_->recordCount());
  const bool advanced = known > scanned_;
  for (std::size_t i = 0; i + 1 < found.runs.size(); i += 2)
    for (auto number = std::max<RecordNumber>(found.runs[i], scanned_ + 1);
         number <= std::min<RecordNumber>(found.runs[i + 1], known); ++number)
      if (matches_.empty() || matches_.back() < number) matches_.push_back(number);
  for (const std::uint64_t number : found.open)
    if (number <= known) open_.push_back(number);
  lost_ += found.lost;
  scanned_ = std::max(scanned_, known);
  emit progressed();
  if (advanced) schedule();
}

void RecordFilter::correct(RecordNumber number, bool matches) {
  const auto place = std::lower_bound(matches_.begin(), matches_.end(), number);
  const bool there = place != matches_.end() && *place == number;
  if (there == matches) return;
  const int row = static_cast<int>(place - matches_.begin());
  if (matches) {
    emit aboutToInsert(row, number);
    matches_.insert(place, number);
    emit inserted();
  } else {
    emit aboutToRemove(row, number);
    matches_.erase(place);
    emit removed();
  }
}

void RecordFilter::searchCached() {
  const protocol::Condition filter = protocol::parse_filter(text_.toStdString());
  const std::vector<protocol::CellLabel> labels = cellLabels(labels_);
  const RecordNumber last = std::min<RecordNumber>(scanned_ + cached_at_once, session_->recordCount());
  for (RecordNumber number = scanned_ + 1; number <= last; ++number) {
    const protocol::Record* record = session_->cachedRecord(number);
    const bool wrong_way =
        record && direction_ != Direction::both && record->backward != (direction_ == Direction::backward);
    if (record && !wrong_way && protocol::matches(filter, *record, labels, bookmarked_))
      matches_.push_back(number);
  }
  scanned_ = std::max(scanned_, last);
  emit progressed();
  schedule();
}

}  // namespace tapedeck::inspector
