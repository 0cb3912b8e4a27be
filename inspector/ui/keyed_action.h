// Actions of the panels, each with its key.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QList>
#include <QWidget>

#include "inspector/model/plain_tip.h"

namespace tapedeck::inspector {

/// Gives an action its keys; `tip`, words of the program itself, gets the first of them added.
inline void setKey(QAction* action, const QList<QKeySequence>& keys, const QString& tip) {
  action->setShortcuts(keys);
  action->setStatusTip(tip);
  action->setToolTip(QStringLiteral("%1 (%2)").arg(tip, keys.first().toString(QKeySequence::NativeText)));
}

/// An action of `panel`, whose keys work wherever in the panel the focus is. As setKey for the rest.
inline QAction* addKeyedAction(QWidget* panel, const QString& text, const QList<QKeySequence>& keys,
                               const QString& tip) {
  auto* action = new QAction(text, panel);
  setKey(action, keys, tip);
  action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
  panel->addAction(action);
  return action;
}

/// Switches an action on where there is no refusal; else it is off, and its tooltip says why. `tip`: the
/// tooltip of setKey.
inline void allow(QAction* action, const QString& tip, const QString& refusal) {
  action->setEnabled(refusal.isEmpty());
  const QString key = action->shortcut().toString(QKeySequence::NativeText);
  action->setToolTip(refusal.isEmpty() ? tip : plainTip(QStringLiteral("%1 (%2)").arg(refusal, key)));
}

}  // namespace tapedeck::inspector
