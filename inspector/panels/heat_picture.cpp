#include "inspector/panels/heat_picture.h"

#include <algorithm>
#include <cmath>

namespace tapedeck::inspector {

HeatPicture heatPicture(const protocol::Tile& tile, const ColorMap& map) {
  HeatPicture picture;
  if (tile.rows <= 0 || tile.columns <= 0) return picture;
  picture.image = QImage(static_cast<int>(tile.columns), static_cast<int>(tile.rows), QImage::Format_RGB32);
  const double* value = tile.values.data();
  for (int row = 0; row < picture.image.height(); ++row) {
    auto* line = reinterpret_cast<QRgb*>(picture.image.scanLine(row));
    for (int column = 0; column < picture.image.width(); ++column) line[column] = map.color(*value++);
  }
  // The last cell of a row or column may stand for fewer elements than the others.
  picture.world = QRectF(static_cast<double>(tile.column), static_cast<double>(tile.row),
                         static_cast<double>(tile.columns * tile.column_step),
                         static_cast<double>(tile.rows * tile.row_step));
  return picture;
}

QSizeF ImageSheet::size() const {
  return {static_cast<double>(across * (grid.columns + 1) + 1), static_cast<double>(down() * pitch() + 1)};
}

QRectF ImageSheet::imageRect(std::int64_t image) const {
  return {static_cast<double>(image % across * (grid.columns + 1) + 1),
          static_cast<double>(image / across * pitch() + 1 + above), static_cast<double>(grid.columns),
          static_cast<double>(grid.rows)};
}

bool ImageSheet::pixelAt(QPointF world, std::int64_t& image, std::int64_t& row, std::int64_t& column) const {
  const auto x = static_cast<std::int64_t>(std::floor(world.x())),
             y = static_cast<std::int64_t>(std::floor(world.y()));
  if (x < 0 || y < 0 || x >= across * (grid.columns + 1) + 1) return false;
  image = y / pitch() * across + x / (grid.columns + 1);
  column = x % (grid.columns + 1) - 1;
  row = y % pitch() - 1 - above;
  return row >= 0 && column >= 0 && image < grid.count && x / (grid.columns + 1) < across;
}

ImageSheet ImageSheet::fitting(const ImageGrid& grid, QSizeF view) {
  const double proportion = view.isEmpty() ? 1.6 : view.width() / view.height();
  const double pixels = static_cast<double>(grid.rows + 1) / static_cast<double>(grid.columns + 1);
  const auto across =
      static_cast<std::int64_t>(std::sqrt(static_cast<double>(grid.count) * proportion * pixels) + 0.5);
  return {grid, std::clamp<std::int64_t>(across, 1, std::max<std::int64_t>(grid.count, 1)), 0};
}

namespace {

/// Channels from map.low() to map.high(); the fourth one covers `behind`.
QRgb channelColor(const double* value, std::int64_t channels, const ColorMap& map, QRgb behind) {
  double part[4] = {0, 0, 0, 1};
  const double width = map.high() - map.low();
  for (std::int64_t i = 0; i < channels; ++i) {
    if (!std::isfinite(value[i])) return map.color(value[i]);
    part[i] = width > 0 ? std::clamp((value[i] - map.low()) / width, 0.0, 1.0) : 0.5;
  }
  const auto mix = [&](double color, int back) {
    return static_cast<int>(255 * color * part[3] + back * (1 - part[3]) + 0.5);
  };
  return qRgb(mix(part[0], qRed(behind)), mix(part[1], qGreen(behind)), mix(part[2], qBlue(behind)));
}

}  // namespace

HeatPicture imagePicture(const ImageTile& tile, const ImageSheet& sheet, const ColorMap& map,
                         QRgb separator) {
  HeatPicture picture;
  if (tile.count <= 0) return picture;
  const std::int64_t first_row = tile.first / sheet.across,
                     last_row = (tile.first + tile.count - 1) / sheet.across;
  const std::int64_t height = (last_row - first_row + 1) * sheet.pitch() + 1;
  const auto width = static_cast<std::int64_t>(sheet.size().width());
  if (width > 16384 || height > 16384) return picture;  // past what graphics cards take
  picture.image = QImage(static_cast<int>(width), static_cast<int>(height), QImage::Format_RGB32);
  picture.image.fill(separator);
  const double top = static_cast<double>(first_row * sheet.pitch());
  const double* value = tile.values.data();
  const std::int64_t channels = sheet.grid.channels();
  for (std::int64_t image = tile.first; image < tile.first + tile.count; ++image) {
    const QPoint corner = sheet.imageRect(image).translated(0, -top).topLeft().toPoint();
    for (int row = 0; row < sheet.grid.rows; ++row) {
      auto* line = reinterpret_cast<QRgb*>(picture.image.scanLine(corner.y() + row)) + corner.x();
      for (int column = 0; column < sheet.grid.columns; ++column, value += channels)
        line[column] = sheet.grid.color ? channelColor(value, channels, map, separator) : map.color(*value);
    }
  }
  picture.world = QRectF(0, top, static_cast<double>(width), static_cast<double>(height));
  return picture;
}

}  // namespace tapedeck::inspector
