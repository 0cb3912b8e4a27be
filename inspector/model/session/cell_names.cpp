#include "inspector/model/session/cell_names.h"

#include <algorithm>

#include "engine/protocol/record_filter.h"

namespace tapedeck::inspector {

namespace {

const QString names_channel = QStringLiteral("cell names");
constexpr quint64 most_runs = 1000;

}  // namespace

void CellNames::set(const QHash<QString, QString>& names) {
  if (names == names_) return;
  names_ = names;
  emit changed();
}

void CellNames::follow(Session* session) {
  session_ = session;
  connect(session, &Session::statusChanged, this, &CellNames::ask);
  connect(session, &Session::liveChanged, this, [this](bool live) {
    asked_ = false;
    if (live) ask();
  });
  connect(session, &Session::cleared, this, [this] {
    asked_ = false;
    endedSeen_ = 0;
    runningSeen_.clear();
    if (executions_.isEmpty()) return;
    executions_.clear();
    emit changed();
  });
  ask();
}

void CellNames::ask() {
  if (!session_->live()) return;
  const protocol::Status& status = session_->status();
  const std::string running = status.running_cell.value_or("");
  if (asked_ && status.cells_ended == endedSeen_ && running == runningSeen_) return;
  // What an answer under way may lack, too.
  const quint64 ended = status.cells_ended - std::min<quint64>(endedSeen_, status.cells_ended);
  const bool waiting = session_->asking(names_channel);
  const quint64 count = asked_ && !waiting ? std::min(ended + 2, most_runs) : most_runs;
  asked_ = true;
  endedSeen_ = status.cells_ended;
  runningSeen_ = running;
  session_->request<protocol::CellRuns>(
      protocol::GetCellRuns{static_cast<std::uint32_t>(count)}, this,
      [this](const protocol::CellRuns& answer) { take(answer); },
      [this](const protocol::Failure&) { asked_ = false; }, names_channel);
}

void CellNames::take(const protocol::CellRuns& answer) {
  bool fresh = false;
  for (const protocol::CellRun& run : answer.runs) {
    if (run.execution == 0) continue;
    quint64& known = executions_[QString::fromStdString(run.cell)][run.first];
    fresh = fresh || known != run.execution;
    known = run.execution;
  }
  if (fresh) emit changed();
}

QString CellNames::nameOf(const QString& id, quint64 execution) const {
  return execution ? QString::fromStdString(protocol::execution_label(execution)) : name(id);
}

QString CellNames::name(const QString& id, RecordNumber record) const {
  const auto cell = executions_.constFind(id);
  if (cell == executions_.constEnd()) return name(id);
  const auto after = cell->upper_bound(record);
  return after == cell->begin() ? name(id) : nameOf(id, std::prev(after)->second);
}

QString CellNames::name(const protocol::Record& record) const {
  const QString id = QString::fromStdString(record.cell);
  return record.execution ? nameOf(id, record.execution) : name(id, record.number);
}

}  // namespace tapedeck::inspector
