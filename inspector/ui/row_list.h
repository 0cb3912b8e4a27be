// Tree widgets of rows that have no children.
#pragma once

#include <QStringList>

class QTreeWidget;
class QWidget;

namespace tapedeck::inspector {

/// `name` is the object's, `accessibleName` what screen readers say.
QTreeWidget* makeRowList(QWidget* parent, const QString& name, const QString& accessibleName,
                         const QStringList& titles);

/// All columns are as wide as their contents; `column` takes the rest.
void stretchColumn(QTreeWidget* list, int column);

}  // namespace tapedeck::inspector
