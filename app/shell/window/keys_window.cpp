#include "app/shell/window/keys_window.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QScreen>
#include <QScrollBar>
#include <QStyledItemDelegate>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "inspector/model/plain_tip.h"

namespace tapedeck::app {
namespace {

constexpr QSize wanted_size(760, 620);
constexpr char usual_keys[] = "Ctrl+Shift+Return, Ctrl+Shift+R";  ///< as wide as most

/// As high as the lines that a text takes in its column: a tree asks for one line otherwise.
class Lines : public QStyledItemDelegate {
 public:
  explicit Lines(QTreeWidget* list) : QStyledItemDelegate(list), list_(list) {}

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const QSize line = QStyledItemDelegate::sizeHint(option, index);
    const int margin = list_->style()->pixelMetric(QStyle::PM_FocusFrameHMargin) + 1;
    const int indentation = index.column() == 0 ? 2 * list_->indentation() : 0;
    const int width = list_->header()->sectionSize(index.column()) - indentation - 2 * margin;
    const QRect text = option.fontMetrics.boundingRect(QRect(0, 0, width, QWIDGETSIZE_MAX), Qt::TextWordWrap,
                                                       index.data().toString());
    return {line.width(), std::max(line.height(), text.height() + 2)};
  }

 private:
  QTreeWidget* list_;
};

QTreeWidgetItem* addGroup(QTreeWidget* list, const KeyGroup& group) {
  auto* title = new QTreeWidgetItem(list, {group.title});
  QFont font = list->font();
  font.setBold(true);
  title->setFont(0, font);
  title->setFirstColumnSpanned(true);
  title->setFlags(Qt::ItemIsEnabled);
  for (const KeyLine& line : group.lines) {
    auto* item = new QTreeWidgetItem(title, {line.keys, line.text});
    item->setToolTip(1, inspector::plainTip(line.text));
    item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
  }
  title->setExpanded(true);
  return title;
}

}  // namespace

KeysWindow::KeysWindow(const QList<KeyGroup>& groups, QWidget* parent)
    : QDialog(parent), field_(new QLineEdit), list_(new QTreeWidget) {
  setObjectName("keysWindow");
  setWindowTitle("Keys");
  setAttribute(Qt::WA_DeleteOnClose);
  auto* column = new QVBoxLayout(this);
  field_->setObjectName("keysSearch");
  field_->setPlaceholderText("Search keys and commands");
  field_->setToolTip("Only keys whose line contains every word (Ctrl+F; Esc clears, then closes)");
  field_->setAccessibleName("Find a key");
  field_->setClearButtonEnabled(true);
  column->addWidget(field_);
  list_->setObjectName("keysList");
  list_->setAccessibleName("Keys");
  list_->setColumnCount(2);
  list_->setHeaderLabels({"Key", "What it does"});
  list_->setRootIsDecorated(false);
  list_->setIndentation(12);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  for (const KeyGroup& group : groups) addGroup(list_, group);
  // Both columns break into lines where they must.
  list_->setWordWrap(true);
  list_->setItemDelegate(new Lines(list_));
  list_->header()->resizeSection(0, list_->fontMetrics().horizontalAdvance(usual_keys));
  list_->header()->setStretchLastSection(true);
  connect(list_->header(), &QHeaderView::sectionResized, list_, &QTreeWidget::doItemsLayout,
          Qt::QueuedConnection);
  column->addWidget(list_, 1);
  connect(field_, &QLineEdit::textChanged, this, &KeysWindow::search);
  resize(wanted_size.boundedTo(screen()->availableGeometry().size() * 4 / 5));
  field_->setFocus();
}

void KeysWindow::search(const QString& text) {
  const QStringList words = text.split(' ', Qt::SkipEmptyParts);
  for (int g = 0; g < list_->topLevelItemCount(); ++g) {
    QTreeWidgetItem* group = list_->topLevelItem(g);
    bool any = false;
    for (int i = 0; i < group->childCount(); ++i) {
      QTreeWidgetItem* item = group->child(i);
      const QString line = group->text(0) + ' ' + item->text(0) + ' ' + item->text(1);
      const bool all = std::all_of(words.begin(), words.end(), [&](const QString& word) {
        return line.contains(word, Qt::CaseInsensitive);
      });
      item->setHidden(!all);
      any = any || all;
    }
    group->setHidden(!any);
  }
}

void KeysWindow::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Find)) return field_->setFocus();
  if (event->key() == Qt::Key_Escape && !field_->text().isEmpty()) return field_->clear();
  // From the field the list is scrolled.
  QScrollBar* bar = list_->verticalScrollBar();
  switch (event->key()) {
    case Qt::Key_Up:
      return bar->setValue(bar->value() - 3 * bar->singleStep());
    case Qt::Key_Down:
      return bar->setValue(bar->value() + 3 * bar->singleStep());
    case Qt::Key_PageUp:
      return bar->setValue(bar->value() - bar->pageStep());
    case Qt::Key_PageDown:
      return bar->setValue(bar->value() + bar->pageStep());
    default:
      return QDialog::keyPressEvent(event);
  }
}

}  // namespace tapedeck::app
