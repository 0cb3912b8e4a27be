#include "inspector/panels/variables/value_view.h"

#include <QAbstractProxyModel>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QMenu>

#include "inspector/panels/variables/value_delegate.h"
#include "inspector/ui/follow_font.h"

namespace tapedeck::inspector {

ValueView::ValueView(ValueTree* tree, QAbstractItemModel* model, QWidget* parent)
    : QTreeView(parent), tree_(tree) {
  setModel(model);
  setItemDelegate(new ValueDelegate(this));
  setUniformRowHeights(true);
  setAllColumnsShowFocus(true);
  setSelectionBehavior(SelectRows);
  setEditTriggers(NoEditTriggers);
  setExpandsOnDoubleClick(false);
  setTextElideMode(Qt::ElideRight);
  setHorizontalScrollMode(ScrollPerPixel);
  header()->setStretchLastSection(false);
  header()->setSectionsMovable(true);
  const int letters[] = {17, 22, 10, 10, 9, 9, 9, 14};
  for (int column = 0; column < ValueTree::ColumnCount; ++column)
    header()->resizeSection(column, letters[column] * letter_);
  followFont(this, [this] {
    const int letter = fontMetrics().horizontalAdvance(QLatin1Char('0'));
    for (int column = 0; letter != letter_ && column < ValueTree::ColumnCount; ++column)
      header()->resizeSection(column, header()->sectionSize(column) * letter / letter_);
    letter_ = letter;
  });
  // Beside the value it is visible, in the last column it may not be.
  header()->moveSection(header()->visualIndex(ValueTree::Histogram), header()->visualIndex(ValueTree::Type));
  connect(this, &QTreeView::clicked, this, [this](const QModelIndex& index) {
    if (index.data(ValueTree::CanShowRole).toBool()) tree_->show(inTree(index));
  });
}

QModelIndex ValueView::inTree(const QModelIndex& index) const {
  const auto* proxy = qobject_cast<const QAbstractProxyModel*>(model());
  return proxy ? proxy->mapToSource(index) : index;
}

QString ValueView::currentExpression() const {
  return currentIndex().data(ValueTree::ExpressionRole).toString();
}

void ValueView::showCurrent() {
  tree_->show(inTree(currentIndex()));
}

void ValueView::editCurrent() {
  const QModelIndex current = currentIndex();
  for (const int column : {static_cast<int>(ValueTree::Value), static_cast<int>(ValueTree::Name)}) {
    const QModelIndex index = current.siblingAtColumn(column);
    if (index.flags() & Qt::ItemIsEditable) return edit(index);
  }
  tree_->tellNotEdited(inTree(current));
}

void ValueView::copyValue() {
  const QString text = currentIndex().siblingAtColumn(ValueTree::Value).data().toString();
  if (!text.isEmpty()) QGuiApplication::clipboard()->setText(text);
}

void ValueView::copyExpression() {
  const QString text = currentExpression();
  if (!text.isEmpty()) QGuiApplication::clipboard()->setText(text);
}

/// Enter or a double click: more rows, an editor, or what is inside.
void ValueView::open(const QModelIndex& index) {
  if (!index.isValid()) return;
  if (index.data(ValueTree::RowKindRole).toInt() == ValueTree::More) return tree_->loadMore(inTree(index));
  const QModelIndex value = index.siblingAtColumn(ValueTree::Value);
  if (index.column() == ValueTree::Name && (index.flags() & Qt::ItemIsEditable)) return edit(index);
  if (value.flags() & Qt::ItemIsEditable) return edit(value);
  const QModelIndex first = index.siblingAtColumn(ValueTree::Name);
  if (model()->hasChildren(first)) return setExpanded(first, !isExpanded(first));
  tree_->tellNotEdited(inTree(index));
}

void ValueView::keyPressEvent(QKeyEvent* event) {
  if ((event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) && state() != EditingState)
    return open(currentIndex());
  QTreeView::keyPressEvent(event);
}

void ValueView::mouseDoubleClickEvent(QMouseEvent* event) {
  const QModelIndex index = indexAt(event->position().toPoint());
  QTreeView::mouseDoubleClickEvent(event);
  if (event->button() == Qt::LeftButton) open(index);
}

void ValueView::contextMenuEvent(QContextMenuEvent* event) {
  const QModelIndex index =
      event->reason() == QContextMenuEvent::Mouse ? indexAt(event->pos()) : currentIndex();
  if (!index.isValid()) return;
  setCurrentIndex(index);
  QMenu menu(this);
  menu.setToolTipsVisible(true);
  menu.addActions(menu_);
  menu.exec(event->reason() == QContextMenuEvent::Mouse
                ? event->globalPos()
                : viewport()->mapToGlobal(visualRect(index).bottomLeft()));
}

}  // namespace tapedeck::inspector
