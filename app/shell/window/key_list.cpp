#include "app/shell/window/key_list.h"

#include <QAction>
#include <QMenu>
#include <QMenuBar>

#include "app/notebook/view/notebook_keys.h"
#include "app/shell/panels/panel_docks.h"

namespace tapedeck::app {
namespace {

QString plain(QString text) {
  return text.remove(QLatin1Char('&')).remove(QStringLiteral("…"));
}

QString keyText(const QList<QKeySequence>& keys) {
  QStringList texts;
  for (const QKeySequence& key : keys) texts << key.toString(QKeySequence::NativeText);
  return texts.join(QStringLiteral(" or "));
}

/// A group for the menu, and one for each menu in it.
void addMenu(const QMenu& menu, const QString& title, QList<KeyGroup>* groups) {
  const qsizetype own = groups->size();
  groups->append({title, {}});
  for (const QAction* action : menu.actions()) {
    if (action->menu())
      addMenu(*action->menu(), plain(action->text()), groups);
    else if (!action->shortcut().isEmpty())
      (*groups)[own].lines << KeyLine{keyText(action->shortcuts()), action->statusTip().isEmpty()
                                                                        ? plain(action->text())
                                                                        : action->statusTip()};
  }
}

/// What no action does: the system's own way about, and the window's.
KeyGroup everywhereGroup() {
  return {QStringLiteral("Everywhere"),
          {{QStringLiteral("Tab"), QStringLiteral("Move the focus to the next visible control")},
           {keyText({QKeySequence(Qt::SHIFT | Qt::Key_Tab)}),
            QStringLiteral("Move the focus to the previous one")},
           {keyText({QKeySequence(Qt::Key_Escape)}), QStringLiteral("From a panel back to the notebook")},
           {keyText({QKeySequence(Qt::Key_Return)}),
            QStringLiteral("On the start page: open what has the focus")}}};
}

KeyGroup notebookGroup(const QString& title, const QList<KeyHelp>& keys) {
  KeyGroup group{title, {}};
  for (const KeyHelp& key : keys) group.lines << KeyLine{key.keys, key.text};
  return group;
}

}  // namespace

QList<KeyGroup> keyGroups(const QMenuBar& menus, const PanelDocks& docks) {
  QList<KeyGroup> groups;
  for (const QAction* action : menus.actions())
    if (action->menu()) addMenu(*action->menu(), plain(action->text()), &groups);
  for (const inspector::PanelDescriptor& descriptor : docks.descriptors())
    for (KeyGroup& group : groups)
      if (group.title == descriptor.title)
        for (const inspector::HandledKeys& handled : docks.panel(descriptor.id)->handledKeys())
          group.lines << KeyLine{keyText(handled.keys), handled.text};
  groups.removeIf([](const KeyGroup& group) { return group.lines.isEmpty(); });
  groups.prepend(everywhereGroup());
  groups << notebookGroup("Notebook, no text cursor in a cell (Esc)", commandModeKeys());
  groups << notebookGroup("Text of a cell (Enter)", editorKeys());
  return groups;
}

}  // namespace tapedeck::app
