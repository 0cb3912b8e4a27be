#include "app/shell/window/breakpoint_control.h"

#include <QHash>

#include "app/notebook/view/code_editor.h"
#include "app/shell/window/actions.h"

namespace tapedeck::app {

using inspector::BreakpointEntry;
using protocol::BreakpointAction;

namespace {

const QString noLine = "A breakpoint needs a line of a code cell: put the text cursor on one first.";

BreakpointLook lookOf(const BreakpointEntry& entry) {
  if (!entry.works() || entry.unreachable) return BreakpointLook::disabled;
  if (entry.breakpoint.action != BreakpointAction::stop) return BreakpointLook::log;
  const bool plain = entry.breakpoint.condition.empty() && entry.breakpoint.from_hit <= 1;
  return plain ? BreakpointLook::plain : BreakpointLook::conditional;
}

QString breakpointTip(const BreakpointEntry& entry) {
  const auto& breakpoint = entry.breakpoint;
  QString tip = QString("Breakpoint %1").arg(breakpoint.id);
  if (!breakpoint.enabled) tip += ", switched off";
  if (!breakpoint.condition.empty()) tip += ": " + QString::fromStdString(breakpoint.condition);
  if (breakpoint.from_hit > 1) tip += QString(", from hit %1 on").arg(breakpoint.from_hit);
  if (breakpoint.action != BreakpointAction::stop)
    tip += QString("\nIt does not stop: it %1 %2")
               .arg(breakpoint.action == BreakpointAction::log ? "writes" : "draws",
                    QString::fromStdString(breakpoint.text));
  for (const QString& more : {entry.problem, entry.note})
    if (!more.isEmpty()) tip += "\n" + more;
  return tip + QString("\nHits: %1").arg(entry.hits);
}

}  // namespace

BreakpointControl::BreakpointControl(inspector::BreakpointsModel* breakpoints, inspector::Session* session,
                                     Document* document, NotebookView* notebook, Stepper* stepper,
                                     Actions& actions, QObject* parent)
    : QObject(parent),
      breakpoints_(breakpoints),
      session_(session),
      document_(document),
      notebook_(notebook),
      stepper_(stepper),
      actions_(actions) {
  connect(notebook, &NotebookView::lineClicked, this, &BreakpointControl::toggleLine);
  connect(notebook, &NotebookView::breakpointsMoved, breakpoints, &inspector::BreakpointsModel::moveLines);
  connect(breakpoints, &inspector::BreakpointsModel::changed, this, &BreakpointControl::show);
  connect(document, &Document::reset, this, &BreakpointControl::show);
  connect(breakpoints, &inspector::BreakpointsModel::wanted, this, [this](quint64 id) {
    const BreakpointEntry* entry = breakpoints_->find(id);
    if (!entry) return;
    const int line = std::max(1, static_cast<int>(entry->breakpoint.line));
    notebook_->goToLine(QString::fromStdString(entry->breakpoint.cell), line);
  });
  const auto on = [this](const char* id, auto&& act) {
    connect(actions_[id], &QAction::triggered, this, std::forward<decltype(act)>(act));
  };
  on("step.breakpoint", [this] { toggle(); });
  on("step.breakpoint_enabled", [this] { toggleEnabled(); });
  on("step.breakpoint_cell", [this] { toggleCell(); });
  on("step.run_to", [this] { runToCursor(); });
  on("step.run_to_record", [this] { runToRecord(); });
  on("step.stop_nan", [this](bool stop) { breakpoints_->setStopAtNotFinite(stop); });
  on("step.stop_exceptions", [this](bool stop) { breakpoints_->setStopAtExceptions(stop); });
  on("step.remove_breakpoints", [this] { breakpoints_->removeAll(); });
  show();
}

void BreakpointControl::toggleLine(const QString& cell, int line) {
  const int index = document_->indexOf(cell);
  if (index < 0 || document_->cell(index).type != CellType::code) return;
  breakpoints_->toggleLine(cell, line);
}

void BreakpointControl::toggle() {
  const auto [cell, line] = notebook_->currentLine();
  if (line == 0) return emit told(noLine);
  toggleLine(cell, line);
}

void BreakpointControl::toggleEnabled() {
  const auto [cell, line] = notebook_->currentLine();
  const BreakpointEntry* there = breakpoints_->atLine(cell, line);
  if (!there) return emit told("There is no breakpoint on this line. F9 sets one.");
  breakpoints_->setEnabled(there->breakpoint.id, !there->breakpoint.enabled);
}

void BreakpointControl::toggleCell() {
  const int index = notebook_->currentCell();
  if (index < 0 || document_->cell(index).type != CellType::code) return emit told(noLine);
  protocol::Breakpoint breakpoint;
  breakpoint.kind = protocol::BreakpointKind::cell;
  breakpoint.cell = document_->cell(index).id.toStdString();
  for (const BreakpointEntry& entry : breakpoints_->all())
    if (entry.breakpoint.kind == breakpoint.kind && entry.breakpoint.cell == breakpoint.cell)
      return breakpoints_->remove(entry.breakpoint.id);
  breakpoints_->add(std::move(breakpoint));
}

void BreakpointControl::runToCursor() {
  const auto [cell, line] = notebook_->currentLine();
  if (line == 0) return emit told(noLine);
  protocol::Breakpoint passing;
  passing.kind = protocol::BreakpointKind::line;
  passing.cell = cell.toStdString();
  passing.line = static_cast<std::uint32_t>(line);
  breakpoints_->addPassing(std::move(passing));
  stepper_->resume();
}

// While a playback goes on, the VJPs of forward ops are still to come; anything else comes again with its
// line.
void BreakpointControl::runToRecord() {
  const auto* record = session_->cachedRecord(session_->cursor());
  const auto* stopped = session_->cachedRecord(session_->stoppedBefore());
  protocol::Breakpoint passing;
  if (record && stopped && stopped->backward && !record->backward) {
    passing.kind = protocol::BreakpointKind::vjp;
    passing.target = "#" + std::to_string(record->number);
  } else if (record && !record->cell.empty() && record->line > 0) {
    passing.kind = protocol::BreakpointKind::line;
    passing.cell = record->cell;
    passing.line = record->line;
  } else {
    return emit told("There is no record at the cursor whose line could be reached again.");
  }
  breakpoints_->addPassing(std::move(passing));
  session_->follow();
  stepper_->resume();
}

void BreakpointControl::show() {
  QHash<QString, QList<LineBreakpoint>> cells;
  for (const BreakpointEntry& entry : breakpoints_->all()) {
    if (entry.passing || entry.breakpoint.kind != protocol::BreakpointKind::line) continue;
    cells[QString::fromStdString(entry.breakpoint.cell)] << LineBreakpoint{
        entry.breakpoint.id, static_cast<int>(entry.breakpoint.line), lookOf(entry), breakpointTip(entry)};
  }
  for (const QString& cell : std::as_const(marked_))
    if (!cells.contains(cell)) notebook_->setBreakpoints(cell, {});
  for (auto cell = cells.begin(); cell != cells.end(); ++cell)
    notebook_->setBreakpoints(cell.key(), cell.value());
  marked_ = cells.keys();
  actions_["step.stop_nan"]->setChecked(breakpoints_->stopsAtNotFinite());
  actions_["step.stop_exceptions"]->setChecked(breakpoints_->stopsAtExceptions());
}

}  // namespace tapedeck::app
