// A tile of values as a picture: one pixel for each cell.
#pragma once

#include <QImage>
#include <QRectF>

#include "inspector/model/tensor/tensor_model.h"
#include "inspector/ui/color_map.h"

namespace tapedeck::inspector {

struct HeatPicture {
  QImage image;  ///< null: nothing to show
  QRectF world;  ///< what it covers, in elements: x columns, y rows
};

HeatPicture heatPicture(const protocol::Tile& tile, const ColorMap& map);

/// The arrangement of images: `across` in a row, each with one cell of separator around it.
struct ImageSheet {
  ImageGrid grid;
  std::int64_t across = 1;
  std::int64_t above = 0;  ///< further cells above each image, for its name

  /// From one row of images to the next.
  std::int64_t pitch() const { return grid.rows + 1 + above; }
  std::int64_t down() const { return (grid.count + across - 1) / across; }
  QSizeF size() const;
  QRectF imageRect(std::int64_t image) const;
  /// The image and its pixel at a point; false between images.
  bool pixelAt(QPointF world, std::int64_t& image, std::int64_t& row, std::int64_t& column) const;
  /// The number across for which the sheet has about the proportions of the view.
  static ImageSheet fitting(const ImageGrid& grid, QSizeF view);
};

HeatPicture imagePicture(const ImageTile& tile, const ImageSheet& sheet, const ColorMap& map, QRgb separator);

}  // namespace tapedeck::inspector
