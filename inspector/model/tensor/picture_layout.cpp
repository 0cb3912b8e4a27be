#include "inspector/model/tensor/picture_layout.h"

#include <QStringList>
#include <functional>
#include <numeric>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

using AxisSizes = std::vector<std::int64_t>;

constexpr std::int64_t most_image_values = 262'144;  ///< of one image, and of those that come together
constexpr std::int64_t largest_filter = 11, smallest_image = 4, smallest_single_image = 8;

std::int64_t product(const AxisSizes& shape, std::size_t begin, std::size_t end) {
  std::int64_t all = 1;
  for (std::size_t axis = begin; axis < end; ++axis) all *= shape[axis];
  return all;
}

bool isColors(std::int64_t channels) {
  return channels == 3 || channels == 4;
}

/// The two axes as images, one for each index of the others.
ImageGrid gridOf(const AxisSizes& shape, int rowAxis, int columnAxis) {
  const auto row = static_cast<std::size_t>(rowAxis), column = static_cast<std::size_t>(columnAxis);
  const std::int64_t before = product(shape, 0, row), between = product(shape, row + 1, column),
                     behind = product(shape, column + 1, shape.size());
  ImageGrid grid;
  grid.shape = shape;
  grid.rowAxis = rowAxis;
  grid.columnAxis = columnAxis;
  grid.rows = shape[row];
  grid.columns = shape[column];
  grid.count = before * between * behind;
  grid.alongColumns = before == 1 && between == 1 && behind > 1;
  if (grid.alongColumns) {
    grid.matrix = {grid.rows * grid.columns, behind};
  } else {
    grid.depth = between * behind;
    grid.between = std::max<std::int64_t>(1, between);
    grid.matrix = {before, grid.rows * grid.columns * grid.depth};
  }
  return grid;
}

/// The axis behind the columns is a pixel's channels.
void useColors(ImageGrid& grid) {
  const auto axis = static_cast<std::size_t>(grid.rowAxis) + 2;
  const std::int64_t channels = grid.shape[axis];
  grid.color = true;
  grid.colorAxis = static_cast<int>(axis);
  grid.count /= channels;
  if (grid.alongColumns) {
    grid.matrix = {grid.rows * grid.columns * channels, grid.count};
    grid.alongColumns = grid.count > 1;
    if (!grid.alongColumns) std::swap(grid.matrix[0], grid.matrix[1]);
  }
  grid.depth = channels;
}

PictureLayout checked(ImageGrid grid) {
  const std::int64_t values = grid.rows * grid.columns * grid.depth;
  if (grid.count < 1 || grid.rows < 1 || grid.columns < 1)
    return {{}, QStringLiteral("A tensor without elements has no images.")};
  if (values > most_image_values)
    return {{},
            (grid.together() == 1
                 ? QStringLiteral("%1 values are too many for one image: at most %2.")
                 : QStringLiteral("%1 values of images that lie within each other are too many: at most %2."))
                .arg(countText(static_cast<quint64>(values)), countText(most_image_values))};
  return {std::move(grid), {}};
}

}  // namespace

PictureKind pictureOf(const std::vector<std::int64_t>& shape) {
  const auto odd = [](std::int64_t size) { return size > 1 && size <= largest_filter && size % 2 == 1; };
  if (shape.size() == 3)
    return isColors(shape[2]) && shape[0] >= smallest_single_image && shape[1] >= smallest_single_image
               ? PictureKind::images
               : PictureKind::slice;
  if (shape.size() != 4) return PictureKind::slice;
  const bool filter = shape[0] == shape[1] && odd(shape[0]) && shape[1] != shape[2];
  const bool channels = shape[3] == 1 || isColors(shape[3]);
  if (channels && shape[1] >= smallest_image && shape[2] >= smallest_image && !filter)
    return PictureKind::images;
  return filter ? PictureKind::filters : PictureKind::slice;
}

PictureLayout layoutOf(PictureKind kind, const std::vector<std::int64_t>& shape, int rowAxis,
                       int columnAxis) {
  const int rank = static_cast<int>(shape.size());
  if (kind == PictureKind::automatic) kind = pictureOf(shape);
  switch (kind) {
    case PictureKind::automatic:
    case PictureKind::slice:
      return {};
    case PictureKind::tiles:
      if (rank < 3 || rank > 6)
        return {{}, QStringLiteral("Tiles need three to six axes, this shape has %1.").arg(rank)};
      if (rowAxis < 0 || columnAxis <= rowAxis)
        return {{}, QStringLiteral("Tiles need an axis of rows and one of columns.")};
      return checked(gridOf(shape, rowAxis, columnAxis));
    case PictureKind::images: {
      if (rank < 3 || rank > 6)
        return {{},
                QStringLiteral("Images need an axis of channels behind height and width: three to six axes, "
                               "this shape has %1.")
                    .arg(rank)};
      ImageGrid grid = gridOf(shape, rank - 3, rank - 2);
      if (isColors(shape.back())) useColors(grid);
      return checked(std::move(grid));
    }
    case PictureKind::filters: {
      if (rank != 4)
        return {{},
                QStringLiteral("Filters have four axes: height, width, inputs, outputs; this shape has %1.")
                    .arg(rank)};
      ImageGrid grid = gridOf(shape, 0, 1);
      if (shape[2] == 3) useColors(grid);
      return checked(std::move(grid));
    }
  }
  return {};
}

std::int64_t imagesAtOnce(const ImageGrid& grid) {
  return std::max<std::int64_t>(
             1, most_image_values / std::max<std::int64_t>(1, grid.perImage() * grid.together())) *
         grid.together();
}

std::vector<std::int64_t> elementOf(const ImageGrid& grid, std::int64_t image, std::int64_t row,
                                    std::int64_t column) {
  AxisSizes element(grid.shape.size(), 0);
  for (int axis = static_cast<int>(element.size()); axis-- > 0;) {
    const auto at = static_cast<std::size_t>(axis);
    if (axis == grid.rowAxis) {
      element[at] = row;
    } else if (axis == grid.columnAxis) {
      element[at] = column;
    } else if (axis != grid.colorAxis && grid.shape[at] > 0) {
      element[at] = image % grid.shape[at];
      image /= grid.shape[at];
    }
  }
  return element;
}

ImagePlace placeOf(const ImageGrid& grid, const std::vector<std::int64_t>& element) {
  ImagePlace place;
  for (int axis = 0; axis < static_cast<int>(element.size()); ++axis) {
    const auto at = static_cast<std::size_t>(axis);
    if (axis == grid.rowAxis)
      place.row = element[at];
    else if (axis == grid.columnAxis)
      place.column = element[at];
    else if (axis != grid.colorAxis)
      place.image = place.image * grid.shape[at] + element[at];
  }
  return place;
}

namespace {

QString indicesText(const ImageGrid& grid, const AxisSizes& element, bool pixel) {
  QStringList parts;
  for (int axis = 0; axis < static_cast<int>(element.size()); ++axis) {
    const bool shown = axis == grid.rowAxis || axis == grid.columnAxis;
    parts << (axis == grid.colorAxis || (shown && !pixel)
                  ? QStringLiteral(":")
                  : QString::number(element[static_cast<std::size_t>(axis)]));
  }
  return QLatin1Char('[') + parts.join(QStringLiteral(", ")) + QLatin1Char(']');
}

}  // namespace

QString imageText(const ImageGrid& grid, std::int64_t image) {
  if (grid.shape.empty()) return QStringLiteral("image %1").arg(image);
  return indicesText(grid, elementOf(grid, image, 0, 0), false);
}

QString pixelText(const ImageGrid& grid, std::int64_t image, std::int64_t row, std::int64_t column) {
  if (grid.shape.empty()) return QStringLiteral("image %1 [%2, %3]").arg(image).arg(row).arg(column);
  return indicesText(grid, elementOf(grid, image, row, column), true);
}

}  // namespace tapedeck::inspector
