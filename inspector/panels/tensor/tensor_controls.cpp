#include "inspector/panels/tensor/tensor_controls.h"

#include <QAction>
#include <QActionGroup>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QStackedWidget>
#include <QToolButton>
#include <algorithm>

#include "inspector/model/format.h"
#include "inspector/panels/tensor/heat_options.h"
#include "inspector/panels/tensor/pins_list.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/segment_button.h"
#include "inspector/ui/wrapping_layout.h"

namespace tapedeck::inspector {

namespace {

constexpr int clear_button = 40;  ///< what a line's clear button and frame take, in pixels

}  // namespace

TensorControls::TensorControls(TensorModel* model, PinsModel* pins, TensorCanvas* canvas, QWidget* view)
    : QWidget(view), model_(model), pins_(pins), canvas_(canvas), view_(view) {
  auto* layout = new WrappingLayout(this);
  layout->setContentsMargins(8, 2, 8, 4);
  layout->setSpacing(6);
  makeModes();
  makePins();
  makeOptions();
  makeHeat();
  makeLogarithmic();
  makeReshape();
  connect(canvas_, &TensorCanvas::modeChanged, this, &TensorControls::modeChanged);
  connect(model_, &TensorModel::chipsChanged, this, &TensorControls::pinsChanged);
  connect(model_, &TensorModel::layoutChanged, this, &TensorControls::layoutChanged);
  connect(pins_, &PinsModel::changed, this, &TensorControls::pinsChanged);
  modeChanged();
  layoutChanged();
  pinsChanged();
}

QAction* TensorControls::addAction(const QString& text, const QKeySequence& key, const QString& tip) {
  return addKeyedAction(view_, text, {key}, tip);
}

void TensorControls::addMode(QLayout* row, const QString& text, TensorMode mode, const QKeySequence& key,
                             const QString& tip) {
  QAction* const action = addAction(text, key, tip);
  action->setCheckable(true);
  action->setActionGroup(modes_);
  action->setData(static_cast<int>(mode));
  action->setShortcutContext(Qt::WindowShortcut);  // also while the keyboard steps through a cell
  connect(action, &QAction::triggered, canvas_, [this, mode] { canvas_->setMode(mode); });
  auto* button = new SegmentButton(this);
  button->setDefaultAction(action);
  row->addWidget(button);
}

void TensorControls::makeModes() {
  modes_ = new QActionGroup(this);
  auto* segment = new QWidget(this);
  auto* row = new QHBoxLayout(segment);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  addMode(row, QStringLiteral("Numbers"), TensorMode::numbers, Qt::ALT | Qt::Key_1,
          QStringLiteral("The values as numbers"));
  addMode(row, QStringLiteral("Heat map"), TensorMode::heatMap, Qt::ALT | Qt::Key_2,
          QStringLiteral("Heat map: the values as colours"));
  addMode(row, QStringLiteral("Histogram"), TensorMode::histogram, Qt::ALT | Qt::Key_3,
          QStringLiteral("Histogram: how the values are spread"));
  layout()->addWidget(segment);
}

void TensorControls::makeOptions() {
  options_ = new QStackedWidget(this);
  options_->setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
  no_options_ = new QWidget(options_);
  options_->addWidget(no_options_);
  layout()->addWidget(options_);
}

void TensorControls::makeHeat() {
  heat_ = new HeatOptions(model_, canvas_, view_, options_);
  options_->addWidget(heat_);
}

void TensorControls::makeLogarithmic() {
  QAction* const action = addAction(QStringLiteral("Logarithmic"), Qt::ALT | Qt::Key_L,
                                    QStringLiteral("Counts on a logarithmic scale"));
  action->setCheckable(true);
  logarithmic_ = new QToolButton(this);
  logarithmic_->setDefaultAction(action);
  connect(action, &QAction::toggled, canvas_, [this](bool on) { canvas_->histogram().setLogarithmic(on); });
  options_->addWidget(logarithmic_);
}

void TensorControls::makeReshape() {
  reshape_ = new QLineEdit(this);
  reshape_->setClearButtonEnabled(true);
  reshape_->setAccessibleName(QStringLiteral("Reshape"));
  setReshapeWidth();
  QAction* const action = addAction(
      QStringLiteral("Reshape"), Qt::ALT | Qt::Key_R,
      QStringLiteral("Look at the values in another shape; “28,28” makes images of a matrix's columns"));
  reshape_->setToolTip(action->toolTip());
  connect(action, &QAction::triggered, reshape_, [this] {
    reshape_->setFocus(Qt::ShortcutFocusReason);
    reshape_->selectAll();
  });
  connect(reshape_, &QLineEdit::textEdited, model_, [this](const QString& text) {
    const bool before = model_->images().has_value();
    model_->setReshapeText(text);
    // A user who asks for images wants to see them.
    if (!before && model_->images()) canvas_->setMode(TensorMode::heatMap);
  });
  layout()->addWidget(reshape_);
}

void TensorControls::setReshapeWidth() {
  reshape_->setPlaceholderText(narrow_ ? QStringLiteral("reshape")
                                       : QStringLiteral("reshape: 28×28×196 or 28,28"));
  const QFontMetrics metrics = reshape_->fontMetrics();
  reshape_->setFixedWidth(std::max(metrics.horizontalAdvance(reshape_->placeholderText()),
                                   metrics.horizontalAdvance(QStringLiteral("28x28x196"))) +
                          clear_button);
}

void TensorControls::setNarrow(bool narrow) {
  if (narrow == narrow_) return;
  narrow_ = narrow;
  setReshapeWidth();
}

void TensorControls::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() != QEvent::FontChange || !reshape_) return;
  setReshapeWidth();
  pinsChanged();
}

void TensorControls::makePins() {
  pin_ = addAction(QStringLiteral("Pin"), Qt::ALT | Qt::Key_P,
                   QStringLiteral("Keep the value that is shown, however old it gets"));
  pin_->setCheckable(true);
  connect(pin_, &QAction::triggered, this, [this](bool on) {
    if (const TensorChip* chip = model_->chip()) on ? pins_->pin(*chip) : pins_->unpin(chip->info.id);
    pinsChanged();
  });
  auto* pin = new SegmentButton(this);
  pin->setDefaultAction(pin_);
  QAction* const open = addAction(QStringLiteral("Pinned values…"), Qt::ALT | Qt::SHIFT | Qt::Key_P,
                                  QStringLiteral("All pinned values: show one, or unpin it"));
  open_list_ = new SegmentButton(this);
  open_list_->setDefaultAction(open);
  list_ = new PinsList(pins_, this);
  connect(open, &QAction::triggered, this,
          [this] { list_->openBelow(open_list_, model_->tensor() ? model_->tensor()->id : 0); });
  connect(list_, &PinsList::chosen, model_, &TensorModel::showTensor);
  // One group: the button that presses, and the list of what is pressed.
  auto* group = new QWidget(this);
  auto* row = new QHBoxLayout(group);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(0);
  row->addWidget(pin);
  row->addWidget(open_list_);
  layout()->addWidget(group);
}

void TensorControls::modeChanged() {
  for (QAction* action : modes_->actions())
    action->setChecked(action->data().toInt() == static_cast<int>(canvas_->mode()));
  options_->setCurrentWidget(canvas_->mode() == TensorMode::heatMap     ? static_cast<QWidget*>(heat_)
                             : canvas_->mode() == TensorMode::histogram ? logarithmic_
                                                                        : no_options_);
  options_->setVisible(options_->currentWidget() != no_options_);  // numbers have none: no row stays empty
}

void TensorControls::layoutChanged() {
  if (reshape_->text() != model_->reshapeText() && !reshape_->hasFocus())
    reshape_->setText(model_->reshapeText());
  reshape_->setEnabled(model_->tensor() != nullptr);
  pinsChanged();
}

void TensorControls::pinsChanged() {
  const protocol::TensorInfo* shown = model_->tensor();
  pin_->setEnabled(shown != nullptr);
  pin_->setChecked(shown && pins_->pinned(shown->id));
  const auto count = static_cast<quint64>(pins_->pins().size());
  open_list_->defaultAction()->setIconText(QStringLiteral("%1 pinned ▾").arg(countText(count)));
  layout()->invalidate();
}

}  // namespace tapedeck::inspector
