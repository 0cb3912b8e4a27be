#include "inspector/model/record_filter.h"

#include <algorithm>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

using protocol::Record;

namespace {

const QString channel = QStringLiteral("timeline/filter");

}  // namespace

RecordFilter::RecordFilter(Session* session, QObject* parent) : QObject(parent), session_(session) {
  timer_.setSingleShot(true);
  timer_.setInterval(0);
  connect(&timer_, &QTimer::timeout, this, &RecordFilter::scan);
  connect(session, &Session::statusChanged, this, &RecordFilter::schedule);
  connect(session, &Session::liveChanged, this, &RecordFilter::schedule);
}

void RecordFilter::set(const QString& text, Direction direction) {
  text_ = text;
  words_ = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  direction_ = direction;
  restart();
}

void RecordFilter::setCellLabels(const QHash<QString, QString>& labels) {
  labels_ = labels;
}

void RecordFilter::restart() {
  matches_.clear();
  scanned_ = 0;
  session_->drop(channel);
  schedule();
}

void RecordFilter::schedule() {
  if (active() && !session_->asking(channel) && scanned_ < session_->recordCount() && !timer_.isActive())
    timer_.start();
}

bool RecordFilter::matches(const Record& record) const {
  if (direction_ == Direction::forward && record.backward) return false;
  if (direction_ == Direction::backward && !record.backward) return false;
  if (words_.isEmpty()) return true;
  const QString cell = QString::fromStdString(record.cell);
  QStringList parts{QString::fromStdString(record.op), kindText(record), QString::fromStdString(record.scope),
                    labels_.value(cell, cell), QString::fromStdString(record.file)};
  for (const auto& input : record.inputs) parts << QString::fromStdString(input.name);
  for (const auto& output : record.outputs) parts << QString::fromStdString(output.name);
  const QString haystack = parts.join(QLatin1Char('\n'));
  return std::all_of(words_.begin(), words_.end(),
                     [&](const QString& word) { return haystack.contains(word, Qt::CaseInsensitive); });
}

void RecordFilter::scan() {
  const RecordNumber last = std::min<RecordNumber>(scanned_ + chunk, session_->recordCount());
  if (!active() || session_->asking(channel) || scanned_ >= last) return;
  if (scanCached(last, !session_->live())) {
    emit progressed();
    schedule();
    return;
  }
  protocol::GetRecords get;
  get.first = scanned_ + 1;
  get.count = static_cast<std::uint32_t>(last - scanned_);
  get.with_previews = false;
  // A failure ends the search until the session says something new.
  session_->request<protocol::Records>(
      get, this, [this](const protocol::Records& page) { take(page); }, [](const protocol::Failure&) {},
      channel);
}

bool RecordFilter::scanCached(RecordNumber last, bool skipMissing) {
  for (RecordNumber number = scanned_ + 1; number <= last && !skipMissing; ++number)
    if (!session_->cachedRecord(number)) return false;
  for (RecordNumber number = scanned_ + 1; number <= last; ++number) {
    const Record* record = session_->cachedRecord(number);
    if (record && matches(*record)) matches_.push_back(number);
  }
  scanned_ = last;
  return true;
}

void RecordFilter::take(const protocol::Records& page) {
  if (page.records.empty()) return;  // as a failure
  for (const Record& record : page.records) {
    if (record.number <= scanned_) continue;
    scanned_ = record.number;
    if (matches(record)) matches_.push_back(record.number);
  }
  emit progressed();
  schedule();
}

}  // namespace tapedeck::inspector
