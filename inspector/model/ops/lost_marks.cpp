#include "inspector/model/ops/lost_marks.h"

#include <algorithm>
#include <set>

namespace tapedeck::inspector {

namespace {

const QString lost_channel = QStringLiteral("ops/lost");
/// More rows than any table shows at once.
constexpr std::size_t most_looked_at = 1000;
/// A session that needs long for an answer is asked less often: it takes a tenth of the time at most.
constexpr qint64 refresh_ms = 250, longest_ms = 10'000;

}  // namespace

LostMarks::LostMarks(Session* session, QObject* parent) : QObject(parent), session_(session) {
  timer_.setSingleShot(true);
  timer_.setInterval(0);
  connect(&timer_, &QTimer::timeout, this, &LostMarks::ask);
  connect(session, &Session::statusChanged, this, &LostMarks::statusChanged);
  connect(session, &Session::cleared, this, &LostMarks::clear);
}

QString LostMarks::sentence() {
  return QStringLiteral(
      "values lost: they cannot be computed again, since what they depend on was let go when the recording "
      "passed its budget, or ended");
}

void LostMarks::clear() {
  marks_.clear();
  looked_.clear();
  timer_.stop();
  timer_.setInterval(0);
  version_ = 0;
  finished_ = 0;
  stale_ = false;
}

void LostMarks::statusChanged() {
  const auto& status = session_->status();
  if (status.values_lost == 0 || !session_->live()) return;
  // The newest results are held for a while.
  if (status.values_lost == version_ && status.finished == finished_) return;
  stale_ = true;
  if (!marks_.isEmpty() && !timer_.isActive()) timer_.start();
}

bool LostMarks::isLost(RecordNumber number) {
  if (session_->status().values_lost == 0 && version_ == 0) return false;
  const auto found = marks_.constFind(number);
  if (found != marks_.constEnd()) return found->lost;
  marks_.insert(number, {});
  looked_.push_back(number);
  if (looked_.size() > most_looked_at) {
    marks_.remove(looked_.front());
    looked_.pop_front();
  }
  if (session_->live() && !timer_.isActive()) timer_.start(0);
  return false;
}

void LostMarks::ask() {
  if (!session_->live() || session_->asking(lost_channel)) return;
  protocol::GetLostRecords get;
  for (const RecordNumber number : looked_)
    if (stale_ || !marks_.value(number).known) get.records.push_back(number);
  if (get.records.empty()) return;
  version_ = session_->status().values_lost;
  finished_ = session_->status().finished;
  stale_ = false;
  asked_.start();
  session_->request<protocol::LostRecords>(
      get, this, [this, asked = get.records](const protocol::LostRecords& answer) { take(asked, answer); },
      [](const protocol::Failure&) {}, lost_channel);
}

void LostMarks::take(const std::vector<std::uint64_t>& asked, const protocol::LostRecords& answer) {
  timer_.setInterval(static_cast<int>(std::clamp(10 * asked_.elapsed(), refresh_ms, longest_ms)));
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
    *mark = {true, lost};
  }
  const bool more = stale_ || std::ranges::any_of(looked_, [this](RecordNumber number) {
                      return !marks_.value(number).known;
                    });
  if (more && !timer_.isActive()) timer_.start();
  if (first) emit changed(first, last);
}

}  // namespace tapedeck::inspector
