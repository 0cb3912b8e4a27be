// Mouse and keys of the heat map: pan, zoom, and what is under the pointer.
#include <algorithm>
#include <cmath>

#include "inspector/panels/tensor/heat_pane.h"

namespace tapedeck::inspector {

namespace {

constexpr double least_visible = 60;  ///< pixels of the picture that stay in sight
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

bool HeatPane::key(QKeyEvent* event) {
  QPointF by;
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal:
      zoom(1.25, plot().center());
      return true;
    case Qt::Key_Minus:
      zoom(0.8, plot().center());
      return true;
    case Qt::Key_F:
      fit();
      askForValues(area_);
      changed_();
      return true;
    case Qt::Key_Left:
      by = {key_pan, 0};
      break;
    case Qt::Key_Right:
      by = {-key_pan, 0};
      break;
    case Qt::Key_Up:
      by = {0, key_pan};
      break;
    case Qt::Key_Down:
      by = {0, -key_pan};
      break;
    default:
      return false;
  }
  offset_ += by;
  fitted_ = false;
  keepInside();
  askForValues(area_);
  changed_();
  return true;
}

QString HeatPane::readout() const {
  if (!hovering_) return {};
  const QPointF world = toWorld(last_);
  if (const std::optional<ImageGrid> images = model_->images()) {
    std::int64_t image = 0, row = 0, column = 0;
    if (!sheet_.pixelAt(world, image, row, column)) return {};
    const QString place = QStringLiteral("image %1 [%2, %3]").arg(image).arg(row).arg(column);
    const ImageTile* tile = model_->imageTile();
    if (!tile || image < tile->first || image >= tile->first + tile->count) return place;
    const auto index =
        static_cast<std::size_t>(((image - tile->first) * images->rows + row) * images->columns + column);
    return place + QStringLiteral(" = ") + readout_format_.text(tile->values[index]);
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
         QStringLiteral(" mean ") + readout_format_.text(*value);
}

}  // namespace tapedeck::inspector
