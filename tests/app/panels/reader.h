// What a screen reader finds in a widget that draws its contents.
#pragma once

#include <QAccessible>
#include <QStringList>
#include <QWidget>

namespace tapedeck::test {

inline QAccessibleInterface* readerOf(QWidget* widget) {
  return QAccessible::queryAccessibleInterface(widget);
}

inline QStringList readIn(QWidget* widget, QAccessible::Text kind = QAccessible::Name) {
  QStringList texts;
  QAccessibleInterface* whole = readerOf(widget);
  for (int i = 0; i < whole->childCount(); ++i) texts << whole->child(i)->text(kind);
  return texts;
}
/// The value of the part of that name; empty where there is none.
inline QString valueOf(QWidget* widget, const QString& name) {
  const qsizetype at = readIn(widget).indexOf(name);
  return at < 0 ? QString() : readerOf(widget)->child(static_cast<int>(at))->text(QAccessible::Value);
}

inline QRect onScreen(const QWidget* widget) {
  return {widget->mapToGlobal(QPoint()), widget->size()};
}
/// All parts that belong to the widget's picture are in it.
inline bool partsAreInside(QWidget* widget, int count) {
  for (int i = 0; i < count; ++i) {
    const QRect rect = readerOf(widget)->child(i)->rect();
    if (rect.isEmpty() || !onScreen(widget).contains(rect)) return false;
  }
  return true;
}

}  // namespace tapedeck::test
