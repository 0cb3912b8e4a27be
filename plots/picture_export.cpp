#include "plots/picture_export.h"

#include <QBuffer>
#include <QPainter>
#include <QSvgGenerator>
#include <functional>

#include "plots/export.h"

namespace tapedeck::plots {

namespace {

constexpr QSize page_size{960, 600};  ///< of histograms, in logical pixels
constexpr int space_between = 2;

void drawPage(QPainter& painter, const QString& name, HistogramDrawing& histograms) {
  histograms.layOut(page_size, painter.font());
  histograms.draw(painter, inspector::Theme::light());
  histograms.drawHeader(painter, inspector::Theme::light(), name, histograms.summary(), true);
}

QByteArray svgWith(const QString& name, const QSize& size, const std::function<void(QPainter&)>& draw) {
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QSvgGenerator generator;
  generator.setOutputDevice(&buffer);
  generator.setSize(size);
  generator.setViewBox(QRect(QPoint(0, 0), size));
  generator.setResolution(96);
  generator.setTitle(name.toHtmlEscaped());  // Qt writes the title as it is
  generator.setDescription(QStringLiteral("Written by Tapedeck"));
  QPainter painter(&generator);
  draw(painter);
  painter.end();
  return buffer.data();
}

}  // namespace

QByteArray svgOf(const QString& name, HistogramDrawing histograms) {
  return withGenericFont(
      svgWith(name, page_size, [&](QPainter& painter) { drawPage(painter, name, histograms); }));
}

QImage imageOf(const QString& name, HistogramDrawing histograms) {
  QImage image(page_size * 2, QImage::Format_RGB32);
  image.setDevicePixelRatio(2);
  QPainter painter(&image);
  drawPage(painter, name, histograms);
  return image;
}

QImage imageOf(const DecodedImages& images, int columns) {
  const QImage& first = images.images.front().levels.front();
  if (images.images.size() == 1) return first;
  const auto count = static_cast<int>(images.images.size());
  const int rows = (count + columns - 1) / columns;
  const QSize place = first.size() + QSize(space_between, space_between);
  QImage all(columns * place.width() - space_between, rows * place.height() - space_between,
             QImage::Format_RGB32);
  all.fill(Qt::white);
  QPainter painter(&all);
  for (int i = 0; i < count; ++i)
    painter.drawImage(i % columns * place.width(), i / columns * place.height(),
                      images.images[static_cast<std::size_t>(i)].levels.front());
  return all;
}

QByteArray svgOf(const QString& name, const DecodedImages& images, int columns) {
  const QImage image = imageOf(images, columns);
  // Where it is enlarged its pixels stay pixels.
  return svgWith(name, image.size(), [&](QPainter& painter) { painter.drawImage(0, 0, image); })
      .replace("<image ", "<image style=\"image-rendering:pixelated\" ");
}

}  // namespace tapedeck::plots
