#include "inspector/model/ops/lost_marks.h"

#include <algorithm>
#include <set>
#include <utility>

namespace tapedeck::inspector {

namespace {

const QString lost_channel = QStringLiteral("ops/lost");
/// More rows than any table shows at once.
constexpr std::size_t most_wanted = 1000;
constexpr qsizetype most_marks = 20'000;
/// A session that needs long for an answer is asked less often: it takes a tenth of the time at most.
constexpr qint64 lost_refresh_ms = 250, lost_longest_ms = 10'000;

}  // namespace

LostMarks::LostMarks(Session* session, QObject* parent) : QObject(parent), session_(session) {
  refreshTimer_.setSingleShot(true);
  refreshTimer_.setInterval(0);
  askTimer_.setSingleShot(true);
  askTimer_.setInterval(0);
  connect(&refreshTimer_, &QTimer::timeout, this, &LostMarks::refresh);
  connect(&askTimer_, &QTimer::timeout, this, &LostMarks::ask);
  connect(session, &Session::statusChanged, this, &LostMarks::statusChanged);
  connect(session, &Session::cleared, this, &LostMarks::clear);
}

QString LostMarks::sentence() {
  return QStringLiteral(
      "values lost: they can't be recomputed, because what they depend on was dropped when the recording "
      "exceeded its budget, or ended");
}

void LostMarks::clear() {
  marks_.clear();
  wanted_.clear();
  refreshTimer_.stop();
  refreshTimer_.setInterval(0);
  askTimer_.stop();
  version_ = 0;
  finished_ = 0;
}

// The newest results are held for a while: they may be lost without further ado.
void LostMarks::statusChanged() {
  const auto& status = session_->status();
  if (status.values_lost == 0 || !session_->live() || refreshTimer_.isActive()) return;
  if (status.values_lost != version_ || status.finished != finished_) refreshTimer_.start();
}

/// Views that show rows read them again, and that sends the request.
void LostMarks::refresh() {
  version_ = session_->status().values_lost;
  finished_ = session_->status().finished;
  if (marks_.size() > most_marks) marks_.clear();
  RecordNumber first = 1, last = session_->recordCount();
  if (!marks_.isEmpty()) std::swap(first, last);
  for (auto mark = marks_.begin(); mark != marks_.end(); ++mark) {
    mark->known = false;
    first = std::min(first, mark.key());
    last = std::max(last, mark.key());
  }
  if (last) emit changed(first, last);
}

bool LostMarks::isLost(RecordNumber number) {
  if (session_->status().values_lost == 0) return false;
  Mark& mark = marks_[number];
  if (!mark.known && !mark.asked && session_->live()) {
    mark.asked = true;
    wanted_.push_back(number);
    if (!askTimer_.isActive()) askTimer_.start();
  }
  return mark.lost;
}

void LostMarks::ask() {
  if (wanted_.empty() || session_->asking(lost_channel)) return;
  protocol::GetLostRecords get{std::exchange(wanted_, {})};
  if (get.records.size() > most_wanted) {  // rows that were visible before are no longer
    const auto begin = get.records.begin(), end = get.records.end() - most_wanted;
    for (auto number = begin; number != end; ++number) marks_.remove(*number);
    get.records.erase(begin, end);
  }
  sinceAsked_.start();
  session_->request<protocol::LostRecords>(
      get, this, [this, asked = get.records](const protocol::LostRecords& answer) { take(asked, answer); },
      [this, asked = get.records](const protocol::Failure&) {
        for (const RecordNumber number : asked) marks_.remove(number);
      },
      lost_channel);
}

void LostMarks::take(const std::vector<std::uint64_t>& asked, const protocol::LostRecords& answer) {
  refreshTimer_.setInterval(
      static_cast<int>(std::clamp(10 * sinceAsked_.elapsed(), lost_refresh_ms, lost_longest_ms)));
  const std::set<std::uint64_t> found(answer.records.begin(), answer.records.end());
  RecordNumber first = 0, last = 0;
  for (const RecordNumber number : asked) {
    const auto mark = marks_.find(number);
    if (mark == marks_.end()) continue;
    const bool lost = found.contains(number);
    if (lost != mark->lost) {
      first = first ? std::min(first, number) : number;
      last = std::max(last, number);
    }
    *mark = {true, false, lost};
  }
  if (!wanted_.empty()) askTimer_.start();
  if (first) emit changed(first, last);
}

}  // namespace tapedeck::inspector
