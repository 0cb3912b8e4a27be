#include "app/shell/window/menus.h"

#include <QActionGroup>
#include <QEvent>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QToolBar>
#include <QToolButton>
#include <utility>

#include "app/shell/panels/panel_docks.h"
#include "app/shell/panels/workspace_menu.h"
#include "app/shell/window/actions.h"
#include "app/shell/window/samples.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/appearance.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {
namespace {

constexpr int tool_icon = 18;

using Open = std::function<void(const QString&)>;

/// Buttons keep their captions where the bar has room for all of them; else icons do, whose tooltips say the
/// same, and no button is pushed out of the window.
class CaptionFit : public QObject {
 public:
  CaptionFit(QToolBar* bar, QList<QToolButton*> captioned)
      : QObject(bar), bar_(bar), captioned_(std::move(captioned)) {
    bar->installEventFilter(this);
  }

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    if (event->type() == QEvent::FontChange)
      show(true);  // as wide as that makes it is known at the next layout
    if (event->type() == QEvent::FontChange || event->type() == QEvent::LayoutRequest ||
        event->type() == QEvent::Resize)
      QMetaObject::invokeMethod(
          this, [this] { fit(); }, Qt::QueuedConnection);
    return false;
  }

 private:
  void fit() {
    if (shown_) needed_ = bar_->sizeHint().width();
    show(bar_->width() >= needed_);
  }
  void show(bool captions) {
    if (captions == std::exchange(shown_, captions)) return;
    for (QToolButton* button : captioned_)
      button->setToolButtonStyle(captions ? Qt::ToolButtonTextBesideIcon : Qt::ToolButtonIconOnly);
  }

  QToolBar* bar_;
  const QList<QToolButton*> captioned_;
  bool shown_ = true;
  int needed_ = 0;  ///< with captions, in pixels
};

void addRecent(QMenu* menu, const Open& open) {
  QMenu* recent = menu->addMenu("Open &recent");
  recent->setToolTipsVisible(true);
  QObject::connect(recent, &QMenu::aboutToShow, recent, [recent, open] {
    recent->clear();
    for (const QString& path : recentNotebooks())
      recent->addAction(QFileInfo(path).fileName(), recent, [open, path] { open(path); })
          ->setToolTip(inspector::plainTip(path));
    if (!recent->isEmpty()) return;
    QAction* none = recent->addAction("No notebooks yet");
    none->setObjectName(placeholder_action);
    none->setEnabled(false);
  });
}

void addSamples(QMenu* menu, const Open& open) {
  QMenu* list = menu->addMenu("Open sa&mple");
  list->setToolTipsVisible(true);
  SampleKind kind = SampleKind::learn;
  for (const Sample& sample : samples()) {
    if (std::exchange(kind, sample.kind) != sample.kind) list->addSeparator();
    QAction* action = list->addAction(sample.title, list, [open, sample] { open(sample.path); });
    action->setToolTip(inspector::plainTip(sample.summary));
    action->setStatusTip(sample.summary);
  }
}

void addThemes(QMenu* menu) {
  QMenu* themes = menu->addMenu("&Theme");
  themes->setToolTipsVisible(true);
  auto* group = new QActionGroup(themes);
  const struct {
    inspector::Appearance theme;
    const char *text, *key, *tip;
  } rows[] = {
      {inspector::Appearance::system, "&Follow the system", "Ctrl+Shift+F4", "Light or dark, as the system"},
      {inspector::Appearance::light, "&Light", "Ctrl+Shift+F5", "Dark text on a light background"},
      {inspector::Appearance::dark, "&Dark", "Ctrl+Shift+F6", "Light text on a dark background"}};
  for (const auto& row : rows) {
    QAction* action = themes->addAction(row.text);
    action->setCheckable(true);
    action->setChecked(inspector::savedAppearance() == row.theme);
    inspector::setKey(action, {QKeySequence(row.key)}, row.tip);
    group->addAction(action);
    QObject::connect(action, &QAction::triggered, themes, [theme = row.theme] {
      inspector::saveAppearance(theme);
      inspector::applyAppearance(theme);
    });
  }
}

struct Submenu {
  const char* first;  ///< of its actions, which follow each other
  const char* last;
  const char* title;
};

/// What would make a menu too long to be read.
constexpr Submenu submenus[] = {
    {"cell.run_all", "cell.run_marked", "R&un several"},
    {"cell.insert_above", "cell.merge", "&Edit"},
    {"cell.to_code", "cell.to_markdown", "&Type"},
    {"cell.clear_selected", "cell.output_limit", "&Output"},
    {"step.breakpoint", "step.remove_breakpoints", "Breakpo&ints"},
    {"step.bookmark", "step.bookmarks", "Book&marks"},
    {"step.first", "step.last", "Recor&ds"},
};

}  // namespace

void fillMenuBar(QMenuBar* bar, const Actions& actions, const PanelDocks& docks,
                 const WorkspaceMenu& workspaces, const QList<QAction*>& questions, const Open& open) {
  QHash<QString, QMenu*> menus;
  for (const auto& [id, title] :
       {std::pair("file", "&File"), std::pair("edit", "&Edit"), std::pair("cell", "&Cell"),
        std::pair("session", "Se&ssion"), std::pair("step", "S&tep"), std::pair("why", "Wh&y"),
        std::pair("view", "&View"), std::pair("help", "&Help")}) {
    menus[id] = bar->addMenu(title);
    menus[id]->setToolTipsVisible(true);
  }
  const QStringList in_workspace_menu = {"view.reset_layout", "view.save_workspace", "view.rename_workspace",
                                         "view.delete_workspace"};
  const QStringList separated = {"file.close",        "edit.cut_cells",    "edit.find",      "edit.wrap_code",
                                 "cell.insert_above", "session.recording", "session.attach", "session.budget",
                                 "step.breakpoint",   "view.message",      "view.scale_up",  "help.about"};
  QMenu* inner = nullptr;
  const Submenu* submenu = nullptr;
  for (const QString& id : actions.ids()) {
    if (in_workspace_menu.contains(id)) continue;
    QMenu* menu = menus[id.section('.', 0, 0)];
    if (id == "file.close") {
      menu->addSeparator();
      QMenu* exports = menu->addMenu("E&xport");
      exports->setToolTipsVisible(true);
      for (const inspector::Panel* panel : docks.panels()) exports->addActions(panel->exportActions());
    }
    if (separated.contains(id)) menu->addSeparator();
    for (const Submenu& each : submenus) {
      if (id != each.first) continue;
      submenu = &each;
      inner = menu->addMenu(each.title);
      inner->setToolTipsVisible(true);
    }
    (submenu != nullptr ? inner : menu)->addAction(actions[id]);
    if (submenu != nullptr && id == submenu->last) submenu = nullptr;
    if (id == "file.open") {
      addRecent(menu, open);
      addSamples(menu, open);
    }
  }
  menus["why"]->addActions(questions);
  QMenu* view = menus["view"];
  view->addSeparator();
  view->addMenu(workspaces.menu());
  view->addSeparator();
  docks.fillMenu(view);
  view->addSeparator();
  addThemes(view);
}

void fillToolBar(QToolBar* bar, const Actions& actions, const WorkspaceMenu& workspaces) {
  inspector::followFont(bar, [bar] { bar->setIconSize(QSize(1, 1) * inspector::scaled(tool_icon)); });
  for (const char* id : {"file.save", "", "cell.run_advance", "cell.run_all", "", "step.pause",
                         "step.continue", "step.reverse", "", "step.op", "step.line", "step.out", "step.back",
                         "", "session.interrupt", "session.restart", "", "session.recording"}) {
    if (*id)
      bar->addAction(actions[id]);
    else
      bar->addSeparator();
  }
  const QHash<QString, QString> captions = {{"cell.run_advance", "Run"},
                                            {"step.pause", "Pause"},
                                            {"step.continue", "Continue"},
                                            {"step.op", "Step op"},
                                            {"session.recording", "Recording"}};
  QList<QToolButton*> captioned;
  for (QAction* action : bar->actions()) {
    auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
    if (!button) continue;
    button->setAccessibleName(action->statusTip());
    if (!captions.contains(action->objectName())) continue;
    action->setIconText(captions[action->objectName()]);
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    captioned << button;
  }
  auto* space = new QWidget;
  space->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Preferred);
  bar->addWidget(space);
  workspaces.fillToolBar(bar);
  new CaptionFit(bar, captioned);
  if (auto* more = bar->findChild<QToolButton*>("qt_toolbar_ext_button")) {
    more->setAccessibleName("More tools");
    more->setToolTip("The tools that this bar has no room for");
  }
}

}  // namespace tapedeck::app
