#include "inspector/panels/tensor/tensor_view.h"

#include <QAction>
#include <QActionGroup>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/panels/tensor/slice_bar.h"
#include "inspector/panels/tensor/statistics_panel.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/ui/keyed_action.h"

namespace tapedeck::inspector {

namespace {

constexpr int width_for_statistics = 620;
constexpr int message_ms = 4000;

}  // namespace

struct TensorView::Private {
  TensorView* view = nullptr;
  TensorModel* model = nullptr;
  QTabBar* chips = nullptr;
  QLabel* title = nullptr;
  QActionGroup* modes = nullptr;
  QComboBox* scale = nullptr;
  QToolButton* logarithmic = nullptr;
  QToolButton* pin = nullptr;
  QLineEdit* reshape = nullptr;
  QLabel* error = nullptr;
  QLabel* line = nullptr;
  SliceBar* slices = nullptr;
  StatisticsPanel* statistics = nullptr;
  TensorCanvas* canvas = nullptr;
  QTimer* message = nullptr;

  void makeChips() {
    chips = new QTabBar(view);
    chips->setDocumentMode(true);
    chips->setDrawBase(false);
    chips->setExpanding(false);
    chips->setUsesScrollButtons(true);
    chips->setElideMode(Qt::ElideRight);
    chips->setAccessibleName(tr("Tensors of this op"));
    QObject::connect(chips, &QTabBar::currentChanged, model, &TensorModel::selectChip);
  }

  QToolButton* addMode(const QString& text, TensorMode mode, const QKeySequence& key, const QString& tip) {
    QAction* const action = addKeyedAction(view, text, {key}, tip);
    action->setCheckable(true);
    action->setChecked(mode == TensorMode::numbers);
    action->setActionGroup(modes);
    QObject::connect(action, &QAction::triggered, canvas, [this, mode] {
      canvas->setMode(mode);
      scale->setVisible(mode == TensorMode::heatMap);
      logarithmic->setVisible(mode == TensorMode::histogram);
    });
    auto* button = new QToolButton(view);
    button->setDefaultAction(action);
    button->setToolButtonStyle(Qt::ToolButtonTextOnly);
    button->setStyleSheet(QStringLiteral(
        "QToolButton { padding: 3px 9px; border: 1px solid palette(mid); background: palette(button); }"
        "QToolButton:checked { background: palette(highlight); color: palette(highlighted-text); }"
        "QToolButton:focus, QToolButton:hover { border-color: palette(highlight); }"));
    return button;
  }

  void makeScale() {
    scale = new QComboBox(view);
    scale->addItems({tr("Automatic"), tr("Sequential"), tr("Diverging")});
    scale->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    scale->setMinimumContentsLength(2);  // it must not make the panel wider
    scale->setAccessibleName(tr("Colour scale"));
    scale->setVisible(false);
    QAction* const action = addKeyedAction(view, {}, {Qt::ALT | Qt::Key_O},
                                           tr("Colours: from minimum to maximum, or to both sides of zero"));
    scale->setToolTip(action->toolTip());
    QObject::connect(action, &QAction::triggered, scale,
                     [this] { scale->setCurrentIndex((scale->currentIndex() + 1) % scale->count()); });
    QObject::connect(scale, &QComboBox::currentIndexChanged, canvas,
                     [this](int index) { canvas->heatMap().setScale(static_cast<ColorScale>(index)); });
  }

  void makeReshape() {
    reshape = new QLineEdit(view);
    reshape->setPlaceholderText(tr("reshape, as 28×28×196 or 28,28"));
    reshape->setClearButtonEnabled(true);
    reshape->setAccessibleName(tr("Reshape"));
    reshape->setMinimumWidth(64);
    reshape->setMaximumWidth(260);
    QAction* const action =
        addKeyedAction(view, {}, {Qt::ALT | Qt::Key_R},
                       tr("Look at the values in another shape; “28,28” makes images of a matrix' columns"));
    reshape->setToolTip(action->toolTip());
    QObject::connect(action, &QAction::triggered, reshape, [this] {
      reshape->setFocus(Qt::ShortcutFocusReason);
      reshape->selectAll();
    });
    QObject::connect(reshape, &QLineEdit::textEdited, model, [this](const QString& text) {
      const bool before = model->images().has_value();
      model->setReshapeText(text);
      // Who asks for images wants to see them.
      if (!before && model->images()) modes->actions()[static_cast<int>(TensorMode::heatMap)]->trigger();
    });
    error = new QLabel(view);
    error->setWordWrap(true);
    error->setContentsMargins(8, 0, 8, 2);
    error->hide();
  }

  void makeLogarithmic() {
    QAction* const action =
        addKeyedAction(view, tr("Logarithmic"), {Qt::ALT | Qt::Key_L}, tr("Counts on a logarithmic scale"));
    action->setCheckable(true);
    logarithmic = new QToolButton(view);
    logarithmic->setDefaultAction(action);
    logarithmic->setVisible(false);
    QObject::connect(action, &QAction::toggled, canvas,
                     [this](bool on) { canvas->histogram().setLogarithmic(on); });
  }

  void makePin() {
    QAction* const action =
        addKeyedAction(view, tr("Pin"), {Qt::ALT | Qt::Key_P}, tr("Keep this value, however old it gets"));
    action->setCheckable(true);
    pin = new QToolButton(view);
    pin->setDefaultAction(action);
    QObject::connect(action, &QAction::triggered, model, &TensorModel::setPinned);
  }

  void makeCopy() {
    auto* copy = new QAction(tr("Copy"), view);
    copy->setShortcut(QKeySequence::Copy);
    copy->setShortcutContext(Qt::WidgetShortcut);
    copy->setToolTip(tr("Copy the selected numbers, separated by tabs"));
    QObject::connect(copy, &QAction::triggered, canvas, &TensorCanvas::copy);
    auto* all = new QAction(tr("Select all"), view);
    all->setShortcut(QKeySequence::SelectAll);
    all->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(all, &QAction::triggered, canvas, [this] { canvas->numbers().selectAll(); });
    canvas->addActions({copy, all});
    canvas->setContextMenuPolicy(Qt::ActionsContextMenu);
    QObject::connect(canvas, &TensorCanvas::copied, line, [this](const QString& sentence) {
      line->setText(sentence);
      line->show();
      message->start();
    });
  }

  QLayout* makeControls() {
    modes = new QActionGroup(view);
    auto* controls = new QHBoxLayout;
    controls->setContentsMargins(8, 2, 8, 4);
    controls->setSpacing(4);
    auto* segment = new QHBoxLayout;
    segment->setSpacing(0);
    segment->addWidget(
        addMode(tr("Numbers"), TensorMode::numbers, Qt::ALT | Qt::Key_1, tr("The values as numbers")));
    segment->addWidget(
        addMode(tr("Heat map"), TensorMode::heatMap, Qt::ALT | Qt::Key_2, tr("The values as colours")));
    segment->addWidget(addMode(tr("Histogram"), TensorMode::histogram, Qt::ALT | Qt::Key_3,
                               tr("How the values are spread")));
    makeScale();
    makeReshape();
    makeLogarithmic();
    makePin();
    controls->addLayout(segment);
    controls->addSpacing(4);
    controls->addWidget(scale);
    controls->addWidget(logarithmic);
    controls->addStretch(1);
    controls->addWidget(reshape, 4);
    controls->addWidget(pin);
    return controls;
  }

  void updateChips() {
    const QSignalBlocker blocked(chips);
    const std::vector<TensorChip>& list = model->chips();
    while (chips->count() > static_cast<int>(list.size())) chips->removeTab(chips->count() - 1);
    while (chips->count() < static_cast<int>(list.size())) chips->addTab(QString());
    const QColor faint = Theme::fromPalette(view->palette()).faintText;
    for (int i = 0; i < chips->count(); ++i) {
      const TensorChip& chip = list[static_cast<std::size_t>(i)];
      chips->setTabText(i, QString(chip.label).replace(QLatin1Char('&'), QStringLiteral("&&")));
      chips->setTabToolTip(i, chip.available ? tensorText(chip.info) : tr("%1: not there").arg(chip.label));
      chips->setTabTextColor(i, chip.available ? QColor() : faint);
    }
    chips->setCurrentIndex(model->currentChip());
    chips->setVisible(!list.empty());
    updateTitle();
  }

  QString titleText() const {
    const int current = model->currentChip();
    if (current < 0) return {};
    const TensorChip& chip = model->chips()[static_cast<std::size_t>(current)];
    QStringList parts;
    if (!chip.info.name.empty()) parts << QString::fromStdString(chip.info.name);
    const protocol::Record* record = model->session()->cachedRecord(chip.record);
    const QString op = record ? QString::fromStdString(record->op) : QString();
    const QString role =
        chip.role == TensorRole::input ? tr("input %1").arg(chip.slot) : tr("output %1").arg(chip.slot);
    parts << (op.isEmpty() ? role : QStringLiteral("%1, %2").arg(op, role));
    if (!chip.info.dtype.empty())
      parts << shapeText(chip.info.shape) << QString::fromStdString(chip.info.dtype);
    if (!chip.info.device.empty()) parts << QString::fromStdString(chip.info.device);
    return parts.join(QStringLiteral(" · "));
  }

  void updateTitle() {
    title->setText(titleText());
    title->setToolTip(title->text());
  }

  void updateLayout() {
    if (reshape->text() != model->reshapeText() && !reshape->hasFocus())
      reshape->setText(model->reshapeText());
    const QString sentence = model->reshapeError();
    error->setText(sentence);
    error->setVisible(!sentence.isEmpty());
    reshape->setEnabled(model->tensor() != nullptr);
    pin->setEnabled(model->tensor() != nullptr);
    updateTitle();
  }

  void updateLine() {
    if (message->isActive()) return;
    line->setText(statisticsLine(*model));
    line->setVisible(!statistics->isVisibleTo(view) && !line->text().isEmpty());
  }

  void updateColors() {
    QPalette colors = view->palette();
    colors.setColor(QPalette::WindowText, Theme::fromPalette(colors).error.stroke);
    error->setPalette(colors);
  }
};

TensorView::TensorView(Session* session, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>()) {
  d_->view = this;
  d_->model = new TensorModel(session, this);
  d_->canvas = new TensorCanvas(d_->model, this);
  d_->makeChips();
  d_->title = new QLabel(this);
  d_->title->setContentsMargins(10, 4, 10, 0);
  d_->title->setTextInteractionFlags(Qt::TextSelectableByMouse);
  d_->title->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  d_->line = new QLabel(this);
  d_->line->setContentsMargins(10, 2, 10, 3);
  d_->line->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  d_->message = new QTimer(this);
  d_->message->setSingleShot(true);
  d_->message->setInterval(message_ms);
  QLayout* const controls = d_->makeControls();
  d_->slices = new SliceBar(d_->model, this);
  d_->slices->setContentsMargins(8, 0, 8, 4);
  d_->statistics = new StatisticsPanel(d_->model, this);
  d_->makeCopy();
  auto* middle = new QHBoxLayout;
  middle->setSpacing(0);
  middle->addWidget(d_->canvas, 1);
  middle->addWidget(d_->statistics);
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  layout->addWidget(d_->chips);
  layout->addWidget(d_->title);
  layout->addLayout(controls);
  layout->addWidget(d_->error);
  layout->addWidget(d_->slices);
  layout->addLayout(middle, 1);
  layout->addWidget(d_->line);
  setFocusProxy(d_->canvas);
  connect(d_->model, &TensorModel::chipsChanged, this, [this] { d_->updateChips(); });
  connect(d_->model, &TensorModel::layoutChanged, this, [this] { d_->updateLayout(); });
  connect(d_->model, &TensorModel::statisticsChanged, this, [this] { d_->updateLine(); });
  connect(d_->message, &QTimer::timeout, this, [this] { d_->updateLine(); });
  d_->updateColors();
  d_->updateChips();
  d_->updateLayout();
  d_->updateLine();
}

TensorView::~TensorView() = default;

TensorModel* TensorView::model() const {
  return d_->model;
}
TensorCanvas* TensorView::canvas() const {
  return d_->canvas;
}
QTabBar* TensorView::chips() const {
  return d_->chips;
}
QLineEdit* TensorView::reshapeBox() const {
  return d_->reshape;
}
SliceBar* TensorView::slices() const {
  return d_->slices;
}
StatisticsPanel* TensorView::statistics() const {
  return d_->statistics;
}
QString TensorView::title() const {
  return d_->title->text();
}
QString TensorView::reshapeError() const {
  return d_->error->text();
}

void TensorView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  d_->statistics->setVisible(width() >= width_for_statistics);
  d_->updateLine();
}

void TensorView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && d_->error) d_->updateColors();
}

}  // namespace tapedeck::inspector
