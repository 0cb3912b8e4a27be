// PlotsView: writing what it shows to files.
#include "inspector/ui/file_dialogs.h"
#include "inspector/ui/keyed_action.h"
#include "plots/csv.h"
#include "plots/picture_pages.h"
#include "plots/plots_view_private.h"

namespace tapedeck::plots {

using inspector::SeriesData;

namespace {

constexpr int unnoticed_ms = 50;  ///< what takes longer says that it is at work

}  // namespace

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

QList<QAction*> PlotsView::exportActions() const {
  return {d_->svg, d_->png, d_->csv};
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

}  // namespace tapedeck::plots
