#include "app/shell/panels/workspace_menu.h"

#include <QActionGroup>
#include <QInputDialog>
#include <QMenu>
#include <QToolBar>
#include <QToolButton>

#include "app/shell/panels/workspaces.h"
#include "app/shell/window/actions.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/confirm.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::app {
namespace {

/// Ctrl+Alt+1 … Ctrl+Alt+9.
constexpr int keyed_workspaces = 9;

QString tipOf(const QString& id, const QString& title) {
  if (id == "write") return "Write: the notebook with its outline";
  if (id == "debug") return "Debug: tape, ops, values and curves around the notebook";
  if (id == "plots") return "Plots: the curves beside the notebook";
  if (id == "present") return "Present: larger letters, and the tape beside the notebook";
  if (id == "analyze") return "Analyze: time, memory, health and comparisons of whole runs";
  return QString("Your workspace %1").arg(title);
}

}  // namespace

WorkspaceMenu::WorkspaceMenu(Workspaces* workspaces, const Actions& actions, QWidget* window)
    : QObject(window),
      workspaces_(workspaces),
      actions_(actions),
      window_(window),
      menu_(new QMenu("&Workspace", window)),
      group_(new QActionGroup(this)) {
  menu_->setToolTipsVisible(true);
  connect(workspaces, &Workspaces::changed, this, &WorkspaceMenu::fill);
  connectActions(actions);
  fill();
}

// The actions of the built-in ones stay, because the tool bar has them, too.
void WorkspaceMenu::fill() {
  const QList<Workspace> all = workspaces_->all();
  const QString current = workspaces_->current().id;
  QList<QAction*> old = group_->actions();
  menu_->clear();
  for (qsizetype i = 0; i < all.size(); ++i) {
    const QString& id = all[i].id;
    const auto same = [&](const QAction* action) {
      return action->data() == id && action->iconText() == all[i].title;
    };
    if (const auto found = std::find_if(old.begin(), old.end(), same); found != old.end())
      old.erase(found);
    else
      addWorkspace(id, all[i].title, static_cast<int>(i) + 1);
  }
  for (QAction* action : old) delete action;
  for (const Workspace& workspace : all)
    for (QAction* action : group_->actions())
      if (action->data() == workspace.id) {
        menu_->addAction(action);
        action->setChecked(workspace.id == current);
      }
  menu_->addSeparator();
  for (const char* id : {"view.save_workspace", "view.rename_workspace", "view.delete_workspace"})
    menu_->addAction(actions_[id]);
  menu_->addSeparator();
  menu_->addAction(actions_["view.reset_layout"]);
  const bool own = workspaces_->current().own();
  actions_["view.rename_workspace"]->setEnabled(own);
  actions_["view.delete_workspace"]->setEnabled(own);
}

void WorkspaceMenu::addWorkspace(const QString& id, const QString& title, int position) {
  auto* action = new QAction(group_);
  action->setObjectName("workspace." + id);
  action->setData(id);
  QString text = title;
  action->setText(text.replace('&', "&&"));
  action->setIconText(title);
  action->setCheckable(true);
  const QString tip = tipOf(id, title);
  action->setToolTip(inspector::plainTip(tip));
  action->setStatusTip(tip);
  if (position <= keyed_workspaces)
    inspector::setKey(action, {QKeySequence(Qt::CTRL | Qt::ALT | static_cast<Qt::Key>(Qt::Key_0 + position))},
                      tip);
  window_->addAction(action);
  connect(action, &QAction::triggered, workspaces_, [this, id] { workspaces_->choose(id); });
}

void WorkspaceMenu::fillToolBar(QToolBar* bar) const {
  for (QAction* action : group_->actions()) {
    if (action->data().toString().startsWith("own-")) continue;
    bar->addAction(action);
    auto* button = qobject_cast<QToolButton*>(bar->widgetForAction(action));
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setAccessibleName(action->statusTip());
  }
}

void WorkspaceMenu::setEnabled(bool enabled) {
  group_->setEnabled(enabled);
  actions_["view.save_workspace"]->setEnabled(enabled);
  menu_->setEnabled(enabled);
}

QString WorkspaceMenu::askName(const QString& title, const QString& name) const {
  bool given = false;
  const QString answer =
      QInputDialog::getText(window_, title, "Name of the workspace", QLineEdit::Normal, name, &given);
  return given ? answer.trimmed() : QString();
}

void WorkspaceMenu::connectActions(const Actions& actions) {
  connect(actions["view.save_workspace"], &QAction::triggered, this, [this] {
    if (const QString name = askName("Save workspace as", {}); !name.isEmpty()) workspaces_->saveAs(name);
  });
  connect(actions["view.rename_workspace"], &QAction::triggered, this, [this] {
    const Workspace current = workspaces_->current();
    if (const QString name = askName("Rename workspace", current.title); !name.isEmpty())
      workspaces_->rename(current.id, name);
  });
  connect(actions["view.delete_workspace"], &QAction::triggered, this, [this] {
    const Workspace current = workspaces_->current();
    const QString question =
        QString("Delete the workspace %1? The panels themselves stay.").arg(current.title);
    if (inspector::confirm(window_, "Delete workspace", question, "&Delete it"))
      workspaces_->remove(current.id);
  });
  connect(actions["view.reset_layout"], &QAction::triggered, workspaces_, &Workspaces::reset);
}

}  // namespace tapedeck::app
