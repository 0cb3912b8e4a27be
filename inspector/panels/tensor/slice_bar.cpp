#include "inspector/panels/tensor/slice_bar.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QSpinBox>
#include <algorithm>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/follow_font.h"
#include "inspector/ui/plain_text.h"
#include "inspector/ui/window_scale.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

int clampToInt(std::int64_t value) {
  return static_cast<int>(std::min<std::int64_t>(value, 2'000'000'000));
}

}  // namespace

SliceBar::SliceBar(TensorModel* model, QWidget* parent) : QWidget(parent), model_(model) {
  auto* layout = new WrappingLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(6);
  rows_ = new QComboBox(this);
  rows_->setAccessibleName(QStringLiteral("Axis shown as rows"));
  rows_->setToolTip(QStringLiteral("The axis that is shown as rows"));
  columns_ = new QComboBox(this);
  columns_->setAccessibleName(QStringLiteral("Axis shown as columns"));
  columns_->setToolTip(QStringLiteral("The axis that is shown as columns"));
  for (QComboBox* box : {rows_, columns_}) {
    box->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    labels_ << plainLabel(box == rows_ ? QStringLiteral("rows") : QStringLiteral("columns"));
    group({labels_.last(), box});
  }
  connect(rows_, &QComboBox::activated, this, &SliceBar::chooseAxes);
  connect(columns_, &QComboBox::activated, this, &SliceBar::chooseAxes);
  connect(model, &TensorModel::layoutChanged, this, &SliceBar::update);
  update();
}

QWidget* SliceBar::group(std::initializer_list<QWidget*> controls) {
  auto* holder = new QWidget(this);
  holder->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Preferred);  // a wide panel needs no wide boxes
  auto* line = new QHBoxLayout(holder);
  line->setContentsMargins(0, 0, 2, 0);
  line->setSpacing(6);
  for (QWidget* control : controls) line->addWidget(control);
  layout()->addWidget(holder);
  holder->show();
  return holder;
}

void SliceBar::setNarrow(bool narrow) {
  if (narrow == narrow_) return;
  narrow_ = narrow;
  shown_.clear();
  update();
}

QSpinBox* SliceBar::indexOf(int axis) const {
  for (const Cut& cut : cuts_)
    if (cut.axis == axis) return cut.box;
  return nullptr;
}

/// The lower one of two axes is the rows: choosing the same or a higher one moves the other.
void SliceBar::chooseAxes() {
  const int count = static_cast<int>(model_->shape().size());
  int row = rows_->currentIndex(), column = columns_->currentIndex();
  if (row >= column) {
    if (sender() == rows_)
      column = std::min(count - 1, row + 1);
    else
      row = std::max(0, column - 1);
    if (row == column) row == 0 ? ++column : --row;
  }
  model_->setShownAxes(row, column);
  update();
}

void SliceBar::update() {
  const std::vector<std::int64_t> slice = model_->slice();
  const bool tiles = model_->images() && model_->picture() == PictureKind::tiles;
  const bool needed = slice.size() > 2 && (tiles || !model_->images());
  setVisible(needed);
  if (!needed) return;
  std::vector<bool> shown;
  for (const std::int64_t index : slice) shown.push_back(index == -1);
  if (model_->shape() != shape_ || shown != shown_) {
    shape_ = model_->shape();
    shown_ = shown;
    rebuild();
  }
  for (QWidget* label : labels_) label->setVisible(!narrow_);
  for (QWidget* group : groups_) group->setVisible(!tiles);  // tiles show all indices
  for (const Cut& cut : cuts_) {
    cut.slider->setVisible(!narrow_);
    cut.label->setVisible(!narrow_);
    const QSignalBlocker box_blocked(cut.box), slider_blocked(cut.slider);
    cut.box->setValue(clampToInt(slice[static_cast<std::size_t>(cut.axis)]));
    cut.slider->setValue(cut.box->value());
  }
}

void SliceBar::rebuild() {
  const QSignalBlocker rows_blocked(rows_), columns_blocked(columns_);
  rows_->clear();
  columns_->clear();
  int row = -1, column = -1;
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    const QString size = QStringLiteral("%1 (%2)").arg(axis).arg(shape_[axis]);
    rows_->addItem(narrow_ ? QStringLiteral("rows %1").arg(axis) : QStringLiteral("axis ") + size);
    columns_->addItem(narrow_ ? QStringLiteral("columns %1").arg(axis) : QStringLiteral("axis ") + size);
    const QString extent = plainTip(QStringLiteral("Axis %1 has %2 indices").arg(axis).arg(shape_[axis]));
    rows_->setItemData(static_cast<int>(axis), extent, Qt::ToolTipRole);
    columns_->setItemData(static_cast<int>(axis), extent, Qt::ToolTipRole);
    if (!shown_[axis]) continue;
    row = column;
    column = static_cast<int>(axis);
  }
  rows_->setCurrentIndex(row);
  columns_->setCurrentIndex(column);
  cuts_.clear();
  qDeleteAll(groups_);
  groups_.clear();
  for (std::size_t axis = 0; axis < shape_.size(); ++axis) {
    if (shown_[axis]) continue;
    Cut cut{static_cast<int>(axis), new QSpinBox, new QSlider(Qt::Horizontal), nullptr};
    const int last = clampToInt(std::max<std::int64_t>(shape_[axis] - 1, 0));
    auto* label = plainLabel(QStringLiteral("axis %1").arg(axis));
    label->setBuddy(cut.box);
    cut.label = label;
    cut.box->setRange(0, last);
    if (narrow_)
      cut.box->setPrefix(QStringLiteral("axis %1: ").arg(axis));
    else
      cut.box->setSuffix(QStringLiteral(" / %1").arg(shape_[axis]));
    cut.box->setWrapping(true);
    cut.box->setAccessibleName(QStringLiteral("Index of axis %1").arg(axis));
    cut.box->setToolTip(
        plainTip(QStringLiteral("Which index of axis %1 is shown, of %2").arg(axis).arg(shape_[axis])));
    cut.slider->setRange(0, last);
    followFont(cut.slider, [slider = cut.slider] { slider->setFixedWidth(scaled(64)); });
    cut.slider->setAccessibleName(cut.box->accessibleName());
    cut.slider->setToolTip(cut.box->toolTip());
    const int chosen = cut.axis;
    connect(cut.box, &QSpinBox::valueChanged, this,
            [this, chosen](int index) { model_->setSliceIndex(chosen, index); });
    connect(cut.slider, &QSlider::valueChanged, cut.box, &QSpinBox::setValue);
    groups_ << group({label, cut.box, cut.slider});
    cuts_.push_back(cut);
  }
}

}  // namespace tapedeck::inspector
