#include "inspector/model/tape/odd_values.h"

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr int tell_interval_ms = 100;
const QString channel = QStringLiteral("tape/odd");

bool canBeOdd(const QString& dtype) {
  return dtype.contains(QLatin1String("float")) || dtype.startsWith(QLatin1String("complex"));
}

}  // namespace

OddValues::OddValues(Session* session, QObject* parent) : QObject(parent), session_(session) {
  tell_.setSingleShot(true);
  tell_.setInterval(tell_interval_ms);
  connect(&tell_, &QTimer::timeout, this, [this] {
    if (std::exchange(more_odd_, false)) emit oddChanged();
    emit progressed();
  });
  connect(session, &Session::cleared, this, &OddValues::forget);
  connect(session, &Session::lookChanged, this, &OddValues::forget);  // a branch has other values
}

void OddValues::forget() {
  const bool was = running();
  ++round_;
  waiting_.clear();
  asked_ = stopped_ = false;
  total_ = done_ = odd_ = unknown_ = 0;
  known_.clear();
  nodes_.clear();
  tell_.stop();
  emit progressed();
  if (was) emit ended();
}

void OddValues::check(const TapeGraph& graph) {
  ++round_;
  waiting_.clear();
  asked_ = stopped_ = false;
  total_ = done_ = odd_ = unknown_ = 0;
  const auto add = [this](const GraphNode& node, TensorId tensor, const QString& dtype) {
    if (!tensor || !canBeOdd(dtype)) return;
    waiting_.push_back({nodeKey(node), tensor});
    ++total_;
  };
  for (const GraphNode& node : graph.nodes) {
    if (node.kind == NodeKind::playback || node.kind == NodeKind::more) continue;
    const protocol::Record* record = node.record ? session_->cachedRecord(node.record) : nullptr;
    if (!record || node.state != protocol::RecordState::done) {
      add(node, node.tensor, node.dtype);
      continue;
    }
    for (const protocol::TensorInfo& output : record->outputs)
      add(node, output.id, QString::fromStdString(output.dtype));
  }
  ask();
}

void OddValues::stop() {
  if (!running()) return;
  ++round_;
  waiting_.clear();
  session_->drop(channel);
  asked_ = false;
  stopped_ = true;
  emit progressed();
  emit ended();
}

void OddValues::ask() {
  while (!waiting_.empty()) {
    const Question question = waiting_.front();
    waiting_.pop_front();
    if (const auto known = known_.constFind(question.tensor); known != known_.cend()) {
      take(question, *known);
      continue;
    }
    protocol::GetStatistics get;
    get.tensor = question.tensor;
    get.bins = 1;
    const quint64 round = round_;
    asked_ = session_->request<protocol::Statistics>(
        get, this,
        [this, question, round](const protocol::Statistics& statistics) {
          if (round != round_) return;
          const bool odd = statistics.nan || statistics.positive_infinity || statistics.negative_infinity;
          known_[question.tensor] = odd;
          asked_ = false;
          take(question, odd);
          ask();
        },
        [this, round](const protocol::Failure&) {
          if (round != round_) return;
          asked_ = false;
          ++done_;
          ++unknown_;
          ask();
        },
        channel);
    if (asked_) {
      if (!tell_.isActive()) tell_.start();
      return;
    }
    ++done_;
    ++unknown_;
  }
  if (std::exchange(more_odd_, false)) emit oddChanged();
  emit progressed();
  emit ended();
}

void OddValues::take(const Question& question, bool odd) {
  ++done_;
  if (!odd) return;
  ++odd_;
  if (nodes_.contains(question.node)) return;
  nodes_.insert(question.node);
  more_odd_ = true;
}

void OddValues::mark(TapeGraph& graph) const {
  if (nodes_.isEmpty()) return;
  for (GraphNode& node : graph.nodes) node.odd = node.odd || nodes_.contains(nodeKey(node));
}

QString OddValues::sentence() const {
  const auto values = [](int count) {
    return count == 1 ? QStringLiteral("1 value")
                      : QStringLiteral("%1 values").arg(countText(static_cast<quint64>(count)));
  };
  if (running())
    return QStringLiteral("checking for NaN: %1 of %2")
        .arg(countText(static_cast<quint64>(done_)), values(total_));
  if (!total_) return {};
  if (stopped_)
    return QStringLiteral("the check for NaN was stopped after %1 of %2")
        .arg(countText(static_cast<quint64>(done_)), values(total_));
  QString text = odd_ ? QStringLiteral("NaN or infinity in %1 of %2")
                            .arg(countText(static_cast<quint64>(odd_)), values(total_))
                      : QStringLiteral("no NaN or infinity in %1").arg(values(total_ - unknown_));
  if (unknown_)
    text += QStringLiteral(", %1 could not be computed").arg(countText(static_cast<quint64>(unknown_)));
  return text;
}

}  // namespace tapedeck::inspector
