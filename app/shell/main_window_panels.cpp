// The window's furniture: panels, menus, tool bar, status bar.
#include <QActionGroup>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>

#include "app/shell/main_window.h"
#include "app/shell/panel_docks.h"
#include "app/shell/panel_list.h"
#include "app/shell/playback_bar.h"
#include "app/shell/samples.h"
#include "app/shell/typing_watch.h"
#include "app/shell/workspace_menu.h"
#include "app/shell/workspace_switcher.h"
#include "app/shell/workspaces.h"
#include "inspector/ui/theme.h"

namespace tapedeck::app {

namespace {

constexpr double presenting_letters = 1.45;

}  // namespace

void MainWindow::buildPanels() {
  typing_ = new TypingWatch(this);
  docks_ = new PanelDocks(this, panelList(), {session_, series_, cellNames_}, typing_);
  connect(docks_, &PanelDocks::done, this,
          [this](const QString& sentence) { statusBar()->showMessage(sentence, 4000); });
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

// A run of a cell may bring Debug or Plots up.
void MainWindow::buildWorkspaces() {
  workspaces_ = new Workspaces(docks_, this);
  workspaceMenu_ = new WorkspaceMenu(workspaces_, *actions_, this);
  auto* switcher = new WorkspaceSwitcher(workspaces_, session_, series_, typing_);
  connect(kernel_, &KernelSession::stateChanged, switcher, [switcher](KernelState state) {
    if (state == KernelState::busy) switcher->runBegins();
  });
  connect(workspaces_, &Workspaces::changed, this, &MainWindow::showWorkspace);
}

// Whoever presents is looked at from afar.
void MainWindow::showWorkspace() {
  const bool presenting = workspaces_->current().base == inspector::workspace_present;
  toolBar_->setVisible(!presenting && !onStartPage_);
  QFont letters = QApplication::font();
  if (presenting) letters.setPointSizeF(letters.pointSizeF() * presenting_letters);
  setFont(letters);
}

void MainWindow::buildMenus() {
  const QHash<QString, QString> titles = {{"file", "&File"},       {"edit", "&Edit"}, {"cell", "&Cell"},
                                          {"session", "Se&ssion"}, {"step", "S&tep"}, {"view", "&View"},
                                          {"help", "&Help"}};
  QHash<QString, QMenu*> menus;
  for (const char* id : {"file", "edit", "cell", "session", "step", "view", "help"}) {
    menus[id] = menuBar()->addMenu(titles[id]);
    menus[id]->setToolTipsVisible(true);
  }
  const QStringList inWorkspaceMenu = {"view.reset_layout", "view.save_workspace", "view.rename_workspace",
                                       "view.delete_workspace"};
  const QStringList separated = {"file.close", "cell.insert_above", "cell.to_code", "session.recording",
                                 "step.first", "view.message",      "help.about"};
  for (const QString& id : actions_->ids()) {
    QMenu* menu = menus[id.section('.', 0, 0)];
    if (id == "file.close") {
      menu->addSeparator();
      for (const inspector::Panel* panel : docks_->panels()) menu->addActions(panel->exportActions());
    }
    if (separated.contains(id)) menu->addSeparator();
    if (inWorkspaceMenu.contains(id)) continue;
    menu->addAction((*actions_)[id]);
    if (id == "file.open") {
      QMenu* recent = menu->addMenu("Open &recent");
      connect(recent, &QMenu::aboutToShow, this, [this, recent] { fillRecent(recent); });
      QMenu* sampleMenu = menu->addMenu("Open sa&mple");
      for (const Sample& sample : samples()) {
        QAction* action =
            sampleMenu->addAction(sample.title, this, [this, sample] { openNotebook(sample.path); });
        action->setToolTip(sample.summary);
        action->setStatusTip(sample.summary);
      }
    }
  }
  QMenu* view = menus["view"];
  view->addSeparator();
  view->addMenu(workspaceMenu_->menu());
  view->addSeparator();
  docks_->fillMenu(view);
  view->addSeparator();
  QMenu* themes = view->addMenu("&Theme");
  auto* group = new QActionGroup(this);
  const struct {
    Theme theme;
    const char *text, *tip;
  } rows[] = {{Theme::system, "&As the desktop", "Light or dark as the desktop is"},
              {Theme::light, "&Light", "Dark text on a light ground"},
              {Theme::dark, "&Dark", "Light text on a dark ground"}};
  for (const auto& row : rows) {
    QAction* action = themes->addAction(row.text);
    action->setCheckable(true);
    action->setChecked(savedTheme() == row.theme);
    action->setToolTip(row.tip);
    action->setStatusTip(row.tip);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [theme = row.theme] {
      saveTheme(theme);
      applyTheme(theme);
    });
  }
}

void MainWindow::fillRecent(QMenu* menu) {
  menu->clear();
  for (const QString& path : recentNotebooks())
    menu->addAction(QFileInfo(path).fileName(), this, [this, path] { openNotebook(path); })->setToolTip(path);
  if (menu->isEmpty()) menu->addAction("No notebooks yet")->setEnabled(false);
}

void MainWindow::buildToolBar() {
  toolBar_ = addToolBar("Main");
  toolBar_->setObjectName("toolbar.main");
  toolBar_->setMovable(false);
  toolBar_->toggleViewAction()->setVisible(false);
  toolBar_->setIconSize({18, 18});
  for (const char* id : {"file.save", "", "cell.run_advance", "cell.run_all", "", "step.pause",
                         "step.continue", "", "step.op", "step.line", "step.out", "step.back", "",
                         "session.interrupt", "session.restart", "", "session.recording"}) {
    if (*id)
      toolBar_->addAction((*actions_)[id]);
    else
      toolBar_->addSeparator();
  }
  const QHash<QString, QString> captions = {{"cell.run_advance", "Run"},
                                            {"step.pause", "Pause"},
                                            {"step.continue", "Continue"},
                                            {"step.op", "Step op"},
                                            {"session.recording", "Recording"}};
  for (QAction* action : toolBar_->actions()) {
    auto* button = qobject_cast<QToolButton*>(toolBar_->widgetForAction(action));
    if (!button) continue;
    button->setAccessibleName(action->statusTip());
    if (!captions.contains(action->objectName())) continue;
    action->setIconText(captions[action->objectName()]);
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
  }
  auto* space = new QWidget;
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  toolBar_->addWidget(space);
  workspaceMenu_->fillToolBar(toolBar_);
}

void MainWindow::buildStatusBar() {
  state_ = new QLabel;
  state_->setObjectName("sessionState");
  state_->setAccessibleName("State of the session");
  statusBar()->addWidget(state_, 1);
}

}  // namespace tapedeck::app
