// The window's furniture: panels, menus, tool bar, status bar.
#include <QActionGroup>
#include <QDockWidget>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QStatusBar>
#include <QToolBar>

#include "app/shell/main_window.h"
#include "app/shell/playback_bar.h"
#include "app/shell/samples.h"
#include "inspector/panels/ops/timeline_view.h"
#include "inspector/panels/tape/tape_view.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "inspector/ui/theme.h"
#include "plots/plots_view.h"

namespace tapedeck::app {

void MainWindow::buildPanels() {
  tape_ = new inspector::TapeView(session_);
  timeline_ = new inspector::TimelineView(session_);
  tensor_ = new inspector::TensorView(session_);
  plots_ = new plots::PlotsView(series_, session_);
  const auto addPanel = [this](const QString& id, const QString& title, const QString& tip,
                               const QKeySequence& key, QWidget* view) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(id);
    dock->setWidget(view);
    dock->setToolTip(tip);
    QAction* toggle = dock->toggleViewAction();
    toggle->setShortcut(key);
    toggle->setToolTip(
        QString("Show or hide the panel %1 (%2)").arg(title, key.toString(QKeySequence::NativeText)));
    toggle->setStatusTip(tip);
    addAction(toggle);
    docks_ << dock;
  };
  addPanel("panel.tape", "Tape", "The gradient tape as a graph: forward ops, and the VJPs that run backwards",
           QKeySequence("Ctrl+1"), tape_);
  addPanel("panel.ops", "Ops", "The timeline of all records", QKeySequence("Ctrl+2"), timeline_);
  addPanel("panel.tensor", "Tensor", "Values of the tensors at the cursor", QKeySequence("Ctrl+3"), tensor_);
  addPanel("panel.plots", "Plots", "Curves that the session draws", QKeySequence("Ctrl+4"), plots_);

  auto* bar = new QToolBar("Playback", this);
  bar->setObjectName("toolbar.playback");
  bar->setMovable(false);
  bar->toggleViewAction()->setVisible(false);
  playback_ = new PlaybackBar(session_, *actions_);
  bar->addWidget(playback_);
  addToolBar(Qt::BottomToolBarArea, bar);
}

void MainWindow::resetLayout() {
  QDockWidget *tape = docks_[0], *ops = docks_[1], *tensor = docks_[2], *plots = docks_[3];
  // What the code draws below the code, what one step shows beside it.
  setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
  for (QDockWidget* dock : docks_) {
    dock->setFloating(false);
    addDockWidget(dock == plots ? Qt::BottomDockWidgetArea : Qt::RightDockWidgetArea, dock);
    dock->show();
  }
  splitDockWidget(tape, ops, Qt::Vertical);
  splitDockWidget(ops, tensor, Qt::Horizontal);
  resizeDocks({tape}, {width() * 60 / 100}, Qt::Horizontal);
  resizeDocks({ops, tensor}, {width() * 29 / 100, width() * 31 / 100}, Qt::Horizontal);
  resizeDocks({tape, ops}, {height() * 50 / 100, height() * 42 / 100}, Qt::Vertical);
  resizeDocks({plots}, {height() * 29 / 100}, Qt::Vertical);
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
  QString before;
  const QStringList separated = {"file.export_tape",  "file.close", "cell.insert_above", "cell.to_code",
                                 "session.recording", "step.first", "view.reset_layout", "help.about"};
  for (const QString& id : actions_->ids()) {
    QMenu* menu = menus[id.section('.', 0, 0)];
    if (separated.contains(id)) menu->addSeparator();
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
  for (QDockWidget* dock : docks_) view->addAction(dock->toggleViewAction());
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
}

void MainWindow::buildStatusBar() {
  state_ = new QLabel;
  state_->setObjectName("sessionState");
  state_->setAccessibleName("State of the session");
  statusBar()->addWidget(state_, 1);
}

}  // namespace tapedeck::app
