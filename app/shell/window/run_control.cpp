#include "app/shell/window/run_control.h"

#include <QApplication>
#include <QTimer>

#include "app/control/cell_names.h"
#include "app/control/session_text.h"
#include "app/notebook/view/code_editor.h"
#include "app/notebook/view/notebook_view.h"
#include "app/shell/opening/closing_question.h"
#include "app/shell/window/actions.h"
#include "app/shell/window/message_bar.h"

namespace tapedeck::app {
namespace {

// Topics of messages.
constexpr char about_stop[] = "run.stop";
constexpr char about_interrupt[] = "run.interrupt";
constexpr int outputs_pause = 150;  // milliseconds

QString cells(qsizetype count) {
  return count == 1 ? QString("1 cell") : QString("%1 cells").arg(count);
}

}  // namespace

RunControl::RunControl(const Parts& parts, QWidget* window)
    : QObject(window),
      parts_(parts),
      window_(window),
      freshness_(parts.document, parts.runner, parts.kernel),
      interrupts_(parts.runner, parts.kernel, this) {
  const auto on = [this](const char* id, auto act) {
    connect((*parts_.actions)[id], &QAction::triggered, this, act);
  };
  const auto show = [this](const char* id, void (NotebookView::*slot)()) {
    connect((*parts_.actions)[id], &QAction::triggered, parts_.notebook, slot);
  };
  show("cell.run_selected", &NotebookView::runSelected);
  show("cell.run_above", &NotebookView::runAbove);
  show("cell.run_to_here", &NotebookView::runToHere);
  show("cell.run_from_here", &NotebookView::runFromHere);
  on("cell.run_marked", [this] { runMarked(); });
  on("session.interrupt", [this] { interrupts_.interrupt(); });
  on("session.restart", [this] { restart(); });
  on("session.restart_run_all", [this] { restartAndRunAll(); });

  for (int i = 0; i < parts_.document->cellCount(); ++i) {
    const QString id = parts_.document->cell(i).id;
    parts_.notebook->setCellMark(id, freshness_.mark(id), freshness_.why(id));
  }
  connect(&freshness_, &CellFreshness::changed, parts_.notebook, &NotebookView::setCellMark);
  connect(parts_.runner, &CellRunner::stopped, this, &RunControl::showStop);
  // What was said of the last run does not hold for the next.
  connect(parts_.runner, &CellRunner::cellStateChanged, this, [this](const QString&, CellState state) {
    if (state == CellState::busy) parts_.messages->dismiss(about_stop);
  });
  connect(parts_.document, &Document::reset, this, [this] { parts_.messages->dismiss(about_stop); });
  // What the cell waits for is named, once it is fetched.
  connect(&interrupts_, &InterruptWatch::changed, this,
          [this] { (void)parts_.session->record(parts_.session->status().records); });
  connect(&interrupts_, &InterruptWatch::waits, this, &RunControl::showWaits);
  connect(&interrupts_, &InterruptWatch::ignored, this, &RunControl::showIgnored);
  connect(&interrupts_, &InterruptWatch::over, this, [this] { parts_.messages->dismiss(about_interrupt); });
}

void RunControl::restart() {
  if (askRestart(window_, runningSentence(*parts_.runner, *parts_.kernel))) parts_.kernel->restart();
}

void RunControl::restartAndRunAll() {
  if (!askRestart(window_, runningSentence(*parts_.runner, *parts_.kernel))) return;
  disconnect(afterRestart_);
  const KernelState state = parts_.kernel->state();
  if (state == KernelState::stopped || state == KernelState::dead) return parts_.notebook->runAll();
  // The cells that the restart ends have to be reported as ended first, or they would not be run again.
  afterRestart_ = connect(parts_.kernel, &Kernel::stateChanged, this, [this](KernelState now) {
    if (now == KernelState::starting) return;
    disconnect(afterRestart_);
    if (now == KernelState::idle || now == KernelState::busy)
      QMetaObject::invokeMethod(
          parts_.notebook, [this] { parts_.notebook->runAll(); }, Qt::QueuedConnection);
  });
  parts_.kernel->restart();
}

void RunControl::runMarked() {
  const QStringList marked = freshness_.marked();
  if (marked.isEmpty())
    emit told("No cell is marked as edited, run in an earlier session, or possibly out of date.");
  else
    emit parts_.notebook->runRequested(marked);
}

void RunControl::goTo(const QString& cellId) {
  const int index = parts_.document->indexOf(cellId);
  if (index < 0) return;
  parts_.notebook->setCurrentCell(index, false);
  // Its error is laid out a moment later, and is to be seen as well.
  QTimer::singleShot(outputs_pause, this, [this, cellId] {
    const int now = parts_.document->indexOf(cellId);
    const bool writing = qobject_cast<CodeEditor*>(QApplication::focusWidget());
    if (now >= 0 && now == parts_.notebook->currentCell() && !writing)
      parts_.notebook->setCurrentCell(now, false);
  });
}

void RunControl::showStop(const RunStop& stop) {
  const QString name = cellName(*parts_.document, stop.cell);
  if (!stop.cell.isEmpty() && name.isEmpty()) return;  // deleted while it ran
  const bool failed = stop.why == RunStop::Why::failed;
  QString sentence = failed && !stop.error.isEmpty()   ? QString("%1 failed with %2").arg(name, stop.error)
                     : failed                          ? name + " failed"
                     : stop.why == RunStop::Why::ended ? QString("The session ended")
                     : stop.cell.isEmpty()             ? QString("The run was interrupted")
                                                       : name + " was interrupted";
  sentence[0] = sentence[0].toUpper();
  const qsizetype count = stop.skipped.size();
  const QString skipped =
      count == 0 ? QString()
                 : QString(" %1 after it %2 skipped.").arg(cells(count), count == 1 ? "was" : "were");
  sentence += "." + (stop.cell.isEmpty() ? QString(skipped).remove(" after it") : skipped);
  // A user who types in a cell keeps the text cursor; the message leads there.
  const bool writing = qobject_cast<CodeEditor*>(QApplication::focusWidget());
  const bool goes = failed && (stop.together || count > 0);
  if (goes && !writing) goTo(stop.cell);
  if (goes || count > 0) emit told(sentence);
  if (count == 0 && !(goes && writing)) return;
  QList<MessageBar::Choice> choices;
  if (count > 0)
    choices << MessageBar::Choice{QString("Run the %1").arg(cells(count)), [this, skipped = stop.skipped] {
                                    emit parts_.notebook->runRequested(skipped);
                                  }};
  if (!stop.cell.isEmpty())
    choices << MessageBar::Choice{"Go to " + name, [this, cell = stop.cell] { goTo(cell); }};
  parts_.messages->show(failed ? MessageBar::Kind::error : MessageBar::Kind::warning, sentence, choices,
                        about_stop);
}

void RunControl::showWaits(const QString& cellId) {
  const QString op = runningOp(*parts_.session);
  if (op.isEmpty()) return;  // Python's code may end any moment
  offerRestart(cellId, QString(" was interrupted, and ends when %1 does, which runs now.").arg(op));
}

void RunControl::showIgnored(const QString& cellId) {
  const QString op = runningOp(*parts_.session);
  offerRestart(cellId, op.isEmpty() ? QString(" is still running after the interrupt: it catches interrupts, "
                                              "or is in code that does not check for them.")
                                    : QString(" is still running after the interrupt: it waits for %1, which "
                                              "does not check for interrupts.")
                                          .arg(op));
}

void RunControl::offerRestart(const QString& cellId, const QString& why) {
  QString name = cellName(*parts_.document, cellId);
  if (name.isEmpty()) name = "the cell";
  name[0] = name[0].toUpper();
  parts_.messages->show(
      MessageBar::Kind::warning, name + why + " A restart ends it, and what the session computed is lost.",
      {{"Restart session", [this] { parts_.kernel->restart(); }}, {"Wait", [this] { interrupts_.wait(); }}},
      about_interrupt);
}

}  // namespace tapedeck::app
