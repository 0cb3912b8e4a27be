// Actions of the panels, each with its key.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QList>
#include <QWidget>

namespace tapedeck::inspector {

/// An action of `panel`, whose keys work wherever in the panel the focus is. `tip` gets the first key added.
inline QAction* addKeyedAction(QWidget* panel, const QString& text, const QList<QKeySequence>& keys,
                               const QString& tip) {
  auto* action = new QAction(text, panel);
  action->setShortcuts(keys);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  action->setToolTip(QStringLiteral("%1 (%2)").arg(tip, keys.first().toString(QKeySequence::NativeText)));
  panel->addAction(action);
  return action;
}

}  // namespace tapedeck::inspector
