#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "plots/picture_pages.h"
#include "plots/plot_canvas.h"
#include "plots/plots_view_private.h"

namespace tapedeck::plots {

using inspector::PictureModel;
using inspector::SeriesData;
using inspector::SeriesModel;
using inspector::Session;

namespace {

constexpr int frame_ms = 33;

}  // namespace

QAction* PlotsView::Private::addAction(QToolBar* bar, const QString& text, const QKeySequence& key,
                                       const QString& tip) {
  QAction* const action = inspector::addKeyedAction(q, text, {key}, tip);
  bar->addAction(action);
  return action;
}

void PlotsView::Private::makeToolBar(QBoxLayout* layout) {
  auto* bar = new QToolBar(q);
  bar->setToolButtonStyle(Qt::ToolButtonTextOnly);
  pages = new PageChoice(q, bar);
  log = addAction(bar, QStringLiteral("Log"), QKeySequence(Qt::Key_L),
                  QStringLiteral("Logarithmic value axis"));
  log->setCheckable(true);
  QObject::connect(log, &QAction::toggled, q, &PlotsView::setLogarithmic);
  nextAxis = addAction(bar, QStringLiteral("Next axis"), QKeySequence(Qt::Key_X),
                       QStringLiteral("Curves over the next axis"));
  QObject::connect(nextAxis, &QAction::triggered, q, [this] {
    const QStringList axes = model.axes();
    if (!axes.isEmpty()) q->setAxis(axes[(axes.indexOf(axis()) + 1) % axes.size()]);
  });
  reset = addAction(bar, QStringLiteral("Fit"), QKeySequence(Qt::Key_Home),
                    QStringLiteral("Show everything again; also a double click"));
  QObject::connect(reset, &QAction::triggered, q, &PlotsView::resetZoom);
  chooseCurves =
      inspector::addKeyedAction(q, QStringLiteral("Show curves…"), {Qt::ALT | Qt::Key_U},
                                QStringLiteral("Which curves are shown; also a click on the legend"));
  auto* curves = new QToolButton(bar);
  curves->setDefaultAction(chooseCurves);
  chooseCurves->setIconText(QStringLiteral("Show"));
  QObject::connect(chooseCurves, &QAction::triggered, curves, &QToolButton::showMenu);
  curves->setPopupMode(QToolButton::InstantPopup);
  curvesMenu = new QMenu(curves);
  curves->setMenu(curvesMenu);
  curvesButton = bar->addWidget(curves);
  pictures->addActions(q, bar);
  bar->addSeparator();
  makeExports(bar);
  layout->addWidget(bar);
}

void PlotsView::Private::lookAtPages() {
  using Kind = PicturePages::Kind;
  pages->setFilled({!model.names().isEmpty(), pictures->has(Kind::histograms), pictures->has(Kind::images)});
  showPage();
}

void PlotsView::Private::showPage() {
  const PlotsPage page = pages->page();
  const bool curves = page == PlotsPage::curves, none = curves && model.names().isEmpty();
  const int place = !curves ? 2 : none ? 1 : 0;
  const auto kind =
      page == PlotsPage::histograms ? PicturePages::Kind::histograms : PicturePages::Kind::images;
  if (!curves && (stack->currentIndex() != place || pictures->kind() != kind)) pictures->showKind(kind);
  pictures->setShown(!curves);
  log->setVisible(curves);
  nextAxis->setVisible(curves && model.axes().size() > 1);
  chooseCurves->setVisible(curves);
  curvesButton->setVisible(curves);
  reset->setVisible(page != PlotsPage::histograms);
  csv->setVisible(page != PlotsPage::images);
  stack->setCurrentIndex(place);
  QWidget* const target = curves ? static_cast<QWidget*>(canvas) : pictures->focusTarget();
  if (q->focusProxy() != target) {
    const bool focused = q->isAncestorOf(QApplication::focusWidget());
    q->setFocusProxy(target);
    if (focused) target->setFocus();
  }
  if (std::exchange(empty, none) != none) emit q->emptyChanged();
}

void PlotsView::Private::connectAll() {
  frame.setSingleShot(true);
  frame.setInterval(frame_ms);
  QObject::connect(&frame, &QTimer::timeout, q, [this] {
    if (due) draw();
  });
  QObject::connect(&model, &SeriesModel::seriesChanged, q, [this] { changed(); });
  QObject::connect(&model, &SeriesModel::namesChanged, q, [this] {
    // Names that are gone took their data with them: draw before anybody looks at it.
    if (model.names().isEmpty()) chosenAxis.clear();
    draw();
    fillMenu();
  });
  QObject::connect(pages, &PageChoice::changed, q, [this] { showPage(); });
  QObject::connect(pictures, &PicturePages::filled, q, [this] { lookAtPages(); });
  QObject::connect(&session, &Session::cursorChanged, q,
                   [this](inspector::RecordNumber number) { chart->setCursorRecord(number); });
  QObject::connect(chart, &PlotChart::legendClicked, q, [this](int series) { toggle(series); });
  QObject::connect(canvas, &PlotCanvas::pointClicked, q,
                   [this](int series, int index) { goToPoint(names().value(series), index); });
  QObject::connect(&branch, &BranchOverlay::changed, q, [this] {
    draw();
    fillMenu();
  });
  QObject::connect(&branch, &BranchOverlay::failed, q, &Panel::failed);
  QObject::connect(canvas, &PlotCanvas::pointStepped, q, [this](int delta) { stepPoint(delta); });
}

void PlotsView::Private::changed() {
  due = true;
  if (!frame.isActive()) draw();
}

void PlotsView::Private::draw() {
  due = false;
  frame.start();
  lookAtAxes();
  chart->setSeries(series());
  lookAtPages();
}

std::vector<ChartSeries> PlotsView::Private::series() const {
  std::vector<ChartSeries> result;
  const QString over = axis();
  QSet<QString> full;
  for (const QString& name : model.names())
    if (const SeriesData* data = model.series(name); data->size() > 0) full << data->name;
  for (const QString& name : model.names()) {
    const SeriesData* data = model.series(name);
    // One that its cell no longer draws has no place beside another cell's of that name.
    const bool replaced = data->size() == 0 && full.contains(data->name);
    result.push_back({data, !hidden.contains(name), data->x == over && !replaced});
  }
  branch.addTo(result, hidden);
  return result;
}

/// The axis of the curve that began last, until the user chooses one. Breakpoints' points come beside others.
void PlotsView::Private::lookAtAxes() {
  for (const QString& name : model.names()) {
    const SeriesData* data = model.series(name);
    std::size_t& before = drawnSizes[name];
    const bool began = data->size() > 0 && (before == 0 || data->size() < before);
    before = data->size();
    if (began && data->x != QLatin1String("hit")) newestAxis = data->x;
  }
  const QStringList axes = model.axes();
  if (!axes.contains(chosenAxis)) chosenAxis.clear();
  QStringList others;
  for (const QString& name : model.names())
    if (const SeriesData* data = model.series(name); data->size() > 0 && data->x != axis())
      others << QStringLiteral("%1 over %2").arg(data->title(), data->x);
  const QString tip = others.isEmpty() ? QStringLiteral("Curves over the next axis")
                                       : QStringLiteral("Curves over the next axis. Not shown now: %1")
                                             .arg(others.join(QStringLiteral("; ")));
  nextAxis->setIconText(QStringLiteral("Over %1").arg(axis()));
  if (tip != nextAxis->statusTip()) inspector::setKey(nextAxis, {QKeySequence(Qt::Key_X)}, tip);
}

QString PlotsView::Private::axis() const {
  const QStringList axes = model.axes();
  if (!chosenAxis.isEmpty()) return chosenAxis;
  if (axes.contains(newestAxis)) return newestAxis;
  if (!axes.isEmpty()) return axes.first();
  return model.names().isEmpty() ? QStringLiteral("step") : model.series(model.names().first())->x;
}

void PlotsView::Private::toggle(int series) {
  const QString name = names().value(series);
  if (!name.isEmpty()) q->setSeriesVisible(name, hidden.contains(name));
}

void PlotsView::Private::fillMenu() {
  curvesMenu->clear();
  curveActions.clear();
  for (const QString& name : names()) {
    QString text = data(name)->title();
    QAction* action = curvesMenu->addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")));
    action->setCheckable(true);
    action->setChecked(!hidden.contains(name));
    curveActions[name] = action;
    QObject::connect(action, &QAction::toggled, q, [this, name](bool on) { q->setSeriesVisible(name, on); });
  }
}

void PlotsView::Private::goToPoint(const QString& name, int index) {
  const SeriesData* curve = data(name);
  if (!curve || index < 0 || static_cast<std::size_t>(index) >= curve->size()) return;
  if (const auto record = curve->records[static_cast<std::size_t>(index)]) session.setCursor(record);
}

void PlotsView::Private::stepPoint(int delta) {
  // Along the curve whose point the cursor is nearest to.
  QString best;
  inspector::RecordNumber newest = 0;
  for (const QString& name : model.names()) {
    const SeriesData* data = model.series(name);
    if (hidden.contains(name) || data->size() == 0 || data->x != axis()) continue;
    const int at = SeriesModel::pointAt(*data, session.cursor());
    const auto record = at >= 0 ? data->records[static_cast<std::size_t>(at)] : 0;
    if (!best.isEmpty() && record <= newest) continue;
    best = name;
    newest = record;
  }
  const SeriesData* data = model.series(best);
  if (!data) return;
  int at = SeriesModel::pointAt(*data, session.cursor());
  // Several points may have been made after the same record: go on until the cursor moves.
  const auto record = at >= 0 ? data->records[static_cast<std::size_t>(at)] : 0;
  do {
    at += delta;
  } while (at >= 0 && static_cast<std::size_t>(at) < data->size() &&
           data->records[static_cast<std::size_t>(at)] == record);
  goToPoint(best, at);
}

PlotsView::PlotsView(SeriesModel& series, PictureModel& pictures, Session& session, QWidget* parent)
    : Panel(parent), d_(std::make_unique<Private>(this, series, session)) {
  auto* layout = new QVBoxLayout(this);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  d_->pictures = new PicturePages(&pictures, &session, this);
  d_->makeToolBar(layout);
  d_->chart = new PlotChart;
  d_->chart->setTheme(inspector::Theme::fromPalette(palette()));
  d_->canvas = new PlotCanvas(d_->chart, this);
  auto* empty = inspector::plainLabel(
      QStringLiteral("No curves yet.<br><br>A cell draws one with<br>"
                     "<code>tf.summary.scalar(\"loss\", value, step)</code><br>"
                     "in its loop, by ending with a list of numbers, or over x values of its own with<br>"
                     "<code>tf.debugging.plot(\"loss\", ys, xs)</code>. What "
                     "<code>tf.summary.histogram</code> and <code>tf.summary.image</code> write shows "
                     "here, too, and the curves of PyTorch's <code>SummaryWriter</code>."),
      this);
  empty->setTextFormat(Qt::RichText);
  empty->setAlignment(Qt::AlignCenter);
  empty->setWordWrap(true);
  empty->setMargin(12);
  empty->setTextInteractionFlags(Qt::TextSelectableByMouse);
  d_->stack = new QStackedWidget(this);
  d_->stack->addWidget(d_->canvas);
  d_->stack->addWidget(empty);
  d_->stack->addWidget(d_->pictures);
  d_->branch.addLines(layout, this);
  layout->addWidget(d_->stack, 1);
  setFocusProxy(d_->canvas);
  d_->connectAll();
  connect(&pictures, &PictureModel::refused, this, &Panel::failed);
  d_->chart->setCursorRecord(session.cursor());
  d_->draw();
  d_->fillMenu();
}

PlotsView::~PlotsView() {
  d_->branch.disconnect(this);
  d_->model.disconnect(this);
  d_->session.disconnect(this);
}

bool PlotsView::isEmpty() const {
  return d_->empty;
}

QList<inspector::HandledKeys> PlotsView::handledKeys() const {
  return {{{Qt::Key_Left, Qt::Key_Right},
           QStringLiteral("Go to the previous or next point or step: all panels follow; histograms: to the "
                          "next bin on either side")},
          {{Qt::Key_Up, Qt::Key_Down}, QStringLiteral("Histograms: go to the previous or next step")},
          {{Qt::Key_End}, QStringLiteral("Images: go to the newest step, and follow new ones")},
          {{Qt::Key_PageUp, Qt::Key_PageDown},
           QStringLiteral("Histograms, images: go to the previous or next name")},
          {{Qt::Key_Plus, Qt::Key_Equal}, QStringLiteral("Curves, images: zoom in")},
          {{Qt::Key_Minus}, QStringLiteral("Curves, images: zoom out")}};
}

PlotChart* PlotsView::chart() const {
  return d_->chart;
}
PlotCanvas* PlotsView::canvas() const {
  return d_->canvas;
}
bool PlotsView::seriesVisible(const QString& name) const {
  return !d_->hidden.contains(name);
}

QString PlotsView::axis() const {
  return d_->axis();
}
void PlotsView::setAxis(const QString& axis) {
  if (!d_->model.axes().contains(axis)) return;
  d_->chosenAxis = axis;
  d_->draw();
}

PlotsPage PlotsView::page() const {
  return d_->pages->page();
}
PicturePages* PlotsView::pictures() const {
  return d_->pictures;
}
void PlotsView::setPage(PlotsPage page) {
  d_->pages->choose(page);
}

void PlotsView::setLogarithmic(bool on) {
  d_->log->setChecked(on);
  d_->chart->setLogarithmic(on);
}

void PlotsView::setSeriesVisible(const QString& name, bool visible) {
  if (visible == seriesVisible(name)) return;
  if (visible) {
    d_->hidden.remove(name);
  } else {
    d_->hidden.insert(name);
  }
  if (QAction* action = d_->curveActions.value(name)) action->setChecked(visible);
  d_->draw();
}

void PlotsView::resetZoom() {
  page() == PlotsPage::curves ? d_->canvas->resetZoom() : d_->pictures->fit();
}

void PlotsView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && d_->chart)
    d_->chart->setTheme(inspector::Theme::fromPalette(palette()));
  QWidget::changeEvent(event);
}

}  // namespace tapedeck::plots
