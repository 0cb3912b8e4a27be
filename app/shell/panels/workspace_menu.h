// The workspaces as actions: in the menu View, at the end of the tool bar, and by key.
#pragma once

#include <QObject>

class QAction;
class QActionGroup;
class QMenu;
class QToolBar;
class QWidget;

namespace tapedeck::app {

class Actions;
class Workspaces;

class WorkspaceMenu : public QObject {
 public:
  WorkspaceMenu(Workspaces* workspaces, const Actions& actions, QWidget* window);

  QMenu* menu() const { return menu_; }
  /// The built-in ones side by side.
  void fillToolBar(QToolBar* bar) const;
  void setEnabled(bool enabled);

 private:
  void fill();
  void addWorkspace(const QString& id, const QString& title, int position);
  QString askName(const QString& title, const QString& name) const;
  void connectActions(const Actions& actions);

  Workspaces* workspaces_;
  const Actions& actions_;
  QWidget* window_;
  QMenu* menu_;
  QActionGroup* group_;
};

}  // namespace tapedeck::app
