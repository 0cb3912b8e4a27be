#include "plots/export.h"

#include <QBuffer>
#include <QFont>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QPainter>
#include <QRegularExpression>
#include <QSvgGenerator>
#include <algorithm>

#include "inspector/ui/file_dialogs.h"

namespace tapedeck::plots {

namespace {

constexpr int max_side = 16'384;

bool fail(QString* error, const QString& sentence) {
  if (error) *error = sentence;
  return false;
}

bool check(const std::vector<ChartSeries>& series, const ExportOptions& options, QString* error) {
  const bool any = std::any_of(series.begin(), series.end(),
                               [](const ChartSeries& one) { return one.drawn() && one.data->size() > 0; });
  if (!any) return fail(error, QStringLiteral("There is no curve to write."));
  const double side = std::max(options.size.width(), options.size.height()) * options.scale;
  if (options.size.width() < 100 || options.size.height() < 100 || !(options.scale > 0) || side > max_side)
    return fail(error,
                QStringLiteral("A picture of %1×%2 at %3 pixels each can't be made: 100×100 to %4×%4 can.")
                    .arg(options.size.width())
                    .arg(options.size.height())
                    .arg(options.scale)
                    .arg(max_side));
  return true;
}

void draw(const std::vector<ChartSeries>& series, const ExportOptions& options, QPainter* painter) {
  QGraphicsScene scene;
  auto* chart = new PlotChart;
  scene.addItem(chart);  // owns it now
  chart->setTheme(inspector::Theme::light());
  chart->setSeries(series);
  chart->setLogarithmic(options.logarithmic);
  chart->setZoom(options.steps, options.y);
  chart->setTitle(options.title.toHtmlEscaped());
  if (!options.title.isEmpty()) chart->setMargins(QMargins(4, 8, 8, 2));
  QFont bold = chart->titleFont();
  bold.setBold(true);
  chart->setTitleFont(bold);
  const QRectF page(QPointF(0, 0), QSizeF(options.size));
  chart->setGeometry(page);
  scene.setSceneRect(page);
  // The labels' widths decide the plot area, which decides the labels: twice settles it.
  for (int round = 0; round < 2; ++round) {
    chart->refresh();
    chart->layout()->invalidate();
    chart->layout()->activate();
  }
  chart->refresh();
  scene.render(painter, page, page);
}

}  // namespace

// Qt names the font of this machine alone; elsewhere its like must do.
QByteArray withGenericFont(const QByteArray& svg) {
  static const QRegularExpression family(QStringLiteral("font-family=\"([^\",]+)\""));
  return QString::fromUtf8(svg).replace(family, QStringLiteral("font-family=\"'\\1', sans-serif\"")).toUtf8();
}

QByteArray svgOf(const std::vector<ChartSeries>& series, const ExportOptions& options, QString* error) {
  if (!check(series, options, error)) return {};
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(options.size);
  generator.setViewBox(QRect(QPoint(0, 0), options.size));
  generator.setResolution(96);
  // Qt writes the title as it is.
  generator.setTitle(options.title.isEmpty() ? QStringLiteral("Curves") : options.title.toHtmlEscaped());
  generator.setDescription(QStringLiteral("Written by Tapedeck"));
  QPainter painter(&generator);
  draw(series, options, &painter);
  painter.end();
  return withGenericFont(buffer.data());
}

QImage imageOf(const std::vector<ChartSeries>& series, const ExportOptions& options, QString* error) {
  if (!check(series, options, error)) return {};
  QImage image((QSizeF(options.size) * options.scale).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(options.scale);
  image.fill(Qt::white);
  QPainter painter(&image);
  draw(series, options, &painter);
  return image;
}

bool replaceByPng(const QString& path, const QImage& image, QString* error) {
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  if (!image.save(&buffer, "PNG")) return fail(error, QStringLiteral("The picture can't be packed as PNG."));
  return inspector::replaceFile(path, bytes, error);
}

bool writeSvg(const std::vector<ChartSeries>& series, const ExportOptions& options, const QString& path,
              QString* error) {
  const QByteArray svg = svgOf(series, options, error);
  return !svg.isEmpty() && inspector::replaceFile(path, svg, error);
}

bool writePng(const std::vector<ChartSeries>& series, const ExportOptions& options, const QString& path,
              QString* error) {
  const QImage image = imageOf(series, options, error);
  return !image.isNull() && replaceByPng(path, image, error);
}

}  // namespace tapedeck::plots
