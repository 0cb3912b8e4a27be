// What can be compared: runs of cells, moments, branches and files, in words.
#include <QFileInfo>
#include <algorithm>

#include "inspector/model/compare/compare_model.h"
#include "inspector/model/format.h"
#include "inspector/model/session/cell_names.h"

namespace tapedeck::inspector {

namespace {

constexpr std::size_t most_choices = 100;

quint64 recordsOf(const protocol::CellRun& run) {
  return run.last >= run.first ? run.last - run.first + 1 : 0;
}

/// Calls of graph functions are no ops.
QString sizeText(const protocol::CellRun& run) {
  const quint64 records = recordsOf(run);
  if (!run.calls) return QStringLiteral("%1 records").arg(countText(records));
  const quint64 ops = records - std::min<quint64>(*run.calls, records);
  return ops == 1 ? QStringLiteral("1 op") : QStringLiteral("%1 ops").arg(countText(ops));
}

}  // namespace

CompareChoice CompareModel::choiceOf(const protocol::CellRun& run) const {
  int number = 0, count = 0;
  for (const protocol::CellRun& other : runs_) {
    if (other.cell != run.cell) continue;
    ++count;
    if (other.number == run.number) number = count;
  }
  const QString cell = run.cell.empty() ? QStringLiteral("code outside of cells")
                                        : cells_->nameOf(QString::fromStdString(run.cell), run.execution);
  CompareChoice choice;
  choice.side.first = run.first;
  choice.side.last = run.last;
  choice.run = run.number;
  choice.brief = count > 1 && !run.execution ? QStringLiteral("%1, run %2").arg(cell).arg(number) : cell;
  QString duration = durationText(run.end_ns - run.start_ns - run.paused_ns);
  if (run.paused_ns > 0)
    duration += QStringLiteral(" without %1 at the gate").arg(durationText(run.paused_ns));
  choice.title =
      QStringLiteral("%1%2: %3, %4")
          .arg(cell, count > 1 ? QStringLiteral(", run %1 of %2").arg(number).arg(count) : QString(),
               sizeText(run), duration);
  if (run.state == protocol::RunState::failed) choice.title += QStringLiteral(", failed");
  if (run.state == protocol::RunState::running) choice.title += QStringLiteral(", still runs");
  if (run.forgotten)
    choice.title += QStringLiteral(" (%1 of its records are no longer kept)").arg(countText(run.forgotten));
  return choice;
}

std::vector<CompareChoice> CompareModel::choices() const {
  std::vector<CompareChoice> list;
  for (auto run = runs_.rbegin(); run != runs_.rend() && list.size() < most_choices; ++run)
    if (recordsOf(*run) > 0) list.push_back(choiceOf(*run));
  return list;
}

CompareChoice CompareModel::fromHere() const {
  CompareChoice choice;
  choice.side.first = std::max<RecordNumber>(session_->cursor(), 1);
  choice.side.last = session_->recordCount();
  for (const protocol::CellRun& run : runs_)
    if (choice.side.first >= run.first && choice.side.first <= run.last) choice.side.last = run.last;
  choice.brief = QStringLiteral("from op %1").arg(countText(choice.side.first));
  choice.title =
      QStringLiteral("From op %1 to op %2").arg(countText(choice.side.first), countText(*choice.side.last));
  return choice;
}

CompareChoice CompareModel::file(const QString& path) const {
  CompareChoice choice;
  choice.side.path = path.toStdString();
  choice.brief = QFileInfo(path).fileName();
  const bool tensors = path.endsWith(QStringLiteral(".npz"), Qt::CaseInsensitive) ||
                       path.endsWith(QStringLiteral(".safetensors"), Qt::CaseInsensitive);
  choice.title =
      (tensors ? QStringLiteral("Tensors of %1") : QStringLiteral("Trace file %1")).arg(choice.brief);
  return choice;
}

std::optional<CompareChoice> CompareModel::thisTrace() const {
  const auto& path = session_->status().trace_file;
  if (!path || session_->recordCount() == 0) return std::nullopt;
  CompareChoice choice;
  choice.whole = true;
  choice.side.last = session_->recordCount();
  choice.brief = QFileInfo(QString::fromStdString(*path)).fileName();
  choice.title =
      QStringLiteral("This trace: %1, %2 records").arg(choice.brief, countText(session_->recordCount()));
  return choice;
}

std::optional<std::pair<protocol::CellRun, protocol::CellRun>> CompareModel::lastTwo() const {
  for (auto last = runs_.rbegin(); last != runs_.rend(); ++last) {
    if (recordsOf(*last) == 0) continue;
    for (auto before = last + 1; before != runs_.rend(); ++before)
      if (before->cell == last->cell && recordsOf(*before) > 0) return std::pair(*before, *last);
  }
  return std::nullopt;
}

QString CompareModel::lastTwoRefusal() const {
  if (!session_->live()) return QStringLiteral("There is no session whose cells could be compared.");
  if (!lastTwo())
    return QStringLiteral("No cell with ops ran twice yet: run one again, and its two runs are compared.");
  return {};
}

void CompareModel::setSide(const CompareChoice& choice, std::optional<CompareChoice>& side,
                           std::optional<CompareChoice>& other) {
  side = choice;
  if (choice.side.path && !other) {
    other = thisTrace();
    // A file is chosen to be compared with what ran last, unless another run is chosen.
    if (const std::vector<CompareChoice> runs = choices(); !other && !runs.empty()) other = runs.front();
  }
  chosen_ = true;
  compare();
}

void CompareModel::setLeft(const CompareChoice& choice) {
  setSide(choice, left_, right_);
}

void CompareModel::setRight(const CompareChoice& choice) {
  setSide(choice, right_, left_);
}

void CompareModel::swapSides() {
  if (!left_ || !right_) return;
  std::swap(left_, right_);
  chosen_ = true;
  compare();
}

void CompareModel::chooseLastTwoRuns() {
  const auto two = lastTwo();
  if (!two) {
    problem_ = lastTwoRefusal();
    emit changed();
    return;
  }
  left_ = choiceOf(two->first);
  right_ = choiceOf(two->second);
  chosen_ = false;
  compare();
}

void CompareModel::chooseBranch() {
  const BranchLook& look = session_->look();
  if (!look.branch) {
    problem_ =
        QStringLiteral("There is no branch: change something in the past with What if, and replay it.");
    emit changed();
    return;
  }
  CompareChoice original;
  original.side.last = session_->recordCount();
  original.brief = QStringLiteral("original");
  original.title = QStringLiteral("What was recorded: op 1 to op %1").arg(countText(*original.side.last));
  CompareChoice branch = original;
  branch.side.branch = look.branch;
  branch.brief = QStringLiteral("branch");
  branch.title = QStringLiteral("The branch of What if: %1").arg(look.changes);
  left_ = original;
  right_ = branch;
  chosen_ = true;
  compare();
}

}  // namespace tapedeck::inspector
