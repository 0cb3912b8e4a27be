// The window's furniture: panels, menus, tool bar, status bar.
#include <QApplication>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QStatusBar>
#include <QToolBar>

#include "app/kernel/debug/trace_file_reader.h"
#include "app/shell/opening/kept_windows.h"
#include "app/shell/panels/outline_panel.h"
#include "app/shell/panels/panel_docks.h"
#include "app/shell/panels/panel_list.h"
#include "app/shell/panels/workspace_menu.h"
#include "app/shell/panels/workspace_switcher.h"
#include "app/shell/panels/workspaces.h"
#include "app/shell/window/main_window.h"
#include "app/shell/window/menus.h"
#include "app/shell/window/playback_bar.h"
#include "app/shell/window/typing_watch.h"
#include "inspector/panels/what_if_actions.h"
#include "inspector/panels/why_actions.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {

namespace {

constexpr double presenting_letters = 1.45;

}  // namespace

void MainWindow::buildPanels() {
  typing_ = new TypingWatch(this);
  why_ = new inspector::WhyActions(new inspector::WhyModel(session_, this), this);
  buildWhatIf();
  cellNames_->setCode([this](const QString& cell) { return codeOf(cell); });
  docks_ = new PanelDocks(this, panelList() << outlinePanel(notebook_, document_),
                          {*session_,
                           *series_,
                           *pictures_,
                           *cellNames_,
                           *why_,
                           *frames_,
                           *watches_,
                           *breakpoints_,
                           *whatIf_,
                           &makeTraceReader,
                           bookmarks_,
                           {(*actions_)["step.bookmark"], (*actions_)["step.bookmark_note"]}},
                          typing_);
  connect(why_->model(), &inspector::WhyModel::asked, docks_, [this] { docks_->reveal("why"); });
  connect(whatIf_, &inspector::WhatIfActions::asked, docks_, [this] { docks_->reveal("what_if"); });
  connect(whatIf_, &inspector::WhatIfActions::askedForSet, docks_, [this] { docks_->reveal("what_if"); });
  connect(whatIf_, &inspector::WhatIfActions::curvesWanted, docks_, [this] { docks_->reveal("plots"); });
  connect(docks_, &PanelDocks::helpWanted, this, &MainWindow::showGuide);
  connect(docks_, &PanelDocks::left, this, &MainWindow::backToNotebook);
  connect(docks_, &PanelDocks::done, this, &MainWindow::tell);
  connect(docks_, &PanelDocks::lineWanted, this, &MainWindow::showLine);
  connect(docks_, &PanelDocks::failed, this,
          [this](const QString& sentence) { messages_->show(MessageBar::Kind::error, sentence); });

  auto* bar = new QToolBar("Playback", this);
  bar->setObjectName("toolbar.playback");
  bar->setMovable(false);
  bar->toggleViewAction()->setVisible(false);
  playback_ = new PlaybackBar(session_, *actions_);
  bar->addWidget(playback_);
  addToolBar(Qt::BottomToolBarArea, bar);
}

void MainWindow::showLine(const QString& cell, int line, bool enter) {
  if (document_->indexOf(cell) < 0)
    return tell(cell.startsWith('/')
                    ? QString("Line %1 of %2 is not in this notebook").arg(line).arg(cell)
                    : QString("Line %1 is of a cell that is not in this notebook any longer").arg(line));
  QWidget* const focus = QApplication::focusWidget();
  notebook_->goToLine(cell, line);
  if (!enter && focus) focus->setFocus();
}

void MainWindow::buildWhatIf() {
  auto* model = new inspector::WhatIfModel(session_, this);
  whatIf_ = new inspector::WhatIfActions(model, why_->model(), this);
  why_->addOther(whatIf_->ask());
  connect(model, &inspector::WhatIfModel::takenOver, frames_, &inspector::FramesModel::touch);
}

// A run of a cell may bring Debug or Plots up.
void MainWindow::buildWorkspaces() {
  workspaces_ = new Workspaces(docks_, this);
  workspaceMenu_ = new WorkspaceMenu(workspaces_, *actions_, this);
  auto* switcher = new WorkspaceSwitcher(workspaces_, session_, series_, pictures_, typing_);
  connect(kernel_, &Kernel::stateChanged, switcher, [switcher](KernelState state) {
    if (state == KernelState::busy) switcher->runBegins();
  });
  connect(workspaces_, &Workspaces::changed, this, &MainWindow::showWorkspace);
}

// An audience reads from a distance.
void MainWindow::showWorkspace() {
  const bool presenting = workspaces_->current().base == inspector::workspace_present;
  toolBar_->setVisible(!presenting && !onStartPage_);
  setLetters();
}

void MainWindow::setLetters() {
  const bool presenting = workspaces_ && workspaces_->current().base == inspector::workspace_present;
  QFont letters;  // as the program has them
  if (presenting) letters.setPointSizeF(QApplication::font().pointSizeF() * presenting_letters);
  setFont(letters);
}

void MainWindow::buildMenus() {
  QAction* kept = (*actions_)["session.kept"];
  kept->setMenu(new QMenu(this));
  listKeptWindows(kept->menu());
  connect(kept, &QAction::triggered, this, [this, kept] {
    kept->menu()->popup(mapToGlobal(rect().center()) - QPoint(kept->menu()->sizeHint().width() / 2, 0));
    kept->menu()->setActiveAction(kept->menu()->actions().value(0));
  });
  fillMenuBar(menuBar(), *actions_, *docks_, *workspaceMenu_, why_->questions() + whatIf_->actions(),
              [this](const QString& path) { openNotebook(path); });
  toolBar_ = addToolBar("Main");
  toolBar_->setObjectName("toolbar.main");
  toolBar_->setMovable(false);
  toolBar_->toggleViewAction()->setVisible(false);
  fillToolBar(toolBar_, *actions_, *workspaceMenu_);
}

void MainWindow::buildStatusBar() {
  state_ = inspector::plainLabel();
  state_->setObjectName("sessionState");
  state_->setAccessibleName("State of the session");
  statusBar()->addWidget(state_, 1);
}

}  // namespace tapedeck::app
