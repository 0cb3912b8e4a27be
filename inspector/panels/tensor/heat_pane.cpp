#include "inspector/panels/tensor/heat_pane.h"

#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr double bar_space = 108;  ///< at the right, for the colour bar and its labels
constexpr double margin = 12;
constexpr double most_scale = 64;  ///< pixels for an element
constexpr double figure_size = 11, figure_height = 20;
constexpr int readout_digits = 6, figure_digits = 4;
constexpr int most_marks = 4000;  ///< cells that are looked at for hatching
constexpr std::int64_t most_parts = 20'000;

double finiteLow(const std::vector<double>& values) {
  double low = std::numeric_limits<double>::infinity();
  for (const double value : values)
    if (std::isfinite(value)) low = std::min(low, value);
  return low;
}

double finiteHigh(const std::vector<double>& values) {
  double high = -std::numeric_limits<double>::infinity();
  for (const double value : values)
    if (std::isfinite(value)) high = std::max(high, value);
  return high;
}

QColor readableOn(QRgb color) {
  return toOkLab(color).lightness > 0.62 ? QColor(Qt::black) : QColor(Qt::white);
}

}  // namespace

void HeatPane::layoutChanged() {
  fitted_ = true;
  picture_ = {};
  made_ = {};
  cursor_.reset();
}

void HeatPane::setScale(ColorScale scale) {
  scale_ = scale;
  changed_();
}

QSizeF HeatPane::worldSize() const {
  if (model_->images()) return sheet_.size();
  return {static_cast<double>(model_->totalColumns()), static_cast<double>(model_->totalRows())};
}

QRectF HeatPane::plot() const {
  return QRectF(margin, margin, std::max(20.0, area_.width() - bar_space - margin),
                std::max(20.0, area_.height() - 2 * margin));
}

QPointF HeatPane::toWorld(QPointF at) const {
  return {(at.x() - offset_.x()) / scale_x_, (at.y() - offset_.y()) / scale_y_};
}

QRectF HeatPane::toWidget(const QRectF& world) const {
  return {world.x() * scale_x_ + offset_.x(), world.y() * scale_y_ + offset_.y(), world.width() * scale_x_,
          world.height() * scale_y_};
}

QRectF HeatPane::cellRect(std::int64_t row, std::int64_t column) const {
  return toWidget(QRectF(static_cast<double>(column), static_cast<double>(row), 1, 1));
}

void HeatPane::fit() {
  fitted_ = true;
  if (model_->images()) sheet_ = ImageSheet::fitting(*model_->images(), plot().size());
  const QSizeF world = worldSize();
  if (world.isEmpty()) return;
  const QRectF view = plot();
  scale_x_ = std::min(view.width() / world.width(), most_scale);
  scale_y_ = std::min(view.height() / world.height(), most_scale);
  const double square = std::min(scale_x_, scale_y_);
  // Cells are squares, unless that would leave a line too thin to see.
  const bool thin = std::min(world.width(), world.height()) * square < 40;
  scale_x_ = thin ? std::min(scale_x_, square * 40) : square;
  scale_y_ = thin ? std::min(scale_y_, square * 40) : square;
  if (thin && world.height() == 1) scale_y_ = std::min(view.height(), 48.0);
  if (thin && world.width() == 1) scale_x_ = std::min(view.width(), 48.0);
  offset_ = {view.left() + std::max(0.0, (view.width() - world.width() * scale_x_) / 2),
             view.top() + std::max(0.0, (view.height() - world.height() * scale_y_) / 2)};
}

void HeatPane::askForValues(QSizeF area) {
  const bool resized = area != area_;
  area_ = area;
  if (fitted_ || resized) {
    if (fitted_) fit();
    keepInside();
  }
  const QSizeF world = worldSize();
  if (world.isEmpty()) return;
  const QRectF visible =
      QRectF(toWorld(plot().topLeft()), toWorld(plot().bottomRight())).intersected(QRectF(QPointF(), world));
  if (model_->images()) {
    const double pitch = static_cast<double>(sheet_.grid.rows + 1);
    const auto first_row = static_cast<qint64>(std::max(0.0, std::floor(visible.top() / pitch)));
    const auto last_row = static_cast<qint64>(std::ceil(visible.bottom() / pitch));
    return model_->setImageWindow(first_row * sheet_.across,
                                  std::max<qint64>(1, last_row - first_row) * sheet_.across);
  }
  TileWindow window;
  // Powers of two, and windows that begin at multiples of them: panning asks for the same cells again.
  const auto step = [](double scale) {
    std::int64_t result = 1;
    while (scale * static_cast<double>(result) < 1 && result < (std::int64_t{1} << 40)) result *= 2;
    return result;
  };
  window.rowStep = step(scale_y_);
  window.columnStep = step(scale_x_);
  const auto aligned = [](double at, std::int64_t unit) {
    return static_cast<std::int64_t>(std::floor(at)) / unit * unit;
  };
  window.row = aligned(visible.top(), window.rowStep);
  window.column = aligned(visible.left(), window.columnStep);
  window.rows = static_cast<std::int64_t>(std::ceil(visible.bottom())) - window.row;
  window.columns = static_cast<std::int64_t>(std::ceil(visible.right())) - window.column;
  model_->setWindow(window);
}

void HeatPane::updatePicture(const Theme& theme) {
  const protocol::Statistics* statistics = model_->statistics();
  const std::optional<ImageGrid> images = model_->images();
  const ImageTile* sheet_tile = images ? model_->imageTile() : nullptr;
  const protocol::Tile* tile = images ? nullptr : model_->tile();
  if (!tile && !sheet_tile) return;  // the old picture stays
  const std::vector<double>& values = sheet_tile ? sheet_tile->values : tile->values;
  const bool whole = statistics && statistics->minimum && statistics->maximum;
  map_ = ColorMap(whole ? *statistics->minimum : finiteLow(values),
                  whole ? *statistics->maximum : finiteHigh(values), scale_, theme.dark);
  const Made now{sheet_tile ? static_cast<const void*>(sheet_tile) : tile,
                 version_,
                 map_.low(),
                 map_.high(),
                 map_.diverging(),
                 theme.dark,
                 sheet_.across};
  if (now == made_) return;
  made_ = now;
  chooseFormats(values);
  picture_ =
      sheet_tile ? imagePicture(*sheet_tile, sheet_, map_, theme.background.rgb()) : heatPicture(*tile, map_);
}

void HeatPane::chooseFormats(const std::vector<double>& values) {
  const protocol::Tile* tile = model_->images() ? nullptr : model_->tile();
  // Means of whole numbers need not be whole.
  const bool means = tile && (tile->row_step > 1 || tile->column_step > 1);
  const std::string dtype = means || !model_->tensor() ? "float64" : model_->tensor()->dtype;
  readout_format_ = NumberFormat::choose(values, dtype, readout_digits);
  figures_format_ = NumberFormat::choose(values, dtype, figure_digits);
  widest_figure_ = figures_format_.widest(values);
}

void HeatPane::paint(CanvasPainter& painter, QSizeF area) {
  if (area != area_ || fitted_) askForValues(area);
  updatePicture(painter.theme());
  const QRectF view = plot();
  const QRectF whole = toWidget(QRectF(QPointF(), worldSize())).intersected(view);
  painter.clip(view.adjusted(-1, -1, 1, 1));
  if (!picture_.image.isNull()) {
    painter.clip(whole);
    painter.image(toWidget(picture_.world), picture_.image, model_->loading() ? 0.55 : 1);
    drawMarks(painter);
    painter.unclip();
    if (cursor_ && !hovering_) drawCursor(painter);
  }
  if (!model_->images()) painter.outline(whole.adjusted(-1, -1, 0, 0), painter.theme().border);
  painter.unclip();
  if (!picture_.image.isNull()) drawColorBar(painter);
}

const double* HeatPane::valueAt(std::int64_t row, std::int64_t column) const {
  const protocol::Tile* tile = model_->tile();
  if (!tile || model_->images()) return nullptr;
  const std::int64_t r = (row - tile->row) / tile->row_step, c = (column - tile->column) / tile->column_step;
  if (row < tile->row || column < tile->column || r >= tile->rows || c >= tile->columns) return nullptr;
  return &tile->values[static_cast<std::size_t>(r * tile->columns + c)];
}

HeatPane::InSight HeatPane::inSight() const {
  const protocol::Tile* tile = model_->tile();
  if (!tile || model_->images() || area_.isEmpty()) return {};
  const QRectF visible = QRectF(toWorld(plot().topLeft()), toWorld(plot().bottomRight()));
  const auto along = [](double from, double to, std::int64_t first, std::int64_t step, std::int64_t count) {
    const auto cell = [&](double at) {
      return std::floor((at - static_cast<double>(first)) / static_cast<double>(step));
    };
    const auto begin = std::clamp<std::int64_t>(static_cast<std::int64_t>(cell(from)), 0, count);
    const auto end = std::clamp<std::int64_t>(static_cast<std::int64_t>(cell(to)) + 1, begin, count);
    return std::pair(begin, end - begin);
  };
  const auto [row, rows] = along(visible.top(), visible.bottom(), tile->row, tile->row_step, tile->rows);
  const auto [column, columns] =
      along(visible.left(), visible.right(), tile->column, tile->column_step, tile->columns);
  return {row, column, rows, columns};
}

int HeatPane::partCount() const {
  const InSight cells = inSight();
  if (cells.rows * cells.columns <= most_parts) return static_cast<int>(cells.rows * cells.columns);
  return cursor_ ? 2 : 1;
}

int HeatPane::currentPart() const {
  const InSight cells = inSight();
  if (!cursor_ || cells.rows == 0 || cells.columns == 0) return -1;
  if (cells.rows * cells.columns > most_parts) return 1;
  const protocol::Tile& tile = *model_->tile();
  const std::int64_t row = (cursor_->row - tile.row) / tile.row_step - cells.row;
  const std::int64_t column = (cursor_->column - tile.column) / tile.column_step - cells.column;
  const bool seen = row >= 0 && column >= 0 && row < cells.rows && column < cells.columns;
  return seen ? static_cast<int>(row * cells.columns + column) : -1;
}

AccessiblePart HeatPane::part(int index) const {
  const InSight cells = inSight();
  const bool too_many = cells.rows * cells.columns > most_parts;
  if (too_many && index == 1 && cursor_) {
    const QString text =
        textAt({static_cast<double>(cursor_->column) + 0.5, static_cast<double>(cursor_->row) + 0.5});
    const qsizetype end = text.indexOf(u']') + 1;
    QString value = text.mid(end).trimmed();
    if (value.startsWith(u'=')) value = value.mid(1).trimmed();
    return {text.left(end), value, cursorRect().intersected(plot()), QAccessible::Cell};
  }
  if (too_many)
    return {QStringLiteral("%1 × %2 cells").arg(cells.rows).arg(cells.columns),
            QStringLiteral("too many to be told one by one: zoom in with the key +"), plot(),
            QAccessible::StaticText};
  const protocol::Tile& tile = *model_->tile();
  const std::int64_t r = cells.row + index / cells.columns, c = cells.column + index % cells.columns;
  const std::int64_t row = tile.row + r * tile.row_step, column = tile.column + c * tile.column_step;
  const QString number = readout_format_.text(tile.values[static_cast<std::size_t>(r * tile.columns + c)]);
  const bool mean = tile.row_step > 1 || tile.column_step > 1;
  const QRectF world(static_cast<double>(column), static_cast<double>(row),
                     static_cast<double>(tile.column_step), static_cast<double>(tile.row_step));
  return {indexText(*model_, row, column, tile.row_step, tile.column_step),
          mean ? QStringLiteral("mean ") + number : number,
          toWidget(world.intersected(QRectF(QPointF(), worldSize()))).intersected(plot()), QAccessible::Cell};
}

/// Large cells carry their number; NaN and infinities are hatched as soon as a hatch can be seen.
void HeatPane::drawMarks(CanvasPainter& painter) {
  if (model_->images() || !model_->tile() || scale_x_ < 5 || scale_y_ < 5) return;
  const protocol::Tile& tile = *model_->tile();
  const QRectF visible = QRectF(toWorld(plot().topLeft()), toWorld(plot().bottomRight()));
  const auto first_row =
      std::max<std::int64_t>(tile.row, static_cast<std::int64_t>(std::floor(visible.top())));
  const auto first_column =
      std::max<std::int64_t>(tile.column, static_cast<std::int64_t>(std::floor(visible.left())));
  const auto end_row = std::min(tile.row + tile.rows, static_cast<std::int64_t>(std::ceil(visible.bottom())));
  const auto end_column =
      std::min(tile.column + tile.columns, static_cast<std::int64_t>(std::ceil(visible.right())));
  int marks = 0;
  const double widest = painter.textWidth(QString(widest_figure_, QLatin1Char('0')), figure_size);
  const bool figures = scale_x_ >= widest + 8 && scale_y_ >= figure_height;
  for (std::int64_t row = first_row; row < end_row; ++row) {
    for (std::int64_t column = first_column; column < end_column; ++column) {
      const double* value = valueAt(row, column);
      if (!value) continue;
      const QRectF cell = cellRect(row, column);
      if (!std::isfinite(*value) && ++marks < most_marks) painter.hatch(cell, QColor(0, 0, 0, 150), 6);
      if (figures) drawFigures(painter, cell, *value);
    }
  }
}

/// Two lines, one of which is seen on any colour.
void HeatPane::drawCursor(CanvasPainter& painter) {
  const QRectF cell = cursorRect();
  painter.outline(cell.adjusted(-2, -2, 2, 2), painter.theme().background, 4);
  painter.outline(cell.adjusted(-2, -2, 2, 2), painter.theme().accent, 2);
}

void HeatPane::drawFigures(CanvasPainter& painter, const QRectF& cell, double value) {
  const QRgb color = map_.color(value);
  const QString text = figures_format_.text(value);
  if (!std::isfinite(value)) {
    const double width = painter.textWidth(text, figure_size) + 8;
    painter.fill(QRectF(cell.center().x() - width / 2, cell.center().y() - 8, width, 16), QColor(color), 3);
  }
  painter.textIn(cell.adjusted(3, 0, -3, 0), text, figure_size, readableOn(color));
}

void HeatPane::drawColorBar(CanvasPainter& painter) {
  const Theme& theme = painter.theme();
  const QRectF view = plot();
  const protocol::Statistics* statistics = model_->statistics();
  struct Unusual {
    bool there;
    QRgb color;
    const char* text;
  };
  const Unusual unusual[] = {
      {statistics && statistics->nan > 0, ColorMap::nan_color, "NaN"},
      {statistics && statistics->positive_infinity > 0, ColorMap::positive_infinity_color, "+Inf"},
      {statistics && statistics->negative_infinity > 0, ColorMap::negative_infinity_color, "−Inf"}};
  double extra = 0;
  for (const Unusual& entry : unusual) extra += entry.there ? 20 : 0;
  const QRectF bar(area_.width() - bar_space + 12, view.top() + 2, 14,
                   std::min(260.0, view.height() - extra - 4));
  const int steps = std::max(2, static_cast<int>(bar.height()));
  for (int i = 0; i < steps; ++i) {
    const double part = 1 - (i + 0.5) / steps;
    const double value = map_.low() * (1 - part) + map_.high() * part;
    painter.fill(
        QRectF(bar.left(), bar.top() + i * bar.height() / steps, bar.width(), bar.height() / steps + 0.5),
        QColor(map_.color(value)));
  }
  painter.outline(bar, theme.border);
  const double x = bar.right() + 6, room = area_.width() - x - 2;
  const double most = std::max(std::abs(map_.low()), std::abs(map_.high()));
  const double middle = map_.low() / 2 + map_.high() / 2;
  const double places[] = {map_.low(), std::abs(middle) < most * 1e-9 ? 0 : middle, map_.high()};
  const Notation notation = Notation::of(places, figure_digits);
  const auto label = [&](double y, double value) {
    painter.textIn(QRectF(x, y - 8, room, 16), notation.text(value), figure_size, theme.text, Qt::AlignLeft);
  };
  label(bar.top() + 5, map_.high());
  if (bar.height() > 60 && map_.high() > map_.low()) label(bar.center().y(), places[1]);
  if (map_.high() > map_.low()) label(bar.bottom() - 5, map_.low());
  double y = bar.bottom() + 6;
  for (const Unusual& entry : unusual) {
    if (!entry.there) continue;
    const QRectF sample(bar.left(), y, 14, 14);
    painter.fill(sample, QColor(entry.color));
    painter.hatch(sample, QColor(0, 0, 0, 150), 5);
    painter.textIn(QRectF(x, y - 1, room, 16), QString::fromUtf8(entry.text), 11, theme.text, Qt::AlignLeft);
    y += 20;
  }
}

}  // namespace tapedeck::inspector
