#include "app/notebook/document/execution_times.h"

#include "app/notebook/document/document_private.h"

namespace tapedeck::app {

using nlohmann::ordered_json;

namespace {

constexpr const char* times_key = "execution";

QDateTime timeAt(const ordered_json& times, const char* name) {
  const auto found = times.find(name);
  if (found == times.end() || !found->is_string()) return {};
  return QDateTime::fromString(QString::fromStdString(found->get_ref<const std::string&>()),
                               Qt::ISODateWithMs)
      .toLocalTime();
}

QString clockText(const QDateTime& time) {
  const bool today = time.date() == QDate::currentDate();
  return time.toString(today ? "HH:mm:ss" : "yyyy-MM-dd HH:mm:ss");
}

}  // namespace

std::optional<ExecutionTimes> executionTimes(const ordered_json& members) {
  const auto metadata = members.find("metadata");
  if (metadata == members.end() || !metadata->is_object()) return {};
  const auto times = metadata->find(times_key);
  if (times == metadata->end() || !times->is_object()) return {};
  const ExecutionTimes found{timeAt(*times, "iopub.execute_input"), timeAt(*times, "shell.execute_reply")};
  if (!found.started.isValid()) return {};
  return found;
}

void eraseExecutionTimes(ordered_json& members) {
  const auto metadata = members.find("metadata");
  if (metadata != members.end() && metadata->is_object()) metadata->erase(times_key);
}

QString ExecutionTimes::duration() const {
  const qint64 taken = started.isValid() && ended.isValid() ? started.msecsTo(ended) : -1;
  return taken < 0 ? QString() : durationText(taken);
}

QString ExecutionTimes::text() const {
  QString result = "started " + clockText(started);
  if (ended.isValid()) result += ", ended " + clockText(ended);
  return result;
}

QString durationText(qint64 milliseconds) {
  const double seconds = static_cast<double>(milliseconds) / 1000;
  if (milliseconds < 100) return QString("%1 ms").arg(milliseconds);
  if (milliseconds < 1'000) return QString("%1 s").arg(seconds, 0, 'f', 2);
  if (milliseconds < 10'000) return QString("%1 s").arg(seconds, 0, 'f', 1);
  const qint64 whole = milliseconds / 1000;
  if (whole < 60) return QString("%1 s").arg(whole);
  if (whole < 3600) return QString("%1 min %2 s").arg(whole / 60).arg(whole % 60);
  return QString("%1 h %2 min").arg(whole / 3600).arg(whole % 3600 / 60);
}

void Document::setExecutionTimes(const QString& cellId, const nlohmann::json& times) {
  const int index = indexOf(cellId);
  if (index < 0 || cell(index).type != CellType::code || d_->locked) return;
  CellData& data = d_->editResults(index);
  eraseExecutionTimes(data.members);
  if (times.is_object() && !times.empty()) {
    ordered_json& metadata = data.members["metadata"];
    if (!metadata.is_object()) metadata = ordered_json::object();
    metadata[times_key] = ordered_json(times);
  }
  d_->announceOutput(this, index, {OutputChange::Kind::execution, 0, 0});
  d_->announceModified(this);
}

}  // namespace tapedeck::app
