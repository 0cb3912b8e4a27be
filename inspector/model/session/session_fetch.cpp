// Records by page: what is asked for, in which order, and what is asked for again.
#include <algorithm>

#include "inspector/model/session/session_private.h"

namespace tapedeck::inspector {

namespace {

/// Few, so that what became visible last is never far behind pages that are no longer visible.
constexpr std::size_t max_flights = 2;
constexpr std::size_t max_wanted = 64;
constexpr std::size_t max_refreshed = 64;
/// A stop brings the records that a step changed; where it does not come soon, they are asked for.
constexpr int stop_patience_ms = 60;

/// Whether there are news of it the status says.
bool lacksTimeAlone(const protocol::Record& record) {
  return record.state == protocol::RecordState::done || record.state == protocol::RecordState::failed;
}

}  // namespace

void Session::Private::want(RecordNumber number) {
  const quint64 page = RecordCache::page_of(number);
  if (!wanted.empty() && wanted.front() == page) return;
  std::erase(wanted, page);
  wanted.push_front(page);
  // Views ask again when they paint, so an old wish can be forgotten.
  if (wanted.size() > max_wanted) wanted.pop_back();
  flushIn(0);
}

void Session::Private::flushIn(int milliseconds) {
  if (!flushTimer.isActive() || flushTimer.remainingTime() > milliseconds) flushTimer.start(milliseconds);
}

bool Session::Private::inFlight(RecordNumber first, RecordNumber last) const {
  return std::any_of(flights.begin(), flights.end(),
                     [&](const Run& flight) { return flight.first <= last && first <= flight.second; });
}

void Session::Private::flush() {
  if (!live) {
    wanted.clear();
    stale.clear();
    return;
  }
  std::deque<quint64> pages = wanted;
  for (auto number = stale.rbegin(); number != stale.rend(); ++number) {
    const quint64 page = RecordCache::page_of(*number);
    if (std::find(pages.begin(), pages.end(), page) == pages.end()) pages.push_back(page);
  }
  for (const quint64 page : pages) {
    const bool whole = std::find(wanted.begin(), wanted.end(), page) != wanted.end();
    auto runs = cache.missing(page, status.records, stale);
    // A page that is only refreshed is not filled by the way.
    if (!whole)
      std::erase_if(runs, [&](const auto& run) {
        const auto found = stale.lower_bound(run.first);
        return found == stale.end() || *found > run.second;
      });
    bool complete = true;
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
      if (flights.size() >= max_flights || inFlight(run->first, run->second)) {
        complete = false;
        continue;
      }
      protocol::GetRecords get;
      get.first = run->first;
      get.count = static_cast<std::uint32_t>(run->second - run->first + 1);
      flights.insert(*run);
      q->request<protocol::Records>(
          get, q, [this, asked = *run](const protocol::Records& records) { takeRecords(asked, records); },
          [this, asked = *run](const protocol::Failure& failure) { takeFailure(asked, failure); });
      stale.erase(stale.lower_bound(run->first), stale.upper_bound(run->second));
    }
    if (complete) std::erase(wanted, page);
    if (flights.size() >= max_flights) break;
  }
}

// GPUs tell in the order of their work, so the oldest are known first. What is too much now comes with the
// next status.
void Session::Private::refreshTimes() {
  if (!timesTold) return;
  std::size_t count = 0;
  for (const RecordNumber number : cache.open()) {
    if (!lacksTimeAlone(*cache.find(number))) continue;
    if (++count > max_refreshed) return;
    stale.insert(number);
  }
  timesTold = false;
}

void Session::Private::refreshOpen() {
  std::size_t count = 0;
  const auto& open = cache.open();
  for (auto number = open.rbegin(); number != open.rend() && count < max_refreshed; ++number, ++count) {
    const protocol::Record* record = cache.find(*number);
    if (*number == status.stopped_before && record->state == protocol::RecordState::pending) continue;
    if (!lacksTimeAlone(*record)) stale.insert(*number);
  }
  refreshTimes();
  if (!stale.empty()) flushIn(status.gate == protocol::GateState::will_stop ? stop_patience_ms : 0);
}

// What the stop's status says of its records is newer than what is here. Which of them are news, if any.
std::optional<Session::Private::Run> Session::Private::takeStop() {
  std::vector<protocol::Record> news = std::exchange(status.stop, {});
  std::erase_if(news, [this](const protocol::Record& record) {
    const protocol::Record* known = cache.find(record.number);
    return record.number == 0 || record.number > status.records || (known && known->state == record.state);
  });
  if (news.empty()) return std::nullopt;
  RecordNumber first = ~RecordNumber{0}, last = 0;
  for (const protocol::Record& record : news) {
    first = std::min<RecordNumber>(first, record.number);
    last = std::max<RecordNumber>(last, record.number);
    stale.erase(record.number);
  }
  cache.insert(std::move(news));
  return Run{first, last};
}

void Session::Private::takeRecords(const Run& run, const protocol::Records& records) {
  const auto [first, last] = run;
  flights.erase(run);
  status.records = std::max(status.records, records.total);
  std::vector<protocol::Record> asked = records.records;
  std::erase_if(
      asked, [&run](const auto& record) { return record.number < run.first || record.number > run.second; });
  cache.insert(std::move(asked));
  flushIn(0);
  if (!records.records.empty()) emit q->recordsChanged(first, last);
  if (aiming) aim();
}

void Session::Private::takeFailure(const Run& run, const protocol::Failure& failure) {
  flights.erase(run);
  if (!live) return;
  // Not asked for again until a view looks at it again: no loop of failures.
  wanted.clear();
  if (aiming) {
    aiming = false;
    moveCursor(candidate);
  }
  emit q->failed(QString::fromStdString(failure.reason));
}

const protocol::Record* Session::record(RecordNumber number) {
  if (number == 0 || number > d_->status.records) return nullptr;
  const protocol::Record* record = d_->cache.touch(number);
  if (!record && d_->live) d_->want(number);
  return record;
}

const protocol::Record* Session::cachedRecord(RecordNumber number) const {
  return d_->cache.find(number);
}
const protocol::TensorInfo* Session::tensor(TensorId id) const {
  return d_->cache.tensor(id);
}
void Session::setCacheLimit(int records) {
  d_->cache.set_limit(static_cast<std::size_t>(std::max(records, 1)));
}
int Session::cachedCount() const {
  return static_cast<int>(d_->cache.size());
}

}  // namespace tapedeck::inspector
