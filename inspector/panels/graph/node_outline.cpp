#include "inspector/panels/graph/node_outline.h"

#include <QHeaderView>
#include <QMouseEvent>
#include <algorithm>
#include <utility>

#include "inspector/model/functions/graph_text.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/theme.h"

namespace tapedeck::inspector {

void NodeDelegate::initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const {
  QStyledItemDelegate::initStyleOption(option, index);
  const Theme theme = Theme::fromPalette(option->palette);
  const int column = index.column();
  if (index.data(GraphTree::HeadingRole).toBool()) option->font.setBold(true);
  if (index.data(GraphTree::GoneRole).toBool() && column != GraphTree::Change) {
    option->font.setStrikeOut(true);
    option->palette.setColor(QPalette::Text, theme.faintText);
  } else if (column == GraphTree::Op) {
    option->palette.setColor(QPalette::Text, theme.forward.stroke);
  } else if (column == GraphTree::Change && index.data(GraphTree::ChangedRole).toBool()) {
    option->palette.setColor(QPalette::Text, theme.warning.stroke);
  }
}

NodeOutline::NodeOutline(GraphTree* tree, QWidget* parent) : QTreeView(parent), tree_(tree) {
  setObjectName(QStringLiteral("graphNodes"));
  setAccessibleName(QStringLiteral("Nodes of the graph"));
  setModel(tree);
  setItemDelegate(new NodeDelegate(this));
  setUniformRowHeights(true);
  setAllColumnsShowFocus(true);
  setSelectionBehavior(SelectRows);
  setEditTriggers(NoEditTriggers);
  setExpandsOnDoubleClick(false);
  setTextElideMode(Qt::ElideRight);
  setHorizontalScrollMode(ScrollPerPixel);
  setFrameShape(QFrame::NoFrame);
  setMouseTracking(true);
  header()->setStretchLastSection(true);
  followFont(this, [this] { fit(); });
  connect(tree, &QAbstractItemModel::modelReset, this, [this] {
    if (const int deepest = deepestShown(); std::exchange(deepest_, deepest) != deepest) fit();
  });
}

/// Down to where names still have room.
int NodeOutline::deepestShown() const {
  constexpr int least = 2, most = 6;
  int deepest = least;
  for (const protocol::GraphRow& row : tree_->rows())
    deepest = std::max(deepest, static_cast<int>(std::min<std::uint32_t>(row.depth, most)));
  return deepest;
}

void NodeOutline::fit() {
  const int letter = fontMetrics().horizontalAdvance(QLatin1Char('0'));
  const int letters[] = {14, 15, 15, 16, 18, 15, 22};
  const int indent = deepest_ * indentation();  // of the nodes' names
  int rest = viewport()->width() - indent;
  for (const int one : letters) rest -= one * letter;
  for (int column = 0; column < GraphTree::ColumnCount; ++column) {
    const bool grows =
        column == GraphTree::Inputs || column == GraphTree::Attributes || column == GraphTree::Result;
    header()->resizeSection(column, letters[column] * letter + (column == GraphTree::Node ? indent : 0) +
                                        (grows ? std::max(0, rest / 4) : 0));
  }
}

void NodeOutline::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  fit();
}

/// Where the style writes an item's text.
QRect NodeOutline::textRect(const QModelIndex& index) const {
  const int margin = style()->pixelMetric(QStyle::PM_FocusFrameHMargin, nullptr, this) + 1;
  return visualRect(index).adjusted(margin, 0, -margin, 0);
}

int NodeOutline::inputAt(const QPoint& point) const {
  const QModelIndex index = indexAt(point);
  const protocol::GraphRow* row = tree_->row(index);
  if (!row || index.column() != GraphTree::Inputs) return -1;
  int left = textRect(index).left();
  const QFontMetrics metrics = fontMetrics();
  for (std::size_t i = 0; i < row->inputs.size(); ++i) {
    const int right = left + metrics.horizontalAdvance(QString::fromStdString(row->inputs[i].name));
    if (point.x() >= left && point.x() < right) return static_cast<int>(i);
    left = right + metrics.horizontalAdvance(QStringLiteral(", "));
  }
  return -1;
}

QPoint NodeOutline::pointOf(const QModelIndex& index, int input) const {
  const protocol::GraphRow* row = tree_->row(index);
  if (!row || input < 0 || static_cast<std::size_t>(input) >= row->inputs.size()) return {};
  const QRect text = textRect(index.siblingAtColumn(GraphTree::Inputs));
  const QFontMetrics metrics = fontMetrics();
  QString before;
  for (int i = 0; i < input; ++i)
    before += QString::fromStdString(row->inputs[static_cast<std::size_t>(i)].name) + QStringLiteral(", ");
  const QString name = QString::fromStdString(row->inputs[static_cast<std::size_t>(input)].name);
  return {text.left() + metrics.horizontalAdvance(before) + metrics.horizontalAdvance(name) / 2,
          text.center().y()};
}

void NodeOutline::goTo(const QModelIndex& index) {
  if (!index.isValid()) return;
  setCurrentIndex(index.siblingAtColumn(0));
  scrollTo(index.siblingAtColumn(0));
}

void NodeOutline::goToInput() {
  const QModelIndex current = currentIndex().siblingAtColumn(0);
  const bool again = current.isValid() && current == came_ && from_.isValid();
  const QModelIndex from = again ? QModelIndex(from_) : current;
  const protocol::GraphRow* row = tree_->row(from);
  if (!row || row->inputs.empty()) return;
  const int count = static_cast<int>(row->inputs.size());
  int input = again ? input_ + 1 : 0;
  if (again && input >= count) {  // all were seen: its own first input
    came_ = from_ = QModelIndex();
    return goToInput();
  }
  const QModelIndex node = tree_->inputNode(from, input);
  if (!node.isValid()) return;
  goTo(node);
  from_ = from;
  came_ = node.siblingAtColumn(0);
  input_ = input;
}

void NodeOutline::goToReader() {
  goTo(tree_->reader(currentIndex()));
}

void NodeOutline::mouseReleaseEvent(QMouseEvent* event) {
  QTreeView::mouseReleaseEvent(event);
  const QModelIndex index = indexAt(event->pos());
  if (event->button() != Qt::LeftButton || !index.isValid() || index != currentIndex()) return;
  if (!visualRect(index).contains(event->pos())) return;  // on the sign that folds
  if (const int input = inputAt(event->pos()); input >= 0) return goTo(tree_->inputNode(index, input));
  emit lineWanted(index, false);
}

void NodeOutline::mouseMoveEvent(QMouseEvent* event) {
  QTreeView::mouseMoveEvent(event);
  viewport()->setCursor(inputAt(event->pos()) >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
}

}  // namespace tapedeck::inspector
