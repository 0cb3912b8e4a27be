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
constexpr double mark_pitch = 10;  ///< pixels: one mark for all that would be nearer
constexpr double mark_size = 3.5;

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
  return QStringLiteral("%1 of %2×%3").arg(cellWord()).arg(tile->row_step).arg(tile->column_step);
}

/// Of many elements the one that is largest may be a single pixel: ▲ is the maximum, ▼ the minimum.
void HeatPane::drawExtremes(CanvasPainter& painter) {
  const protocol::Statistics* statistics = model_->statistics();
  const protocol::Tile* tile = model_->tile();
  if (!statistics || !tile || (tile->row_step == 1 && tile->column_step == 1)) return;
  for (const bool largest : {true, false}) {
    const auto& extreme = largest ? statistics->maximum : statistics->minimum;
    if (!extreme || std::count(tile->values.begin(), tile->values.end(), *extreme) != 1) continue;
    const auto place = std::find(tile->values.begin(), tile->values.end(), *extreme) - tile->values.begin();
    const auto middle = [&](std::int64_t first, std::int64_t cell, std::int64_t step, double end) {
      const auto begin = static_cast<double>(first + cell * step);
      return (begin + std::min(begin + static_cast<double>(step), end)) / 2;
    };
    const QPointF world(middle(tile->column, place % tile->columns, tile->column_step, worldSize().width()),
                        middle(tile->row, place / tile->columns, tile->row_step, worldSize().height()));
    const QPointF at = toWidget(QRectF(world, QSizeF())).topLeft();
    if (!plot().adjusted(-1, -1, 1, 1).contains(at)) continue;
    // The tip is at the place, or at the picture's edge beside it.
    const double down = largest ? 1 : -1;
    const auto corner = [&](double x, double y) { return at + QPointF(x, y * down); };
    painter.triangle(corner(0, 1), corner(-6, 12), corner(6, 12), QColor(255, 255, 255));
    painter.triangle(corner(0, 3.5), corner(-4, 11), corner(4, 11), QColor(0, 0, 0));
  }
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

/// Which indices an image shows, where there is room.
void HeatPane::drawImageNames(CanvasPainter& painter) {
  const std::optional<ImageGrid> images = model_->images();
  const ImageTile* tile = model_->imageTile();
  if (!tile || sheet_.above == 0 || tile->grid != *images) return;
  const double room = static_cast<double>(sheet_.above) * scale_y_;
  for (std::int64_t image = tile->first; image < std::min(tile->first + tile->count, images->count);
       ++image) {
    const QRectF rect = toWidget(sheet_.imageRect(image));
    const QRectF name(rect.left(), rect.top() - std::min(room, 18.0), rect.width(), std::min(room, 18.0));
    if (!name.intersects(plot())) continue;
    painter.textIn(name, imageText(*images, image), std::min(legend_size, room - 2), painter.theme().text,
                   Qt::AlignLeft);
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
      {statistics && statistics->positive_infinity > 0, ColorMap::positive_infinity_color, inf, "+inf"},
      {statistics && statistics->negative_infinity > 0, ColorMap::negative_infinity_color, -inf, "−inf"}};
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
