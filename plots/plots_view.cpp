#include "plots/plots_view.h"

#include <QtWidgets>

#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/keyed_action.h"
#include "inspector/ui/plain_text.h"
#include "plots/branch_overlay.h"
#include "plots/csv.h"
#include "plots/export.h"
#include "plots/picture_pages.h"
#include "plots/plot_canvas.h"
#include "plots/plot_chart.h"

namespace tapedeck::plots {

using inspector::PictureModel;
using inspector::SeriesData;
using inspector::SeriesModel;
using inspector::Session;

namespace {

constexpr int frame_ms = 33;
constexpr int unnoticed_ms = 50;  ///< what takes longer says that it is at work

}  // namespace

struct PlotsView::Private {
  Private(PlotsView* q, SeriesModel& model, Session& session)
      : q(q), model(model), session(session), branch(session, model) {}

  PlotsView* q;
  SeriesModel& model;
  Session& session;
  BranchOverlay branch;
  PlotChart* chart = nullptr;
  PlotCanvas* canvas = nullptr;
  QStackedWidget* stack = nullptr;  ///< the curves, what stands where nothing is, the other pages
  PageChoice* pages = nullptr;
  PicturePages* pictures = nullptr;
  QAction *log = nullptr, *reset = nullptr, *svg = nullptr, *png = nullptr, *csv = nullptr;
  QAction *chooseCurves = nullptr, *curvesButton = nullptr, *nextAxis = nullptr;
  QString chosenAxis, newestAxis;          ///< the user's; that of the curve which began last
  QHash<QString, std::size_t> drawnSizes;  ///< points of each curve when it was drawn last
  bool empty = true;
  QMenu* curvesMenu = nullptr;
  QHash<QString, QAction*> curveActions;
  QSet<QString> hidden;
  QTimer frame;  ///< runs for one frame after each drawing; what comes meanwhile is drawn at its end
  bool due = false;

  void makeToolBar(QBoxLayout* layout);
  QAction* addAction(QToolBar* bar, const QString& text, const QKeySequence& key, const QString& tip);
  void makeExports(QToolBar* bar);
  void lookAtPages();
  void showPage();
  void connectAll();
  void changed();
  void draw();
  void toggle(int series);
  void fillMenu();
  void goToPoint(const QString& name, int index);
  void stepPoint(int delta);
  std::vector<ChartSeries> series() const;
  /// In the order in which the chart has them: the session's, then the branch's.
  QStringList names() const { return model.names() + branch.names(); }
  const SeriesData* data(const QString& name) const {
    const SeriesData* own = model.series(name);
    return own ? own : branch.series(name);
  }
  void lookAtAxes();
  QString axis() const;
  ExportOptions options() const;
  std::function<QByteArray()> csvOfCurves(QString* error) const;
  void ask(const QString& format);  ///< for a file name, and writes
};

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

void PlotsView::Private::makeExports(QToolBar* bar) {
  // Their keys work in the whole window, which puts them into its menu File.
  svg = new QAction(QStringLiteral("Export &plots as SVG…"), q);
  svg->setObjectName(QStringLiteral("file.export_plots"));
  svg->setIconText(QStringLiteral("SVG…"));
  inspector::setKey(svg, {Qt::CTRL | Qt::ALT | Qt::Key_P}, QStringLiteral("Write what Plots shows as SVG"));
  QObject::connect(svg, &QAction::triggered, q, &PlotsView::askSvg);
  png = new QAction(QStringLiteral("Export plots as P&NG…"), q);
  png->setObjectName(QStringLiteral("file.export_plots_png"));
  png->setIconText(QStringLiteral("PNG…"));
  inspector::setKey(png, {Qt::CTRL | Qt::SHIFT | Qt::Key_G}, QStringLiteral("Write what Plots shows as PNG"));
  QObject::connect(png, &QAction::triggered, q, &PlotsView::askPng);
  csv = new QAction(QStringLiteral("Export plots as &CSV…"), q);
  csv->setObjectName(QStringLiteral("file.export_plots_csv"));
  csv->setIconText(QStringLiteral("CSV…"));
  inspector::setKey(
      csv, {Qt::CTRL | Qt::ALT | Qt::SHIFT | Qt::Key_P},
      QStringLiteral("Write the numbers of the curves or the histogram that Plots shows as CSV"));
  QObject::connect(csv, &QAction::triggered, q, &PlotsView::askCsv);
  bar->addActions({svg, png, csv});
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

ExportOptions PlotsView::Private::options() const {
  ExportOptions options;
  options.logarithmic = chart->logarithmic();
  if (chart->zoomed()) {
    options.steps = chart->stepsShown();
    options.y = chart->yShown();
  }
  return options;
}

/// All points of the curves that are shown, not only those that are drawn.
std::function<QByteArray()> PlotsView::Private::csvOfCurves(QString* error) const {
  std::vector<SeriesData> shown;
  for (const ChartSeries& one : series())
    if (one.drawn() && one.data->size() > 0) shown.push_back(*one.data);
  if (shown.empty()) *error = QStringLiteral("There is no curve to write.");
  return [shown = std::move(shown)] { return csvOf(shown); };
}

void PlotsView::Private::ask(const QString& format) {
  const bool curves = pages->page() == PlotsPage::curves;
  const QString what = curves                                   ? QStringLiteral("the curves")
                       : pages->page() == PlotsPage::histograms ? QStringLiteral("the histogram")
                                                                : QStringLiteral("the images");
  const QString name = curves ? QStringLiteral("curves") : pictures->fileName();
  const QString path = inspector::askForPath(q, QStringLiteral("Write %1 as %2").arg(what, format),
                                             name + QLatin1Char('.') + format.toLower(),
                                             QStringLiteral("%1 (*.%2)").arg(format, format.toLower()));
  if (!path.isEmpty()) q->exportTo(path);
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
                     "here, too."),
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

QList<QAction*> PlotsView::exportActions() const {
  return {d_->svg, d_->png, d_->csv};
}

QList<inspector::HandledKeys> PlotsView::handledKeys() const {
  return {
      {{Qt::Key_Left, Qt::Key_Right},
       QStringLiteral(
           "To the point or step before or after: all panels follow; histograms: to the bin beside")},
      {{Qt::Key_Up, Qt::Key_Down}, QStringLiteral("Histograms: to the step before or after")},
      {{Qt::Key_End}, QStringLiteral("Images: to the newest step, and on with those that come")},
      {{Qt::Key_PageUp, Qt::Key_PageDown}, QStringLiteral("Histograms, images: to the name before or after")},
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

void PlotsView::askSvg() {
  d_->ask(QStringLiteral("SVG"));
}
void PlotsView::askPng() {
  d_->ask(QStringLiteral("PNG"));
}
void PlotsView::askCsv() {
  d_->ask(QStringLiteral("CSV"));
}

// Qt draws charts on this thread only, as many points as there are pixels; packing and writing are another's.
void PlotsView::exportTo(const QString& path) {
  QString error;
  const QString suffix = QFileInfo(path).suffix().toLower();
  const bool curves = page() == PlotsPage::curves;
  std::function<QImage()> image;
  std::function<QByteArray()> bytes;
  if (suffix == QLatin1String("csv")) {
    bytes = curves ? d_->csvOfCurves(&error) : d_->pictures->csv(&error);
  } else if (suffix == QLatin1String("png")) {
    image = curves ? [made = imageOf(d_->series(), d_->options(), &error)] { return made; }
                   : d_->pictures->picture(&error);
  } else {
    bytes = curves ? [made = svgOf(d_->series(), d_->options(), &error)] { return made; }
                   : d_->pictures->svg(&error);
  }
  if (!error.isEmpty()) return emit failed(error);
  auto* late = new QTimer(this);
  late->setSingleShot(true);
  connect(late, &QTimer::timeout, this,
          [this, path] { emit done(QStringLiteral("Writing %1 …").arg(path)); });
  late->start(unnoticed_ms);
  QThreadPool::globalInstance()->start([view = QPointer(this), timer = QPointer(late), path, image, bytes] {
    QString failure;
    const bool written =
        image ? replaceByPng(path, image(), &failure) : inspector::replaceFile(path, bytes(), &failure);
    QMetaObject::invokeMethod(qApp, [view, timer, path, failure, written] {
      delete timer;
      if (!view) return;
      written ? emit view->done(QStringLiteral("Wrote %1").arg(path)) : emit view->failed(failure);
    });
  });
}

void PlotsView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && d_->chart)
    d_->chart->setTheme(inspector::Theme::fromPalette(palette()));
  QWidget::changeEvent(event);
}

}  // namespace tapedeck::plots
