#include "app/notebook/view/outline.h"

#include <QLabel>
#include <QScopedValueRollback>
#include <QTreeWidget>
#include <QTreeWidgetItemIterator>
#include <QVBoxLayout>

#include "app/notebook/view/notebook_view.h"
#include "app/notebook/view/outline_model.h"
#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::app {
namespace {

constexpr int place_role = Qt::UserRole;  ///< of an item: its heading's place in the model

}  // namespace

OutlineView::OutlineView(NotebookView* notebook, Document* document, QWidget* parent)
    : QWidget(parent),
      notebook_(notebook),
      document_(document),
      model_(new OutlineModel(document, this)),
      list_(new QTreeWidget(this)),
      hint_(inspector::plainLabel(this)) {
  list_->setHeaderHidden(true);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setIndentation(14);
  list_->setUniformRowHeights(true);
  list_->setExpandsOnDoubleClick(false);
  list_->setAccessibleName("Outline of the notebook");
  hint_->setText("The headings of Markdown cells appear here. A line that begins with # is one.");
  hint_->setWordWrap(true);
  hint_->setMargin(8);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(hint_);
  layout->addWidget(list_, 1);
  setFocusProxy(list_);
  connect(model_, &OutlineModel::changed, this, &OutlineView::fill);
  connect(notebook, &NotebookView::currentCellChanged, this, &OutlineView::markCurrent);
  connect(list_, &QTreeWidget::currentItemChanged, this, [this](QTreeWidgetItem* item) {
    if (!marking_) goTo(item, false);
  });
  // Also where it is the current one already, and its cell was scrolled out of sight.
  connect(list_, &QTreeWidget::itemClicked, this, [this](QTreeWidgetItem* item) { goTo(item, false); });
  connect(list_, &QTreeWidget::itemActivated, this, [this](QTreeWidgetItem* item) { goTo(item, true); });
  fill();
}

void OutlineView::fill() {
  const QScopedValueRollback marking(marking_, true);
  list_->clear();
  QList<QPair<int, QTreeWidgetItem*>> open;  // the headings that the next one may stand under
  const QList<Heading>& headings = model_->headings();
  for (int i = 0; i < headings.size(); ++i) {
    while (!open.isEmpty() && open.last().first >= headings[i].level) open.removeLast();
    auto* item = open.isEmpty() ? new QTreeWidgetItem(list_) : new QTreeWidgetItem(open.last().second);
    item->setText(0, headings[i].text);
    item->setToolTip(0, inspector::plainTip(headings[i].text + "\nA click shows it; Enter goes there"));
    item->setData(0, place_role, i);
    open += {headings[i].level, item};
  }
  list_->expandAll();
  list_->setVisible(!headings.isEmpty());
  hint_->setVisible(headings.isEmpty());
  markCurrent();
}

void OutlineView::markCurrent() {
  const int over = model_->headingOver(notebook_->currentCell());
  const QScopedValueRollback marking(marking_, true);
  const QTreeWidgetItem* now = list_->currentItem();
  // Of several headings in one cell, the one that was chosen stays.
  if (over >= 0 && now != nullptr &&
      model_->headings().value(now->data(0, place_role).toInt()).cellId == model_->headings()[over].cellId) {
    return;
  }
  list_->setCurrentItem(nullptr);
  for (QTreeWidgetItemIterator item(list_); over >= 0 && *item != nullptr; ++item) {
    if ((*item)->data(0, place_role).toInt() == over) list_->setCurrentItem(*item);
  }
}

void OutlineView::goTo(const QTreeWidgetItem* item, bool enter) {
  if (item == nullptr) return;
  const Heading heading = model_->headings().value(item->data(0, place_role).toInt());
  const int cell = document_->indexOf(heading.cellId);
  if (cell < 0) return;
  const QScopedValueRollback marking(marking_, true);
  notebook_->setCurrentCell(cell, false);
  notebook_->showHeading(cell, heading.text);
  if (enter) notebook_->setFocus();
}

}  // namespace tapedeck::app
