#include "inspector/panels/tensor/heat_options.h"

#include <QAction>
#include <QActionGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QMenu>
#include <QSignalBlocker>
#include <QToolButton>
#include <array>

#include "inspector/model/plain_tip.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

namespace {

constexpr int range_frame = 16;  ///< what the line's frame takes, in pixels

}  // namespace

HeatOptions::HeatOptions(TensorModel* model, TensorCanvas* canvas, QWidget* view, QWidget* parent)
    : QWidget(parent), model_(model), canvas_(canvas), view_(view) {
  auto* row = new QHBoxLayout(this);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(6);
  makeScale();
  makeRange();
  makeMore();
  row->addWidget(scale_);
  row->addWidget(range_);
  row->addWidget(more_);
  setWidths();
  connect(model_, &TensorModel::layoutChanged, this, &HeatOptions::showChoice);
  connect(model_, &TensorModel::chipsChanged, this, &HeatOptions::showChoice);
  connect(canvas_, &TensorCanvas::modeChanged, this, &HeatOptions::showChoice);
  showChoice();
}

void HeatOptions::makeScale() {
  scale_ = new QComboBox(this);
  scale_->addItems({QStringLiteral("Automatic"), QStringLiteral("Sequential"), QStringLiteral("Diverging"),
                    QStringLiteral("Logarithmic")});
  scale_->setAccessibleName(QStringLiteral("Colour scale"));
  QAction* const action = addKeyedAction(
      view_, QStringLiteral("Next colour scale"), {Qt::ALT | Qt::Key_O},
      QStringLiteral("Colours: from minimum to maximum, to both sides of zero, or by equal factors"));
  scale_->setToolTip(action->toolTip());
  connect(action, &QAction::triggered, scale_,
          [this] { scale_->setCurrentIndex((scale_->currentIndex() + 1) % scale_->count()); });
  connect(scale_, &QComboBox::currentIndexChanged, canvas_,
          [this](int index) { canvas_->heatMap().setScale(static_cast<ColorScale>(index)); });
}

void HeatOptions::makeRange() {
  range_ = new QLineEdit(this);
  range_->setPlaceholderText(QStringLiteral("range: all"));
  range_->setAccessibleName(QStringLiteral("Range of colours"));
  QAction* const action = addKeyedAction(
      view_, QStringLiteral("Range of colours"), {Qt::ALT | Qt::SHIFT | Qt::Key_R},
      QStringLiteral("Which values the colours span, such as “-1 … 2.5” or “±3”; empty: minimum to maximum"));
  range_->setToolTip(action->toolTip());
  connect(action, &QAction::triggered, range_, [this] {
    canvas_->setMode(TensorMode::heatMap);
    range_->setFocus(Qt::ShortcutFocusReason);
    range_->selectAll();
  });
  connect(range_, &QLineEdit::textEdited, canvas_, [this](const QString& text) {
    canvas_->heatMap().setRangeText(text);
    emit rangeErrorChanged(canvas_->heatMap().rangeError());
  });
}

QAction* HeatOptions::choice(QActionGroup* group, const QString& text, const QString& tip, int value) {
  auto* action = new QAction(text, group);
  action->setCheckable(true);
  action->setData(value);
  action->setToolTip(plainTip(tip));
  action->setStatusTip(tip);
  return action;
}

void HeatOptions::makeMore() {
  auto* menu = new QMenu(this);
  menu->setToolTipsVisible(true);
  pictures_ = new QActionGroup(this);
  menu->addSection(QStringLiteral("Axes"));
  struct Picture {
    PictureKind kind;
    const char *text, *tip;
  };
  for (const Picture& one : std::array{
           Picture{PictureKind::automatic, "As the shape says",
                   "Images for N×H×W×1, 3 or 4, filters for odd k×k×I×O, else one slice"},
           Picture{PictureKind::slice, "One slice", "Two axes, at one index of each of the others"},
           Picture{PictureKind::tiles, "Tiles",
                   "Any two axes, at all indices of the others: rows and columns are chosen below"},
           Picture{PictureKind::images, "Images (…, height, width, channels)",
                   "The last axis as colours, where it has 3 or 4 channels; else each channel as an image"},
           Picture{PictureKind::filters, "Filters (height, width, inputs, outputs)",
                   "Each filter as an image, in colours where there are 3 inputs"}})
    menu->addAction(choice(pictures_, QString::fromUtf8(one.text), QString::fromUtf8(one.tip),
                           static_cast<int>(one.kind)));
  connect(pictures_, &QActionGroup::triggered, model_,
          [this](QAction* action) { model_->setPicture(static_cast<PictureKind>(action->data().toInt())); });
  cells_ = new QActionGroup(this);
  menu->addSection(QStringLiteral("A cell of many elements shows"));
  struct Cells {
    protocol::CellValue value;
    const char* text;
  };
  for (const Cells& one : std::array{Cells{protocol::CellValue::extreme, "The largest magnitude"},
                                     Cells{protocol::CellValue::minimum, "The minimum"},
                                     Cells{protocol::CellValue::maximum, "The maximum"},
                                     Cells{protocol::CellValue::mean, "The mean"}})
    menu->addAction(choice(cells_, QString::fromUtf8(one.text),
                           QStringLiteral("Where there are more elements than pixels; NaN always shows"),
                           static_cast<int>(one.value)));
  cells_->actions().first()->setChecked(true);
  connect(cells_, &QActionGroup::triggered, model_, [this](QAction* action) {
    model_->setCellValue(static_cast<protocol::CellValue>(action->data().toInt()));
  });
  const auto next = [](QActionGroup* group) {
    const QList<QAction*> all = group->actions();
    const qsizetype at = all.indexOf(group->checkedAction());
    for (qsizetype i = 1; i <= all.size(); ++i)
      if (QAction* action = all[(at + i) % all.size()]; action->isEnabled()) return action->trigger();
  };
  QAction* const axes =
      addKeyedAction(view_, QStringLiteral("Next way to lay out axes"), {Qt::ALT | Qt::SHIFT | Qt::Key_T},
                     QStringLiteral("Heat map: a slice, tiles, images or filters"));
  connect(axes, &QAction::triggered, this, [this, next] {
    canvas_->setMode(TensorMode::heatMap);
    next(pictures_);
  });
  QAction* const cells = addKeyedAction(
      view_, QStringLiteral("Next value of large cells"), {Qt::ALT | Qt::SHIFT | Qt::Key_K},
      QStringLiteral(
          "Heat map: a cell of many elements shows their largest magnitude, minimum, maximum or mean"));
  connect(cells, &QAction::triggered, this, [this, next] {
    canvas_->setMode(TensorMode::heatMap);
    next(cells_);
  });
  more_ = new QToolButton(this);
  more_->setText(QStringLiteral("Axes"));
  more_->setMenu(menu);
  more_->setPopupMode(QToolButton::InstantPopup);
  more_->setAccessibleName(QStringLiteral("Axes and cells of the heat map"));
  more_->setToolTip(
      plainTip(QStringLiteral("Tiles, images or filters (%1); what a cell of many elements shows (%2)")
                   .arg(axes->shortcut().toString(QKeySequence::NativeText),
                        cells->shortcut().toString(QKeySequence::NativeText))));
}

void HeatOptions::showChoice() {
  const QSignalBlocker scale_blocked(scale_);
  for (QWidget* control : {static_cast<QWidget*>(scale_), static_cast<QWidget*>(range_)})
    control->setEnabled(model_->tensor() != nullptr);  // the choice is the tensor's
  scale_->setCurrentIndex(static_cast<int>(canvas_->heatMap().scale()));
  if (range_->text() != canvas_->heatMap().rangeText()) range_->setText(canvas_->heatMap().rangeText());
  for (QAction* action : pictures_->actions()) {
    const auto kind = static_cast<PictureKind>(action->data().toInt());
    action->setChecked(kind == model_->picture());
    const QString problem = model_->pictureProblem(kind);
    action->setEnabled(problem.isEmpty());
    action->setToolTip(plainTip(problem.isEmpty() ? action->statusTip() : problem));
  }
  const bool heat = canvas_->mode() == TensorMode::heatMap;
  emit rangeErrorChanged(heat && model_->tensor() ? canvas_->heatMap().rangeError() : QString());
}

void HeatOptions::setWidths() {
  range_->setFixedWidth(range_->fontMetrics().horizontalAdvance(QStringLiteral("-0.5 … 0.5")) + range_frame);
}

void HeatOptions::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::FontChange && range_) setWidths();
}

}  // namespace tapedeck::inspector
