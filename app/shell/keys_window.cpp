#include "app/shell/keys_window.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QScreen>
#include <QScrollBar>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace tapedeck::app {
namespace {

constexpr QSize wanted_size(680, 620);

QTreeWidgetItem* addGroup(QTreeWidget* list, const KeyGroup& group) {
  auto* title = new QTreeWidgetItem(list, {group.title});
  QFont font = list->font();
  font.setBold(true);
  title->setFont(0, font);
  title->setFirstColumnSpanned(true);
  title->setFlags(Qt::ItemIsEnabled);
  for (const KeyLine& line : group.lines) {
    auto* item = new QTreeWidgetItem(title, {line.keys, line.text});
    item->setToolTip(1, line.text);
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
  field_->setPlaceholderText("Find a key, or what one does");
  field_->setToolTip("Only keys in whose line every word occurs (Ctrl+F; Esc clears, then closes)");
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
  list_->header()->setSectionResizeMode(0, QHeaderView::ResizeToContents);
  list_->header()->setStretchLastSection(true);
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
