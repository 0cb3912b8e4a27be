// The window's menu bar and tool bar, from its actions, panels and workspaces.
#pragma once

#include <QList>
#include <QString>
#include <functional>

class QAction;
class QMenuBar;
class QToolBar;

namespace tapedeck::app {

class Actions;
class PanelDocks;
class WorkspaceMenu;

/// The name of an entry that only says that a menu has none: it is no command.
inline constexpr char placeholder_action[] = "placeholder";

/// `questions` are in the menu Why; `open` gets the path of a recent notebook or a sample.
void fillMenuBar(QMenuBar* bar, const Actions& actions, const PanelDocks& docks,
                 const WorkspaceMenu& workspaces, const QList<QAction*>& questions,
                 const std::function<void(const QString&)>& open);
void fillToolBar(QToolBar* bar, const Actions& actions, const WorkspaceMenu& workspaces);

}  // namespace tapedeck::app
