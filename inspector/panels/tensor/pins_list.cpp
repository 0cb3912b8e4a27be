#include "inspector/panels/tensor/pins_list.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QPushButton>
#include <QScreen>
#include <QTreeWidget>
#include <QVBoxLayout>
#include <algorithm>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::inspector {

namespace {

constexpr int most_rows_seen = 12;
constexpr int cross_column = 1;

}  // namespace

PinsList::PinsList(PinsModel* model, QWidget* parent)
    : QFrame(parent, Qt::Popup),
      model_(model),
      hint_(plainLabel(this)),
      rows_(new QTreeWidget(this)),
      all_(new QPushButton(QStringLiteral("Unpin all"), this)) {
  setFrameShape(QFrame::StyledPanel);
  setAccessibleName(QStringLiteral("Pinned values"));
  hint_->setWordWrap(true);
  rows_->setAccessibleName(QStringLiteral("Pinned values"));
  rows_->setColumnCount(2);
  rows_->setHeaderHidden(true);
  rows_->setRootIsDecorated(false);
  rows_->setUniformRowHeights(true);
  rows_->setTextElideMode(Qt::ElideMiddle);
  rows_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  rows_->setFrameShape(QFrame::NoFrame);
  rows_->header()->setStretchLastSection(false);
  rows_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
  rows_->header()->setSectionResizeMode(cross_column, QHeaderView::ResizeToContents);
  rows_->installEventFilter(this);
  all_->setToolTip(QStringLiteral("Unpin all, so that the recorder may drop them"));
  all_->setAutoDefault(false);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(6, 6, 6, 6);
  layout->addWidget(hint_);
  layout->addWidget(rows_);
  layout->addWidget(all_, 0, Qt::AlignRight);
  connect(rows_, &QTreeWidget::itemClicked, this, [this](QTreeWidgetItem* item, int column) {
    const int row = rows_->indexOfTopLevelItem(item);
    column == cross_column ? unpin(row) : show(row);
  });
  connect(all_, &QPushButton::clicked, model_, &PinsModel::unpinAll);
  connect(model_, &PinsModel::changed, this, &PinsList::fill);
  fill();
}

void PinsList::fill() {
  const int before = std::max(0, rows_->currentIndex().row());
  rows_->clear();
  for (const Pin& pin : model_->pins()) {
    auto* item = new QTreeWidgetItem(rows_, {pin.text, QStringLiteral("✕")});
    item->setToolTip(0, plainTip(QStringLiteral("Show %1 (Enter)").arg(pin.text)));
    item->setToolTip(cross_column, plainTip(QStringLiteral("Unpin %1 (Delete)").arg(pin.name)));
    item->setData(cross_column, Qt::AccessibleTextRole, QStringLiteral("Unpin %1").arg(pin.name));
  }
  const int count = rows_->topLevelItemCount();
  if (count > 0) rows_->setCurrentItem(rows_->topLevelItem(std::min(before, count - 1)));
  rows_->setVisible(count > 0);
  all_->setVisible(count > 0);
  hint_->setText(
      count > 0 ? QStringLiteral("Kept however old they get. Enter shows one, Delete unpins it.")
                : QStringLiteral(
                      "Nothing is pinned. Pin (Alt+P) keeps the value that is shown, however old it gets."));
}

void PinsList::openBelow(const QWidget* widget, TensorId tensor) {
  const std::vector<Pin>& pins = model_->pins();
  for (std::size_t row = 0; row < pins.size(); ++row)
    if (pins[row].chip.info.id == tensor) rows_->setCurrentItem(rows_->topLevelItem(static_cast<int>(row)));
  const QRect screen = widget->screen()->availableGeometry();
  int text = 0;
  for (const Pin& pin : pins) text = std::max(text, fontMetrics().horizontalAdvance(pin.text));
  const int width = std::clamp(text + 90, 320, screen.width() / 2);
  const int seen = std::min(static_cast<int>(pins.size()), most_rows_seen);
  const int row = pins.empty() ? 0 : rows_->visualItemRect(rows_->topLevelItem(0)).height();
  rows_->setFixedHeight(seen * std::max(row, fontMetrics().height()) + 4);
  setFixedWidth(width);
  resize(width, layout()->hasHeightForWidth() ? layout()->totalHeightForWidth(width) : sizeHint().height());
  QRect place(widget->mapToGlobal(QPoint(0, widget->height())), size());
  place.moveLeft(std::clamp(place.left(), screen.left(), std::max(screen.left(), screen.right() - width)));
  if (place.bottom() > screen.bottom()) place.moveBottom(widget->mapToGlobal(QPoint(0, 0)).y());
  move(place.topLeft());
  QFrame::show();
  rows_->setFocus(Qt::PopupFocusReason);
}

void PinsList::show(int row) {
  if (row < 0 || row >= static_cast<int>(model_->pins().size())) return;
  const TensorChip chip = model_->pins()[static_cast<std::size_t>(row)].chip;
  close();
  emit chosen(chip);
}

void PinsList::unpin(int row) {
  if (row < 0 || row >= static_cast<int>(model_->pins().size())) return;
  model_->unpin(model_->pins()[static_cast<std::size_t>(row)].chip.info.id);
}

bool PinsList::eventFilter(QObject* watched, QEvent* event) {
  if (watched == rows_ && event->type() == QEvent::KeyPress) {
    switch (static_cast<QKeyEvent*>(event)->key()) {
      case Qt::Key_Return:
      case Qt::Key_Enter:
        show(rows_->currentIndex().row());
        return true;
      case Qt::Key_Delete:
      case Qt::Key_Backspace:
        unpin(rows_->currentIndex().row());
        return true;
      default:
        break;
    }
  }
  return QFrame::eventFilter(watched, event);
}

}  // namespace tapedeck::inspector
