// What the window's actions do, and how it follows its session.
#include <QApplication>
#include <QFileInfo>
#include <QInputDialog>
#include <QLabel>
#include <QLocale>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStatusBar>
#include <limits>

#include "app/control/cell_names.h"
#include "app/control/notebook_bookmarks.h"
#include "app/control/notebook_breakpoints.h"
#include "app/notebook/view/notebook_view.h"
#include "app/shell/guide/guide_pages.h"
#include "app/shell/guide/guide_window.h"
#include "app/shell/opening/file_control.h"
#include "app/shell/panels/panel_docks.h"
#include "app/shell/window/bookmark_control.h"
#include "app/shell/window/breakpoint_control.h"
#include "app/shell/window/keys_window.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/output_limit_dialog.h"
#include "app/shell/window/past_dialog.h"
#include "app/shell/window/reverse_control.h"
#include "app/shell/window/run_control.h"
#include "app/shell/window/samples.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/runs/memory_model.h"
#include "inspector/ui/appearance.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {
namespace {

/// Numbers beside cells come with their runs; the panels' names for them follow at most that often.
constexpr int labelling_pause = 100;  // milliseconds

}  // namespace

void MainWindow::connectActions() {
  const auto on = [this](const char* id, auto&& act) {
    connect((*actions_)[id], &QAction::triggered, this, std::forward<decltype(act)>(act));
  };
  on("file.close", [this] { close(); });

  on("session.recording", [this](bool recording) { options_->setRecording(recording); });
  on("session.break_at_cell", [this](bool stop) { options_->setBreakAtCellStart(stop); });
  on("session.replay_on_cpu", [this](bool here) { options_->setReplayOnCpu(here); });
  on("session.functions_eagerly", [this](bool eagerly) { options_->setFunctionsEagerly(eagerly); });
  on("session.budget", [this] { askBudget(); });
  on("cell.output_limit", [this] { askOutputLimit(this); });

  on("step.continue", [this] { stepper_->resume(); });
  on("step.pause", [this] { stepper_->pause(); });
  on("step.op", [this] { stepper_->stepOp(); });
  on("step.line", [this] { stepper_->stepLine(); });
  on("step.out", [this] { stepper_->stepOut(); });
  on("step.back", [this] { stepper_->stepBack(); });
  on("step.first", [this] { session_->setCursor(1); });
  on("step.previous", [this] { session_->stepCursor(-1); });
  on("step.next", [this] { session_->stepCursor(1); });
  on("step.last", [this] { session_->follow(); });

  on("view.zoom_in", [this] { notebook_->zoomIn(); });
  on("view.zoom_out", [this] { notebook_->zoomOut(); });
  on("view.scale_up", [] { inspector::setWindowScale(inspector::nextScale(inspector::windowScale())); });
  on("view.scale_down",
     [] { inspector::setWindowScale(inspector::previousScale(inspector::windowScale())); });
  on("view.usual_size", [this] {
    notebook_->resetZoom();
    inspector::setWindowScale(100);
  });
  on("view.message", [this] { messages_->focusMessage(); });
  on("view.close_message", [this] { messages_->dismissShown(); });
  on("help.start_page", [this] { openWindow(); });
  on("help.guide", [this] {
    const QWidget* focus = QApplication::focusWidget();
    const bool inNotebook = focus && (focus == notebook_ || notebook_->isAncestorOf(focus));
    showGuide(inNotebook ? guide_of_notebook : docks_->focused());
  });
  on("help.shortcuts", [this] { showShortcuts(); });
  on("help.about", [this] { showAbout(); });
}

void MainWindow::connectCellActions() {
  // In the notebook their keys are Jupyter's, which show a text rendered; from the tool bar and the menu they
  // run code, also where the current cell is none.
  const auto onCodeCell = [this] {
    if (notebook_->selectedCells().size() > 1) return true;
    const int index = codeCellFrom(*document_, notebook_->currentCell());
    if (index < 0) tell(noCodeCell(*document_));
    if (index >= 0 && index != notebook_->currentCell()) notebook_->setCurrentCell(index, false);
    return index >= 0;
  };
  connect((*actions_)["cell.run"], &QAction::triggered, this, [this, onCodeCell] {
    if (onCodeCell()) notebook_->runCurrent();
  });
  connect((*actions_)["cell.run_advance"], &QAction::triggered, this, [this, onCodeCell] {
    if (onCodeCell()) notebook_->runCurrentAndAdvance();
  });
  const struct {
    const char* id;
    void (NotebookView::*slot)();
  } rows[] = {{"cell.run_all", &NotebookView::runAll},
              {"cell.insert_above", &NotebookView::insertAbove},
              {"cell.insert_below", &NotebookView::insertBelow},
              {"cell.delete", &NotebookView::deleteCurrent},
              {"cell.move_up", &NotebookView::moveUp},
              {"cell.move_down", &NotebookView::moveDown},
              {"cell.to_code", &NotebookView::makeCode},
              {"cell.to_markdown", &NotebookView::makeMarkdown},
              {"cell.fold_output", &NotebookView::foldOutput},
              {"cell.enter_output", &NotebookView::enterOutput},
              {"cell.open_output", &NotebookView::openOutput},
              {"cell.split", &NotebookView::splitCurrent},
              {"cell.merge", &NotebookView::mergeSelected},
              {"cell.clear_selected", &NotebookView::clearOutputs},
              {"cell.clear_outputs", &NotebookView::clearAllOutputs},
              {"edit.cut_cells", &NotebookView::cutCells},
              {"edit.copy_cells", &NotebookView::copyCells},
              {"edit.paste_cells", &NotebookView::pasteCells},
              {"edit.select_all_cells", &NotebookView::selectAllCells}};
  for (const auto& row : rows) connect((*actions_)[row.id], &QAction::triggered, notebook_, row.slot);
  connect((*actions_)["edit.undo_cell"], &QAction::triggered, document_, &Document::undoStructure);
  connect((*actions_)["edit.redo_cell"], &QAction::triggered, document_, &Document::redoStructure);

  // In Tensor these keys select.
  actions_->keepWithin(notebook_, {"cell.move_up", "cell.move_down"});

  connect(notebook_, &NotebookView::runRequested, this, [this](const QStringList& cells) {
    if (kernel_->runs() != Runs::cells) return tell(kernel_->whyNoCells());
    runner_->run(cells);
  });
  connect(notebook_, &NotebookView::inputGiven, kernel_, &Kernel::sendInput);
  // What only a session can answer starts one where there was none yet.
  connect(notebook_, &NotebookView::completionRequested, runner_, &CellRunner::begin);
  connect(notebook_, &NotebookView::completionRequested, kernel_, &Kernel::complete);
  connect(notebook_, &NotebookView::helpRequested, runner_, &CellRunner::begin);
  connect(notebook_, &NotebookView::helpRequested, kernel_, &Kernel::inspect);
  connect(kernel_, &Kernel::completed, notebook_, &NotebookView::showCompletions);
  connect(kernel_, &Kernel::inspected, notebook_, &NotebookView::showHelp);
  connect(kernel_, &Kernel::inputRequested, notebook_, &NotebookView::askInput);
  connect(runner_, &CellRunner::cellStateChanged, notebook_, &NotebookView::setCellState);
  connect(runner_, &CellRunner::began, cellNames_,
          [this](const QString& cell, int count, const QString& code) {
            cellNames_->noteCode(cell, static_cast<quint64>(count), code);
          });
  stepper_->setCurrentCell([this] { return notebook_->currentCell(); });
  connect(stepper_, &Stepper::cellChosen, this,
          [this](const QString& cell) { notebook_->setCurrentCell(document_->indexOf(cell), false); });
  connect(stepper_, &Stepper::refused, this, &MainWindow::tell);
}

void MainWindow::connectSession() {
  labelling_.setSingleShot(true);
  labelling_.setInterval(labelling_pause);
  connect(&labelling_, &QTimer::timeout, this, &MainWindow::updateCellLabels);
  for (const auto signal : {&Document::cellInserted, &Document::cellRemoved})
    connect(document_, signal, this, [this] { labelLater(-1); });
  connect(document_, &Document::cellMoved, this, [this] { labelLater(-1); });
  connect(document_, &Document::outputEdited, this, [this](int cell, const OutputChange& change) {
    // A line that is printed gives no cell another number.
    if (change.kind == OutputChange::Kind::all || change.kind == OutputChange::Kind::execution)
      labelLater(cell);
  });
  connect(document_, &Document::reset, this, [this] {
    allUnlabelled_ = true;
    updateCellLabels();
  });
  connect(notices_, &SessionNotices::told, this, &MainWindow::showNotice);
  connect(notices_, &SessionNotices::withdrawn, this, [this] { messages_->dismiss("session"); });
  connect(kernel_, &Kernel::stateChanged, this, &MainWindow::updateState);
  stateSoon_.setSingleShot(true);
  stateSoon_.setInterval(0);
  connect(&stateSoon_, &QTimer::timeout, this, &MainWindow::updateState);
  connect(runner_, &CellRunner::cellStateChanged, this, [this](const QString&, CellState state) {
    // Hundreds are queued, or given up, at once.
    if (state == CellState::queued || state == CellState::idle)
      stateSoon_.start();
    else
      updateState();
  });
  runs_ = new RunControl({kernel_, runner_, document_, notebook_, messages_, actions_, session_}, this);
  connect(runs_, &RunControl::told, this, &MainWindow::tell);
  connect(&runs_->interrupts(), &InterruptWatch::changed, this, &MainWindow::updateState);
  memory_ = new SessionMemory(session_, this);
  connect(memory_, &SessionMemory::changed, this, &MainWindow::updateState);
  connect(stepper_, &Stepper::stateChanged, this, &MainWindow::updateState);
  connect(options_, &SessionOptions::changed, this, &MainWindow::updateState);
  for (const auto signal : {&inspector::Session::statusChanged, &inspector::Session::cleared}) {
    connect(session_, signal, this, &MainWindow::updateState);
    connect(session_, signal, this, &MainWindow::updatePausedLine);
  }
  connect(session_, &inspector::Session::cursorChanged, this, &MainWindow::updatePausedLine);
  connect(session_, &inspector::Session::recordsChanged, this, &MainWindow::updatePausedLine);
  connect(session_, &inspector::Session::recordsChanged, this, &MainWindow::updateState);
  connect(frames_, &inspector::FramesModel::currentChanged, this, &MainWindow::updatePausedLine);
  connect(stepper_, &Stepper::stateChanged, this, [this] { frames_->setProblem(noEngineText(*stepper_)); });
}

void MainWindow::connectBreakpoints() {
  // Else a session that has just begun may run past them.
  runner_->setHold([this] { return breakpoints_->onTheirWay() || options_->onTheirWay(); });
  connect(options_, &SessionOptions::arrived, runner_, &CellRunner::releaseHold);
  connect(breakpoints_, &inspector::BreakpointsModel::arrived, runner_, &CellRunner::releaseHold);
  connect(runner_, &CellRunner::finished, breakpoints_, &inspector::BreakpointsModel::dropPassing);
  auto* keeper = new NotebookBreakpoints(document_, breakpoints_, this);
  connect(keeper, &NotebookBreakpoints::loaded, this, [this](const QString& sentence) {
    if (sentence.isEmpty()) return messages_->dismiss("breakpoints");
    messages_->show(MessageBar::Kind::warning, sentence, {}, "breakpoints");
  });
  auto* control =
      new BreakpointControl(breakpoints_, session_, document_, notebook_, stepper_, *actions_, this);
  connect(control, &BreakpointControl::told, this, &MainWindow::tell);
  auto* reverse = new ReverseControl({session_, breakpoints_, cellNames_, messages_, actions_}, this);
  connect(reverse, &ReverseControl::told, this, &MainWindow::tell);
  connect((*actions_)["step.search_past"], &QAction::triggered, this, [this] {
    if (!past_) past_ = new PastDialog(session_, series_, cellNames_, this);
    past_->open();
  });
  // With each run that ends the names of runs are sent again; those of cells are mostly the same then.
  connect(cellNames_, &inspector::CellNames::changed, this,
          [this, told = QHash<QString, QString>()]() mutable {
            if (told.isSharedWith(cellNames_->all())) return;
            told = cellNames_->all();
            breakpoints_->setCellLabels(told);
          });
}

void MainWindow::connectBookmarks() {
  auto* keeper = new NotebookBookmarks(document_, bookmarks_, this);
  connect(keeper, &NotebookBookmarks::loaded, this, [this](const QString& sentence) {
    if (sentence.isEmpty()) return messages_->dismiss("bookmarks");
    messages_->show(MessageBar::Kind::warning, sentence, {}, "bookmarks");
  });
  auto* control = new BookmarkControl({kernel_, document_, session_, bookmarks_, cellNames_, actions_}, this);
  connect(control, &BookmarkControl::told, this, &MainWindow::tell);
}

// Records name cells by their ids; the user knows them by the number beside them.
void MainWindow::labelLater(int cell) {
  if (cell < 0)
    allUnlabelled_ = true;
  else
    unlabelled_.insert(document_->cell(cell).id);
  if (!labelling_.isActive()) labelling_.start();
}

void MainWindow::updateCellLabels() {
  QHash<QString, QString> labels;
  const bool all = std::exchange(allUnlabelled_, false) || cellNames_->all().isEmpty();
  if (all)
    for (int i = 0; i < document_->cellCount(); ++i) unlabelled_.insert(document_->cell(i).id);
  for (const QString& id : std::exchange(unlabelled_, {})) labels[id] = cellName(*document_, id);
  all ? cellNames_->set(labels) : cellNames_->rename(labels);
}

QString MainWindow::codeOf(const QString& cell) const {
  const int at = document_->indexOf(cell);
  return at < 0 ? QString() : document_->cell(at).source;
}

void MainWindow::showNotice(SessionNotices::Kind kind, const QString& sentence, bool restart) {
  QList<MessageBar::Choice> choices;
  if (restart && kernel_->runs() == Runs::cells)
    choices << MessageBar::Choice{"Start a new session", [this] { runs_->restart(); }};
  messages_->show(kind == SessionNotices::Kind::error ? MessageBar::Kind::error : MessageBar::Kind::warning,
                  sentence, choices, "session");
}

void MainWindow::updateState() {
  const auto& status = session_->status();
  const int interrupting = runs_ ? runs_->interrupts().seconds() : -1;
  QStringList parts{interrupting < 0 ? sessionText(*stepper_, *kernel_, *session_, *runner_)
                                     : interruptText(*kernel_, *session_, *runner_, interrupting)};
  QStringList tips;
  const KernelSession* own = kernel();
  if (memory_) memory_->setProcess(own ? own->processId() : 0);
  const EnvironmentFacts* environment =
      own && own->state() != KernelState::stopped ? own->environmentFacts() : nullptr;
  if (environment) {
    parts << environment->summary();
    tips << "Python: " + environment->interpreter;
    if (!environment->module.isEmpty() && !environment->moduleMatches())
      parts << "Tapedeck's module there is of another build";
  }
  if (session_->live()) {
    const QLocale locale(QLocale::English);
    // As the Memory panel formats them, so that both show the same number.
    const auto size = [](quint64 bytes) { return inspector::memoryText(static_cast<double>(bytes)); };
    parts << "cpu";
    for (const auto& gpu : status.gpus)
      parts << QString("%1 %2 of %3")
                   .arg(QString::fromStdString(gpu.device).remove(QLatin1Char('/')), size(gpu.used_bytes),
                        size(gpu.total_bytes));
    parts << (status.recording
                  ? QString("recording %1 of %2")
                        .arg(size(status.held_bytes + status.record_bytes), size(status.budget_bytes))
              : status.full
                  ? QString("not recording: all %1 record numbers are used up; a new session starts over")
                        .arg(locale.toString(std::numeric_limits<qint32>::max()))
                  : QString("not recording"));
    const MemoryWords words = memoryWords(status, *memory_);
    parts << words.shown;
    tips << words.tip;
    if (status.leaves_dropped > 0)
      parts << QString("%1 old values dropped: what depends on them has statistics only")
                   .arg(locale.toString(static_cast<qulonglong>(status.leaves_dropped)));
  }
  if (session_->live() && status.series_thinned > 0)
    parts << QString("curves thinned out: %1 points were dropped")
                 .arg(QLocale(QLocale::English).toString(static_cast<qulonglong>(status.series_thinned)));
  (*actions_)["session.recording"]->setChecked(options_->recording());
  (*actions_)["session.break_at_cell"]->setChecked(options_->breakAtCellStart());
  (*actions_)["session.replay_on_cpu"]->setChecked(options_->replayOnCpu());
  (*actions_)["session.functions_eagerly"]->setChecked(options_->functionsEagerly());
  if (!onStartPage_) state_->setText(parts.join(" · "));
  state_->setToolTip(inspector::plainTip(tips.join(QLatin1Char('\n'))));
  const bool busy = kernel_->state() == KernelState::busy;
  (*actions_)["session.interrupt"]->setEnabled(!onStartPage_ && kernel_->runs() == Runs::cells &&
                                               (busy || runner_->busy()));
}

// The session reports its status every second: only what changes is marked anew and scrolled to, so that the
// user can look elsewhere while it is paused.
void MainWindow::updatePausedLine() {
  const MarkedLine line = markedLine(
      *session_, frames_, kernel_->runs() != Runs::cells && stepper_->state() != StepperState::running);
  if (line == marked_) return;
  marked_ = line;
  notebook_->setPausedLine(line.cell, line.line, line.pending);
}

void MainWindow::askBudget() {
  const double now = static_cast<double>(session_->status().budget_bytes) / 1e6;
  bool given = false;
  const double megabytes = QInputDialog::getDouble(this, "Memory for values",
                                                   "Megabytes that the recorder may use. Values that it does "
                                                   "not hold are recomputed when you look at them.",
                                                   now > 0 ? now : 2000, 16, 1e6, 0, &given);
  if (given) options_->setBudget(static_cast<quint64>(megabytes * 1e6));
}

GuideWindow* MainWindow::guide() const {
  return guide_;
}

void MainWindow::showGuide(const QString& panel) {
  // What a link opens is in this window, or begins there.
  const auto come = [this] {
    setWindowState(windowState() & ~Qt::WindowMinimized);
    raise();
    activateWindow();
  };
  if (!guide_) {
    guide_ = new GuideWindow(this);
    connect(guide_, &GuideWindow::commandWanted, this, [this, come](const QString& id) {
      QAction* command = findChild<QAction*>(id);
      if (!command) return;
      come();
      command->isEnabled() ? command->trigger() : tell(command->toolTip());
    });
    connect(guide_, &GuideWindow::sampleWanted, this, [this, come](const QString& file) {
      come();
      for (const Sample& sample : samples())
        if (sample.file == file) files_->open(sample.path);
    });
  }
  guide_->open(guideOfPanel(panel));
  guide_->show();
  guide_->raise();
  guide_->activateWindow();
}

void MainWindow::showShortcuts() {
  (new KeysWindow(keyGroups(*menuBar(), *docks_), this))->show();
}

void MainWindow::showAbout() {
  QMessageBox::about(this, "About Tapedeck",
                     QString("<h3>Tapedeck %1</h3><p>A notebook in which you run, step through and inspect "
                             "eager models.</p><p>The program is free software under the GNU General Public "
                             "License, version 3 or later; its engine is under the Apache License 2.0.</p>")
                         .arg(QCoreApplication::applicationVersion()));
}

}  // namespace tapedeck::app
