#include "inspector/ui/row_list.h"

#include <QHeaderView>
#include <QTreeWidget>

namespace tapedeck::inspector {

QTreeWidget* makeRowList(QWidget* parent, const QString& name, const QString& accessibleName,
                         const QStringList& titles) {
  auto* list = new QTreeWidget(parent);
  list->setObjectName(name);
  list->setAccessibleName(accessibleName);
  list->setHeaderLabels(titles);
  list->setRootIsDecorated(false);
  list->setUniformRowHeights(true);
  list->setAllColumnsShowFocus(true);
  return list;
}

void stretchColumn(QTreeWidget* list, int column) {
  list->header()->setStretchLastSection(false);
  list->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  list->header()->setSectionResizeMode(column, QHeaderView::Stretch);
}

}  // namespace tapedeck::inspector
