// Mouse and keys of the heat map: pan, zoom, and what is under the pointer.
#include <algorithm>
#include <cmath>

#include "inspector/panels/tensor/heat_pane.h"

namespace tapedeck::inspector {

namespace {

constexpr double least_visible = 60;  ///< pixels of the picture that stay visible
constexpr double most_cell_size = 160;
constexpr double key_pan = 50;

}  // namespace

void HeatPane::keepInside() {
  const QSizeF world = worldSize();
  const QRectF view = plot();
  const double width = world.width() * scale_x_, height = world.height() * scale_y_;
  const double x = std::min(least_visible, width), y = std::min(least_visible, height);
  offset_.setX(std::clamp(offset_.x(), view.left() - width + x, view.right() - x));
  offset_.setY(std::clamp(offset_.y(), view.top() - height + y, view.bottom() - y));
}

void HeatPane::zoom(double factor, QPointF at) {
  const QSizeF world = worldSize();
  if (world.isEmpty()) return;
  const QPointF under = toWorld(at);
  const double least = std::min({plot().width() / world.width(), plot().height() / world.height(), 1.0}) / 2;
  const double bounded =
      std::clamp(std::min(scale_x_, scale_y_) * factor, least, most_cell_size) / std::min(scale_x_, scale_y_);
  scale_x_ *= bounded;
  scale_y_ *= bounded;
  offset_ = {at.x() - under.x() * scale_x_, at.y() - under.y() * scale_y_};
  fitted_ = false;
  keepInside();
  askForValues(area_);
  changed_();
}

bool HeatPane::mousePress(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return false;
  dragging_ = true;
  last_ = event->position();
  return true;
}

bool HeatPane::mouseMove(QMouseEvent* event) {
  if (dragging_ && event->position() != last_) {
    offset_ += event->position() - last_;
    fitted_ = false;
    keepInside();
    askForValues(area_);
  }
  last_ = event->position();
  hovering_ = plot().contains(last_);
  changed_();
  return true;
}

bool HeatPane::mouseRelease(QMouseEvent*) {
  dragging_ = false;
  return true;
}

void HeatPane::leave() {
  hovering_ = false;
  changed_();
}

bool HeatPane::wheel(QWheelEvent* event) {
  zoom(std::pow(1.0018, event->angleDelta().y()), event->position());
  return true;
}

void HeatPane::pan(QPointF by) {
  offset_ += by;
  fitted_ = false;
  keepInside();
  askForValues(area_);
  changed_();
}

bool HeatPane::key(QKeyEvent* event) {
  const bool shift = event->modifiers().testFlag(Qt::ShiftModifier);
  const auto arrow = [&](std::int64_t rows, std::int64_t columns) {
    if (shift)
      pan({-key_pan * static_cast<double>(columns), -key_pan * static_cast<double>(rows)});
    else
      moveCursor(rows, columns);
    return true;
  };
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(1.25, cursor_ && !hovering_ ? cursorRect().center() : plot().center());
      return true;
    case Qt::Key_Minus:
      zoom(0.8, cursor_ && !hovering_ ? cursorRect().center() : plot().center());
      return true;
    case Qt::Key_F:
      fit();
      askForValues(area_);
      changed_();
      return true;
    case Qt::Key_Left:
      return arrow(0, -1);
    case Qt::Key_Right:
      return arrow(0, 1);
    case Qt::Key_Up:
      return arrow(-1, 0);
    case Qt::Key_Down:
      return arrow(1, 0);
    default:
      return false;
  }
}

HeatPane::Cell HeatPane::steps() const {
  const protocol::Tile* tile = model_->images() ? nullptr : model_->tile();
  return tile ? Cell{tile->row_step, tile->column_step} : Cell{1, 1};
}

/// The first key chooses a visible cell; the others go on from there.
void HeatPane::moveCursor(std::int64_t rows, std::int64_t columns) {
  const QSizeF world = worldSize();
  if (world.isEmpty()) return;
  const Cell step = steps();
  const Cell last{static_cast<std::int64_t>(world.height()) - 1,
                  static_cast<std::int64_t>(world.width()) - 1};
  const auto at = [](std::int64_t place, std::int64_t size, std::int64_t end) {
    return std::clamp<std::int64_t>(place, 0, end) / size * size;
  };
  const auto cellAt = [&](QPointF where) {
    return Cell{at(static_cast<std::int64_t>(std::floor(where.y())), step.row, last.row),
                at(static_cast<std::int64_t>(std::floor(where.x())), step.column, last.column)};
  };
  const auto shows = [&](const Cell& cell) {
    std::int64_t image = 0, row = 0, column = 0;
    const QPointF middle(static_cast<double>(cell.column) + 0.5, static_cast<double>(cell.row) + 0.5);
    return !model_->images() || sheet_.pixelAt(middle, image, row, column);
  };
  if (!cursor_ || hovering_) {
    cursor_ = cellAt(toWorld(hovering_ ? last_ : plot().topLeft()));
  } else {
    Cell next = *cursor_;
    do {  // over what lies between images
      next.row += rows * step.row;
      next.column += columns * step.column;
      if (next.row < 0 || next.column < 0 || next.row > last.row || next.column > last.column) break;
    } while (!shows(next));
    next = {at(next.row, step.row, last.row), at(next.column, step.column, last.column)};
    if (shows(next)) cursor_ = next;
  }
  hovering_ = false;
  bringIntoSight(*cursor_);
  changed_();
}

void HeatPane::showCell(const Cell& cell) {
  constexpr double least_scale = 8;  // pixels for an element
  cursor_ = cell;
  hovering_ = false;
  if (const double scale = std::min(scale_x_, scale_y_); scale < least_scale && scale > 0)
    zoom(least_scale / scale, cellRect(cell.row, cell.column).center());
  const QPointF away = plot().center() - cellRect(cell.row, cell.column).center();
  if (!plot().contains(cellRect(cell.row, cell.column))) pan(away);
  changed_();
}

void HeatPane::showElement(std::int64_t row, std::int64_t column) {
  if (area_.isEmpty() || worldSize().isEmpty()) return;
  showCell({row, column});
}

void HeatPane::showPixel(const ImagePlace& place) {
  if (area_.isEmpty() || !model_->images()) return;
  const QPointF corner = sheet_.imageRect(place.image).topLeft();
  showCell({static_cast<std::int64_t>(corner.y()) + place.row,
            static_cast<std::int64_t>(corner.x()) + place.column});
}

QRectF HeatPane::cursorRect() const {
  const Cell step = steps();
  return toWidget(QRectF(static_cast<double>(cursor_->column), static_cast<double>(cursor_->row),
                         static_cast<double>(step.column), static_cast<double>(step.row))
                      .intersected(QRectF(QPointF(), worldSize())));
}

void HeatPane::bringIntoSight(const Cell& cell) {
  const QRectF where = cellRect(cell.row, cell.column), view = plot();
  QPointF by;
  if (where.left() < view.left())
    by.setX(view.left() - where.left());
  else if (where.right() > view.right())
    by.setX(std::max(view.right() - where.right(), view.left() - where.left()));
  if (where.top() < view.top())
    by.setY(view.top() - where.top());
  else if (where.bottom() > view.bottom())
    by.setY(std::max(view.bottom() - where.bottom(), view.top() - where.top()));
  if (std::abs(by.x()) > 0.5 || std::abs(by.y()) > 0.5) pan(by);
}

QString HeatPane::readout() const {
  if (hovering_) return textAt(toWorld(last_));
  if (!cursor_) return {};
  return textAt({static_cast<double>(cursor_->column) + 0.5, static_cast<double>(cursor_->row) + 0.5});
}

QString HeatPane::textAt(QPointF world) const {
  if (const std::optional<ImageGrid> images = model_->images()) {
    std::int64_t image = 0, row = 0, column = 0;
    if (!sheet_.pixelAt(world, image, row, column)) return {};
    QString text = pixelText(*images, image, row, column);
    const ImageTile* tile = model_->imageTile();
    if (!tile || tile->grid != *images || image < tile->first || image >= tile->first + tile->count)
      return text;
    const std::int64_t channels = images->channels();
    const auto index = static_cast<std::size_t>(
        (((image - tile->first) * images->rows + row) * images->columns + column) * channels);
    text += QStringLiteral(" =");
    for (std::size_t channel = 0; channel < static_cast<std::size_t>(channels); ++channel)
      text += QLatin1Char(' ') + valueText(tile->values[index + channel]);
    return text;
  }
  const auto row = static_cast<std::int64_t>(std::floor(world.y())),
             column = static_cast<std::int64_t>(std::floor(world.x()));
  if (row < 0 || column < 0 || row >= model_->totalRows() || column >= model_->totalColumns()) return {};
  const double* value = valueAt(row, column);
  if (!value) return indexText(*model_, row, column);
  const protocol::Tile& tile = *model_->tile();
  if (tile.row_step == 1 && tile.column_step == 1)
    return indexText(*model_, row, column) + QStringLiteral(" = ") + readout_format_.text(*value);
  const std::int64_t first_row = tile.row + (row - tile.row) / tile.row_step * tile.row_step;
  const std::int64_t first_column =
      tile.column + (column - tile.column) / tile.column_step * tile.column_step;
  return indexText(*model_, first_row, first_column, tile.row_step, tile.column_step) +
         QStringLiteral(" %1 %2").arg(cellWord(), valueText(*value));
}

}  // namespace tapedeck::inspector
