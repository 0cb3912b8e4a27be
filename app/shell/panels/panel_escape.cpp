#include "app/shell/panels/panel_escape.h"

#include <QAbstractItemView>
#include <QApplication>
#include <QDockWidget>
#include <QKeyEvent>
#include <algorithm>

namespace tapedeck::app {

PanelEscape::PanelEscape(const QList<QDockWidget*>& docks, QObject* parent) : QObject(parent), docks_(docks) {
  for (QDockWidget* dock : docks)
    connect(dock, &QObject::destroyed, this, [this, dock] { docks_.removeOne(dock); });
  qApp->installEventFilter(this);
}

bool PanelEscape::eventFilter(QObject* object, QEvent* event) {
  if (event->type() != QEvent::KeyPress) return false;
  const auto* key = static_cast<QKeyEvent*>(event);
  if (key->key() != Qt::Key_Escape || key->modifiers() != Qt::NoModifier) return false;
  // It comes to the dock where nothing inside has taken it. Lists and tables take it to search for a row that
  // begins with it; while one of their values is edited the focus is in the editor.
  const auto* list = qobject_cast<const QAbstractItemView*>(object);
  const bool left = std::any_of(docks_.begin(), docks_.end(), [&](const QDockWidget* dock) {
    return dock == object || (list && list == QApplication::focusWidget() && dock->isAncestorOf(list));
  });
  if (left) emit escaped();
  return left;
}

}  // namespace tapedeck::app
