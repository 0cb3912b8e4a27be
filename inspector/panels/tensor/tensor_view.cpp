#include "inspector/panels/tensor/tensor_view.h"

#include <QAction>
#include <QLabel>
#include <QLineEdit>
#include <QSignalBlocker>
#include <QTabBar>
#include <QTimer>
#include <QVBoxLayout>

#include "inspector/model/format.h"
#include "inspector/model/plain_tip.h"
#include "inspector/model/torch_words.h"
#include "inspector/panels/branch_strip.h"
#include "inspector/panels/tensor/element_link.h"
#include "inspector/panels/tensor/heat_options.h"
#include "inspector/panels/tensor/pins_list.h"
#include "inspector/panels/tensor/slice_bar.h"
#include "inspector/panels/tensor/statistics_panel.h"
#include "inspector/panels/tensor/tensor_actions.h"
#include "inspector/panels/tensor/tensor_canvas.h"
#include "inspector/panels/tensor/tensor_controls.h"
#include "inspector/panels/why_actions.h"
#include "inspector/ui/eliding_label.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"

namespace tapedeck::inspector {

namespace {

constexpr int width_for_values = 420;  ///< below it the figures are a line
constexpr int narrow_width = 560;      ///< below it controls take less room
constexpr int low_height = 360;        ///< below it messages are shown in the canvas' own line
constexpr int message_ms = 4000, long_message_ms = 30'000;

}  // namespace

struct TensorView::Private {
  TensorView* view = nullptr;
  TensorModel* model = nullptr;
  PinsModel* pins = nullptr;
  QTabBar* chips = nullptr;
  ElidingLabel* title = nullptr;
  TensorControls* controls = nullptr;
  QLabel* error = nullptr;
  ElidingLabel* line = nullptr;
  SliceBar* slices = nullptr;
  StatisticsPanel* statistics = nullptr;
  TensorCanvas* canvas = nullptr;
  QTimer* message = nullptr;
  TensorActions* work = nullptr;
  QString range_error;

  void makeChips() {
    chips = new QTabBar(view);
    chips->setDocumentMode(true);
    chips->setDrawBase(false);
    chips->setExpanding(false);
    chips->setUsesScrollButtons(true);
    chips->setElideMode(Qt::ElideNone);  // what does not fit is reached by the bar's arrows
    chips->setAccessibleName(QStringLiteral("Tensors of this op"));
    QObject::connect(chips, &QTabBar::currentChanged, model, &TensorModel::selectChip);
  }

  void makeLines() {
    title = new ElidingLabel(Qt::ElideMiddle, view);
    title->setContentsMargins(10, 4, 10, 0);
    error = plainLabel(view);
    error->setWordWrap(true);
    error->setContentsMargins(8, 0, 8, 2);
    error->hide();
    line = new ElidingLabel(Qt::ElideRight, view);
    line->setContentsMargins(10, 2, 10, 3);
    message = new QTimer(view);
    message->setSingleShot(true);
    QObject::connect(message, &QTimer::timeout, view, [this] { updateLine(); });
  }

  void makeCopy() {
    auto* copy = new QAction(QStringLiteral("Copy"), view);
    setKey(copy, {QKeySequence::Copy}, QStringLiteral("Copy the selected numbers, separated by tabs"));
    copy->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(copy, &QAction::triggered, canvas, &TensorCanvas::copy);
    auto* all = new QAction(QStringLiteral("Select all"), view);
    setKey(all, {QKeySequence::SelectAll}, QStringLiteral("Select all numbers"));
    all->setShortcutContext(Qt::WidgetShortcut);
    QObject::connect(all, &QAction::triggered, canvas, [this] { canvas->numbers().selectAll(); });
    canvas->addActions({copy, all});
    canvas->setContextMenuPolicy(Qt::ActionsContextMenu);
  }

  void connectAll() {
    QObject::connect(model, &TensorModel::chipsChanged, view, [this] { updateChips(); });
    QObject::connect(model, &TensorModel::layoutChanged, view, [this] { updateLayout(); });
    QObject::connect(model->session(), &Session::previewsChanged, view, [this] { updateChips(); });
    QObject::connect(model, &TensorModel::statisticsChanged, view, [this] { updateLine(); });
    QObject::connect(model, &TensorModel::tileChanged, view, [this] { placeLine(); });
    QObject::connect(canvas, &TensorCanvas::copied, view,
                     [this](const QString& sentence) { tell(sentence); });
    QObject::connect(work, &TensorActions::told, view, [this](const QString& sentence, bool stays) {
      tell(sentence, stays ? long_message_ms : message_ms);
    });
    QObject::connect(controls->heatOptions(), &HeatOptions::rangeErrorChanged, view,
                     [this](const QString& sentence) {
                       range_error = sentence;
                       updateError();
                     });
    QObject::connect(pins, &PinsModel::refused, view,
                     [this](const QString& reason) { tell(QStringLiteral("Not pinned: %1").arg(reason)); });
  }

  QLayout* layOut() {
    auto* middle = new QHBoxLayout;
    middle->setSpacing(0);
    middle->addWidget(canvas, 1);
    middle->addWidget(statistics);
    auto* layout = new QVBoxLayout;
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(0);
    layout->addWidget(new BranchStrip(*model->session(), view));
    layout->addWidget(chips);
    layout->addWidget(title);
    layout->addWidget(controls);
    layout->addWidget(error);
    layout->addWidget(slices);
    layout->addLayout(middle, 1);
    layout->addWidget(line);
    return layout;
  }

  /// In the line below the values, for a while.
  void tell(const QString& sentence, int milliseconds = message_ms) {
    message->start(milliseconds);
    line->setText(sentence);
    line->setToolTip(plainTip(sentence));
    placeLine();
  }

  /// In a low panel the canvas has the line where it has one of its own.
  bool isLow() const { return view->height() < low_height && canvas->sentence().isEmpty(); }

  void placeLine() {
    const bool told = message->isActive();
    const bool wanted = !line->text().isEmpty() && (told || !statistics->isVisibleTo(view));
    canvas->setFooter(isLow() && wanted ? line->text() : QString(), told);
    line->setVisible(wanted && !isLow());
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
      chips->setTabToolTip(i,
                           plainTip(chip.available ? tensorText(model->session()->withShownPreview(chip.info))
                                                   : QStringLiteral("%1: not there").arg(chip.label)));
      chips->setTabTextColor(i, chip.available ? QColor() : faint);
    }
    chips->setCurrentIndex(model->currentChip());
    chips->setVisible(!list.empty());
    updateTitle();
  }

  QString titleText() const {
    const TensorChip* chip = model->chip();
    if (!chip) return {};
    QStringList parts;
    if (!chip->info.name.empty())
      parts << (chip->role == TensorRole::chosen && !chip->record ? chip->label
                                                                  : QString::fromStdString(chip->info.name));
    const protocol::Record* record = model->session()->cachedRecord(chip->record);
    const QString op = record ? opText(*record) : QString();
    if (chip->role == TensorRole::chosen) {
      if (!op.isEmpty()) parts << op;
      if (chip->record) parts << QStringLiteral("op %1").arg(countText(chip->record));
    } else {
      const QString role = chip->role == TensorRole::input ? QStringLiteral("input %1").arg(chip->slot)
                                                           : QStringLiteral("output %1").arg(chip->slot);
      parts << (op.isEmpty() ? role : QStringLiteral("%1, %2").arg(op, role));
    }
    if (!chip->info.dtype.empty())
      parts << shapeText(chip->info.shape) << QString::fromStdString(chip->info.dtype);
    if (const QString device = QString::fromStdString(chip->info.device); !device.isEmpty())
      parts << (isOfTorchProgram(*chip) ? torchDevice(device) : device);
    return parts.join(QStringLiteral(" · "));
  }

  /// By the op that it is shown of, or that made it.
  bool isOfTorchProgram(const TensorChip& chip) const {
    for (const RecordNumber number :
         {RecordNumber{chip.record}, RecordNumber{chip.info.producer}, model->session()->cursor()})
      if (const protocol::Record* record = number ? model->session()->cachedRecord(number) : nullptr)
        return isOfTorch(*record);
    return false;
  }

  void updateTitle() { title->setText(titleText()); }

  void updateError() {
    const QString sentence = !model->reshapeError().isEmpty() ? model->reshapeError() : range_error;
    error->setText(sentence);
    error->setVisible(!sentence.isEmpty());
  }

  void updateLayout() {
    updateError();
    updateTitle();
  }

  void updateLine() {
    if (message->isActive()) return;
    line->setText(statisticsLine(*model));
    line->setToolTip(plainTip(model->statistics() ? subnormalNote(*model->statistics()) : QString()));
    placeLine();
  }

  /// Beside the values where there is room for all of them, else in a line below.
  void placeStatistics() {
    const int room = canvas->height() + (line->isVisibleTo(view) ? line->height() : 0);
    statistics->setVisible(view->width() >= width_for_values + statistics->width() &&
                           room >= statistics->minimumSizeHint().height());
    controls->setNarrow(view->width() < narrow_width);
    slices->setNarrow(view->width() < narrow_width);
    updateLine();
  }

  void updateColors() {
    QPalette colors;  // the other roles follow the theme by themselves
    colors.setColor(QPalette::WindowText, Theme::fromPalette(view->palette()).error.stroke);
    error->setPalette(colors);
    updateChips();
  }
};

TensorView::TensorView(Session& session, QWidget* parent)
    : SessionPanel(session, parent), d_(std::make_unique<Private>()) {
  d_->view = this;
  d_->model = new TensorModel(&session, this);
  d_->pins = new PinsModel(&session, this);
  d_->canvas = new TensorCanvas(d_->model, this);
  d_->canvas->setMinimumSize(80, 48);  // the controls above it are worth more in a small panel
  d_->makeChips();
  d_->makeLines();
  d_->controls = new TensorControls(d_->model, d_->pins, d_->canvas, this);
  d_->slices = new SliceBar(d_->model, this);
  d_->slices->setContentsMargins(8, 0, 8, 4);
  d_->statistics = new StatisticsPanel(d_->model, this);
  d_->canvas->installEventFilter(this);
  d_->makeCopy();
  d_->work = new TensorActions(d_->model, d_->canvas, this);
  setLayout(d_->layOut());
  setFocusProxy(d_->canvas);
  d_->connectAll();
  connect(&session, &Session::elementPicked, this,
          [this](const protocol::TensorInfo& tensor, const std::vector<std::int64_t>& element) {
            if (d_->model->tensor() && d_->model->tensor()->id == tensor.id)
              selectElement(*d_->model, *d_->canvas, element);
          });
  d_->updateColors();
  d_->updateLayout();
  d_->updateLine();
}

TensorView::~TensorView() = default;

QList<QAction*> TensorView::menuActions() const {
  QList<QAction*> own = actions();
  for (QAction* action : d_->canvas->actions())
    // The questions have a menu of their own.
    if (action->parent() == this && !own.contains(action)) own << action;
  return own;
}

QList<HandledKeys> TensorView::handledKeys() const {
  const auto control = Qt::CTRL, shift = Qt::SHIFT;
  return {{{Qt::Key_Left, Qt::Key_Right, Qt::Key_Up, Qt::Key_Down},
           QStringLiteral("Numbers: another element; heat map: another cell; histogram: another bar")},
          {{shift | Qt::Key_Left, shift | Qt::Key_Right, shift | Qt::Key_Up, shift | Qt::Key_Down},
           QStringLiteral("Numbers: select more; heat map: move it")},
          {{control | Qt::Key_Left, control | Qt::Key_Right, control | Qt::Key_Up, control | Qt::Key_Down},
           QStringLiteral("Numbers: to the edge")},
          {{control | shift | Qt::Key_Left, control | shift | Qt::Key_Right, control | shift | Qt::Key_Up,
            control | shift | Qt::Key_Down},
           QStringLiteral("Numbers: select up to the edge")},
          {{Qt::Key_Home, Qt::Key_End}, QStringLiteral("Numbers: to the row's first or last")},
          {{control | Qt::Key_Home, control | Qt::Key_End},
           QStringLiteral("Numbers: to the first or last of all")},
          {{Qt::Key_PageUp, Qt::Key_PageDown}, QStringLiteral("Numbers: a page up or down")},
          {{Qt::Key_Plus, Qt::Key_Equal}, QStringLiteral("Heat map: zoom in")},
          {{Qt::Key_Minus}, QStringLiteral("Heat map: zoom out")},
          {{Qt::Key_F}, QStringLiteral("Heat map: show all of it")}};
}

void TensorView::setWhy(WhyActions& why) {
  auto* line = new QAction(this);
  line->setSeparator(true);
  d_->canvas->addAction(line);
  d_->canvas->addActions(why.actions());
  const auto tell = [this, model = why.model()] { model->setSubject(whySubject(*d_->model, *d_->canvas)); };
  connect(d_->model, &TensorModel::chipsChanged, &why, tell);
  connect(d_->model, &TensorModel::layoutChanged, &why, tell);
  connect(d_->canvas, &TensorCanvas::selectionChanged, &why, tell);
  connect(d_->canvas, &TensorCanvas::modeChanged, &why, tell);
  tell();
}

TensorModel* TensorView::model() const {
  return d_->model;
}
PinsModel* TensorView::pins() const {
  return d_->pins;
}
PinsList* TensorView::pinsList() const {
  return d_->controls->pinsList();
}
HeatOptions* TensorView::heatOptions() const {
  return d_->controls->heatOptions();
}
TensorActions* TensorView::work() const {
  return d_->work;
}
TensorCanvas* TensorView::canvas() const {
  return d_->canvas;
}
QTabBar* TensorView::chips() const {
  return d_->chips;
}
QLineEdit* TensorView::reshapeBox() const {
  return d_->controls->reshapeBox();
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
QString TensorView::line() const {
  return d_->line->text();
}
QString TensorView::reshapeError() const {
  return d_->error->text();
}

QSize TensorView::minimumSizeHint() const {
  return {300, 200};
}

QSize TensorView::sizeHint() const {
  return {480, 420};
}

void TensorView::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  d_->placeStatistics();
}

bool TensorView::eventFilter(QObject* object, QEvent* event) {
  if (object == d_->canvas && event->type() == QEvent::Resize) d_->placeStatistics();
  return SessionPanel::eventFilter(object, event);
}

void TensorView::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && d_->error) d_->updateColors();
}

}  // namespace tapedeck::inspector
