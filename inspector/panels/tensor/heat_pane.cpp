#include "inspector/panels/tensor/heat_pane.h"

#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr double heat_margin = 12;
constexpr double small_margin = 4, small_height = 240;  ///< above and below, in a small panel
constexpr double name_height = 13, least_named_width = 44, least_named_height = 30;  ///< pixels of an image
constexpr double least_image = 24;  ///< pixels for an image, as long as all fit
constexpr double most_scale = 64;   ///< pixels for an element
constexpr double figure_size = 11, figure_height = 20;
constexpr int readout_digits = 6, figure_digits = 4;
constexpr double least_of_logarithm = 1e-12;  ///< of the largest value, unless a range was typed
constexpr int most_marks = 4000;              ///< cells that are examined for hatching
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

HeatPane::ColorChoice HeatPane::choice() const {
  const auto kept = choices_.find(model_->identity());
  return kept == choices_.end() ? ColorChoice{} : kept->second;
}

void HeatPane::keepChoice(const ColorChoice& choice) {
  choices_[model_->identity()] = choice;
  changed_();
}

void HeatPane::setScale(ColorScale scale) {
  keepChoice({scale, choice().range});
}

void HeatPane::setRangeText(const QString& text) {
  keepChoice({choice().scale, text});
}

QSizeF HeatPane::worldSize() const {
  if (model_->images()) return sheet_.size();
  return {static_cast<double>(model_->totalColumns()), static_cast<double>(model_->totalRows())};
}

QRectF HeatPane::plot() const {
  const double above = area_.height() < small_height ? small_margin : heat_margin;
  return QRectF(heat_margin, above, std::max(20.0, area_.width() - bar_space - heat_margin),
                std::max(20.0, area_.height() - 2 * above));
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
  const QRectF view = plot();
  QSizeF world = worldSize();
  if (const std::optional<ImageGrid> images = model_->images()) {
    // All of them, or as many as one answer has and can be seen: the others are below.
    const auto seen = static_cast<std::int64_t>(std::max(1.0, std::floor(view.width() / least_image)) *
                                                std::max(1.0, std::floor(view.height() / least_image)));
    ImageGrid shown = *images;
    shown.count = std::min({images->count, imagesAtOnce(*images), seen});
    ImageSheet sheet = ImageSheet::fitting(shown, view.size());
    const auto scale = [&] {
      return std::min(
          {view.width() / sheet.size().width(), view.height() / sheet.size().height(), most_scale});
    };
    const double cell = scale();
    const bool room = static_cast<double>(images->rows) * cell >= least_named_height &&
                      static_cast<double>(images->columns) * cell >= least_named_width;
    if (room && !images->shape.empty() && cell > 0)
      sheet.above = static_cast<std::int64_t>(std::ceil(name_height / cell));
    sheet_ = {*images, sheet.across, sheet.above};
    world = sheet.size();
  }
  if (world.isEmpty()) return;
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
    const double pitch = static_cast<double>(sheet_.pitch());
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
  double low = whole ? *statistics->minimum : finiteLow(values),
         high = whole ? *statistics->maximum : finiteHigh(values);
  const ColorChoice chosen = choice();
  ColorScale scale = chosen.scale;
  if (images && images->color) {
    scale = ColorScale::sequential;
    if (model_->tensor() && model_->tensor()->dtype == "uint8") low = 0, high = 255;
    if (low >= 0 && high <= 1) low = 0, high = 1;
  }
  below_ = above_ = false;
  if (const std::optional<ValueRange> range = parseRange(chosen.range).range) {
    below_ = low < range->low;
    above_ = high > range->high;
    low = range->low;
    high = range->high;
    // The range is what was typed, unless the other side of zero was asked for.
    if (scale == ColorScale::automatic) scale = low == -high ? ColorScale::diverging : ColorScale::sequential;
  } else if (scale == ColorScale::logarithmic && low > 0) {
    low = std::max(low, high * least_of_logarithm);
    below_ = whole && *statistics->minimum < low;
  }
  map_ = ColorMap(low, high, scale, theme.dark);
  const Made now{sheet_tile ? static_cast<const void*>(sheet_tile) : tile,
                 version_,
                 map_.low(),
                 map_.high(),
                 map_.diverging(),
                 theme.dark,
                 map_.floor(),
                 sheet_.across,
                 sheet_.above};
  if (now == made_) return;
  made_ = now;
  chooseFormats(values);
  picture_ =
      sheet_tile ? imagePicture(*sheet_tile, sheet_, map_, theme.background.rgb()) : heatPicture(*tile, map_);
}

void HeatPane::chooseFormats(const std::vector<double>& values) {
  const protocol::Tile* tile = model_->images() ? nullptr : model_->tile();
  // Means of whole numbers need not be whole.
  const bool means = tile && (tile->row_step > 1 || tile->column_step > 1) &&
                     model_->tileCells() == protocol::CellValue::mean;
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
    if (model_->images() || scale_x_ < 5 || scale_y_ < 5)
      drawSmallMarks(painter);
    else
      drawMarks(painter);
    if (model_->images()) drawImageNames(painter);
    painter.unclip();
    if (!model_->images()) drawExtremes(painter);
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
            QStringLiteral("too many to list one by one: zoom in with the key +"), plot(),
            QAccessible::StaticText};
  const protocol::Tile& tile = *model_->tile();
  const std::int64_t r = cells.row + index / cells.columns, c = cells.column + index % cells.columns;
  const std::int64_t row = tile.row + r * tile.row_step, column = tile.column + c * tile.column_step;
  const QString number = readout_format_.text(tile.values[static_cast<std::size_t>(r * tile.columns + c)]);
  const bool several = tile.row_step > 1 || tile.column_step > 1;
  const QRectF world(static_cast<double>(column), static_cast<double>(row),
                     static_cast<double>(tile.column_step), static_cast<double>(tile.row_step));
  return {indexText(*model_, row, column, tile.row_step, tile.column_step),
          several ? cellWord() + QLatin1Char(' ') + number : number,
          toWidget(world.intersected(QRectF(QPointF(), worldSize()))).intersected(plot()), QAccessible::Cell};
}

/// Large cells carry their number; NaN and infinities are hatched as soon as a hatch can be seen.
void HeatPane::drawMarks(CanvasPainter& painter) {
  if (!model_->tile()) return;
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

}  // namespace tapedeck::inspector
