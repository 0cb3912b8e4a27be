#include "inspector/model/session/cell_names.h"

#include <algorithm>
#include <limits>

#include "engine/protocol/record_filter.h"

namespace tapedeck::inspector {

namespace {

const QString names_channel = QStringLiteral("cell names");
constexpr quint64 most_runs = 1000;
constexpr int rest_ms = 100;

QString lineOf(const QString& code, int line) {
  return code.section(QLatin1Char('\n'), line - 1, line - 1).trimmed();
}

}  // namespace

std::vector<protocol::CellLabel> cellLabels(const QHash<QString, QString>& names) {
  std::vector<protocol::CellLabel> labels;
  labels.reserve(static_cast<std::size_t>(names.size()));
  for (auto name = names.begin(); name != names.end(); ++name)
    labels.push_back({name.key().toStdString(), name.value().toStdString()});
  return labels;
}

CellNames::CellNames(QObject* parent) : QObject(parent) {
  rest_.setSingleShot(true);
  rest_.setInterval(rest_ms);
  connect(&rest_, &QTimer::timeout, this, [this] {
    if (pendingChange_) tellNow();
  });
}

void CellNames::tellNow() {
  pendingChange_ = false;
  rest_.start();
  emit changed();
}

void CellNames::tell() {
  if (rest_.isActive())
    pendingChange_ = true;
  else
    tellNow();
}

void CellNames::set(const QHash<QString, QString>& names) {
  if (names == names_) return;
  names_ = names;
  tellNow();
}

void CellNames::rename(const QHash<QString, QString>& names) {
  bool news = false;
  for (auto name = names.begin(); name != names.end(); ++name) {
    const auto known = names_.constFind(name.key());
    if (known != names_.constEnd() && *known == *name) continue;
    names_[name.key()] = *name;
    news = true;
  }
  if (news) tellNow();
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
    tellNow();
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
  if (fresh) tell();
}

void CellNames::noteCode(const QString& id, quint64 execution, const QString& code) {
  if (execution <= newestExecution_) ran_.clear();
  newestExecution_ = execution;
  std::map<quint64, QString>& known = ran_[id];
  if (!known.empty() && known.rbegin()->second == code)
    return;  // one text for a cell that runs a thousand times
  known[execution] = code;
  tell();
}

void CellNames::noteNewestCode(const QString& id, const QString& code) {
  ran_[id] = {{0, code}};
  tell();
}

QString CellNames::newestCode(const QString& id) const {
  const auto ran = ran_.constFind(id);
  return ran == ran_.constEnd() || ran->empty() ? QString() : ran->rbegin()->second;
}

QString CellNames::code(const QString& id, int line, RecordNumber record) const {
  return lineOf(wholeCode(id, record), line);
}

QStringList CellNames::codes() const {
  QStringList all;
  for (const auto& ran : ran_)
    for (const auto& [execution, code] : ran) all << code;
  return all;
}

QString CellNames::wholeCode(const QString& id, RecordNumber record) const {
  const auto runs = executions_.constFind(id);
  quint64 execution = 0, newest = 0;  // 0: no run of the cell is known
  if (runs != executions_.constEnd() && !runs->empty()) {
    newest = runs->rbegin()->second;
    const auto after = runs->upper_bound(record);
    if (after != runs->begin()) execution = std::prev(after)->second;
  }
  const auto ran = ran_.constFind(id);
  if (ran == ran_.constEnd())  // a program's file, or a notebook that is only viewed
    return execution == newest && code_ ? code_(id) : QString();
  const auto after = ran->upper_bound(newest == 0 ? std::numeric_limits<quint64>::max() : execution);
  if (after == ran->begin()) return {};
  const auto& [first, text] = *std::prev(after);
  return first != 0 || execution == newest ? text : QString();
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
