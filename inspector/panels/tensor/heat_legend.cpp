// What is written and drawn beside and upon the heat map's colours: the bar with its numbers, marks of what
// is not finite, names of images.
#include <algorithm>
#include <cmath>
#include <set>

#include "inspector/model/format.h"
#include "inspector/model/tensor/numpy_text.h"
#include "inspector/panels/tensor/heat_pane.h"

namespace tapedeck::inspector {

namespace {

constexpr double legend_size = 11;
constexpr int legend_digits = 4;
constexpr double mark_pitch = 10;  ///< pixels: one mark stands for all that would be nearer
constexpr double mark_size = 3.5;
constexpr double least_named_width = 36, least_named_height = 30;

/// NaN ×, infinities + and −: seen on any colour, and told apart without it.
void drawUnusual(CanvasPainter& painter, QPointF at, double value) {
  const auto stroke = [&](double dx, double dy) {
    const QPointF by(dx * mark_size, dy * mark_size);
    painter.line(at - by, at + by, QColor(255, 255, 255), 3.5);
  };
  const auto core = [&](double dx, double dy) {
    const QPointF by(dx * mark_size, dy * mark_size);
    painter.line(at - by, at + by, QColor(0, 0, 0), 1.5);
  };
  for (const bool inner : {false, true}) {
    const auto draw = [&](double dx, double dy) { inner ? core(dx, dy) : stroke(dx, dy); };
    if (std::isnan(value)) {
      draw(1, 1);
      draw(1, -1);
    } else {
      draw(1, 0);
      if (value > 0) draw(0, 1);
    }
  }
}

}  // namespace

QString HeatPane::cellWord() const {
  switch (model_->tileCells()) {
    case protocol::CellValue::mean:
      break;
    case protocol::CellValue::extreme:
      return QStringLiteral("largest");
    case protocol::CellValue::minimum:
      return QStringLiteral("minimum");
    case protocol::CellValue::maximum:
      return QStringLiteral("maximum");
  }
  return QStringLiteral("mean");
}

QString HeatPane::note() const {
  const auto count = [](std::int64_t number) { return countText(static_cast<quint64>(number)); };
  if (const std::optional<ImageGrid> images = model_->images()) {
    const ImageTile* tile = model_->imageTile();
    if (!tile || tile->count >= images->count) return {};
    return QStringLiteral("%1–%2 of %3 images")
        .arg(count(tile->first), count(tile->first + tile->count - 1), count(images->count));
  }
  const protocol::Tile* tile = model_->tile();
  if (!tile || (tile->row_step == 1 && tile->column_step == 1)) return {};
  return QStringLiteral("cells show the %1 of %2×%3")
      .arg(cellWord())
      .arg(tile->row_step)
      .arg(tile->column_step);
}

/// Where cells are too small to be hatched.
void HeatPane::drawSmallMarks(CanvasPainter& painter) {
  const protocol::Statistics* statistics = model_->statistics();
  if (statistics && statistics->nan + statistics->positive_infinity + statistics->negative_infinity == 0)
    return;
  std::set<std::pair<int, int>> taken;
  const QRectF view = plot();
  const auto mark = [&](QPointF world, double value) {
    const QPointF at = toWidget(QRectF(world, QSizeF())).topLeft();
    if (!view.contains(at)) return;
    const std::pair place(static_cast<int>(at.x() / mark_pitch), static_cast<int>(at.y() / mark_pitch));
    if (taken.insert(place).second) drawUnusual(painter, at, value);
  };
  if (const std::optional<ImageGrid> images = model_->images()) {
    const ImageTile* tile = model_->imageTile();
    if (!tile || tile->grid != *images) return;
    const std::int64_t channels = images->channels();
    for (std::size_t i = 0; i < tile->values.size(); ++i) {
      if (std::isfinite(tile->values[i])) continue;
      const std::int64_t pixel = static_cast<std::int64_t>(i) / channels,
                         in_image = pixel % (images->rows * images->columns);
      const QRectF rect = sheet_.imageRect(tile->first + pixel / (images->rows * images->columns));
      mark(rect.topLeft() + QPointF(static_cast<double>(in_image % images->columns) + 0.5,
                                    static_cast<double>(in_image / images->columns) + 0.5),
           tile->values[i]);
    }
    return;
  }
  const protocol::Tile* tile = model_->tile();
  if (!tile) return;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(tile->values.size()); ++i) {
    const double value = tile->values[static_cast<std::size_t>(i)];
    if (std::isfinite(value)) continue;
    const double row = static_cast<double>(i / tile->columns) + 0.5,
                 column = static_cast<double>(i % tile->columns) + 0.5;
    mark({std::min(static_cast<double>(tile->column) + column * static_cast<double>(tile->column_step),
                   worldSize().width()),
          std::min(static_cast<double>(tile->row) + row * static_cast<double>(tile->row_step),
                   worldSize().height())},
         value);
  }
}

/// Which indices an image stands for, where there is room.
void HeatPane::drawImageNames(CanvasPainter& painter) {
  const std::optional<ImageGrid> images = model_->images();
  const ImageTile* tile = model_->imageTile();
  if (!tile || images->shape.empty() || tile->grid != *images) return;
  QColor back = painter.theme().panel;
  back.setAlpha(215);
  for (std::int64_t image = tile->first; image < std::min(tile->first + tile->count, images->count);
       ++image) {
    const QRectF rect = toWidget(sheet_.imageRect(image));
    if (rect.width() < least_named_width || rect.height() < least_named_height) return;
    if (!rect.intersects(plot())) continue;
    const QString text = imageText(*images, image);
    const double width = painter.textWidth(text, legend_size - 1) + 6;
    if (width > rect.width()) continue;
    const QRectF tag(rect.topLeft(), QSizeF(width, 14));
    painter.fill(tag, back);
    painter.textIn(tag, text, legend_size - 1, painter.theme().text);
  }
}

void HeatPane::drawColorBar(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  const QRectF view = plot();
  const protocol::Statistics* statistics = model_->statistics();
  const std::optional<ImageGrid> images = model_->images();
  const bool colors = images && images->color;
  struct Unusual {
    bool there;
    QRgb color;
    double value;
    const char* text;
  };
  constexpr double inf = std::numeric_limits<double>::infinity();
  const Unusual unusual[] = {
      {statistics && statistics->nan > 0, ColorMap::nan_color, std::nan(""), "NaN"},
      {statistics && statistics->positive_infinity > 0, ColorMap::positive_infinity_color, inf, "+Inf"},
      {statistics && statistics->negative_infinity > 0, ColorMap::negative_infinity_color, -inf, "−Inf"}};
  double extra = 0;
  for (const Unusual& entry : unusual) extra += entry.there ? 20 : 0;
  const QRectF bar(area_.width() - bar_space + 12, view.top() + 2, 14,
                   std::max(24.0, std::min(260.0, view.height() - extra - 4)));
  const int steps = std::max(2, static_cast<int>(bar.height()));
  for (int i = 0; i < steps; ++i) {
    const double part = 1 - (i + 0.5) / steps;
    const int gray = static_cast<int>(255 * part + 0.5);
    painter.fill(
        QRectF(bar.left(), bar.top() + i * bar.height() / steps, bar.width(), bar.height() / steps + 0.5),
        colors ? QColor(gray, gray, gray) : QColor(map_.colorAt(part)));
  }
  painter.outline(bar, theme.border);
  const double x = bar.right() + 6, room = area_.width() - x - 2;
  const std::string dtype = model_->tensor() ? model_->tensor()->dtype : "float32";
  const auto label = [&](double y, double value, const QString& before) {
    painter.textIn(QRectF(x, y - 8, room, 16), before + numpyShortText(value, legend_digits, dtype),
                   legend_size, theme.text, Qt::AlignLeft);
  };
  const bool wide = map_.high() > map_.low();
  label(bar.top() + 5, map_.high(), above_ ? QStringLiteral("≥ ") : QString());
  if (colors && bar.height() > 60)
    painter.textIn(QRectF(x, bar.center().y() - 8, room, 16),
                   images->depth == 4 ? QStringLiteral("R, G, B, A") : QStringLiteral("R, G, B"), legend_size,
                   theme.faintText, Qt::AlignLeft);
  else if (bar.height() > 60 && wide)
    label(bar.center().y(), middleOfMap(), QString());
  const bool zero_too = map_.logarithmic() && !map_.diverging() && statistics && statistics->minimum &&
                        *statistics->minimum < map_.low();
  if (wide) label(bar.bottom() - 5, map_.low(), below_ || zero_too ? QStringLiteral("≤ ") : QString());
  double y = bar.bottom() + 6;
  for (const Unusual& entry : unusual) {
    if (!entry.there) continue;
    const QRectF sample(bar.left(), y, 14, 14);
    painter.fill(sample, QColor(entry.color));
    painter.hatch(sample, QColor(0, 0, 0, 150), 5);
    drawUnusual(painter, sample.center(), entry.value);
    painter.textIn(QRectF(x, y - 1, room, 16), QString::fromUtf8(entry.text), legend_size, theme.text,
                   Qt::AlignLeft);
    y += 20;
  }
}

double HeatPane::middleOfMap() const {
  const double middle = map_.valueAt(0.5), most = std::max(std::abs(map_.low()), std::abs(map_.high()));
  return std::abs(middle) < most * 1e-9 && !map_.logarithmic() ? 0 : middle;
}

}  // namespace tapedeck::inspector
