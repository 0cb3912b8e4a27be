// Tensors of three to six axes as images side by side: which axes are images, which are colours, and which
// give the image's place.
#pragma once

#include <QString>
#include <array>

#include "inspector/model/tensor/reshape.h"

namespace tapedeck::inspector {

enum class PictureKind {
  automatic,  ///< images or filters where the shape looks like them, else a slice
  slice,      ///< two axes, at one index of each of the others
  tiles,      ///< two axes, at all indices of the others
  images,     ///< …, height, width, channels: in colours where there are three or four
  filters     ///< height, width, inputs, outputs
};

/// The kind that the shape alone suggests; never automatic.
PictureKind pictureOf(const std::vector<std::int64_t>& shape);

struct PictureLayout {
  std::optional<ImageGrid> grid;  ///< none: a slice
  QString problem;  ///< why this shape can't be shown in this way, a sentence; then there is no grid
};

/// `rowAxis`, `columnAxis`: those that tiles show.
PictureLayout layoutOf(PictureKind kind, const std::vector<std::int64_t>& shape, int rowAxis, int columnAxis);

/// How many one answer has at most, in whole rows of the matrix.
std::int64_t imagesAtOnce(const ImageGrid& grid);

/// One index per axis of grid.shape; of colours: that of the first.
std::vector<std::int64_t> elementOf(const ImageGrid& grid, std::int64_t image, std::int64_t row,
                                    std::int64_t column);
struct ImagePlace {
  std::int64_t image = 0, row = 0, column = 0;
};
/// Where an element is seen.
ImagePlace placeOf(const ImageGrid& grid, const std::vector<std::int64_t>& element);

/// "[3, 0, :, :]": what an image is of. Of a matrix' images "image 3".
QString imageText(const ImageGrid& grid, std::int64_t image);
/// "[3, 0, 5, 7]", in colours "[3, 5, 7, :]"; of a matrix' images "image 3 [5, 7]".
QString pixelText(const ImageGrid& grid, std::int64_t image, std::int64_t row, std::int64_t column);

}  // namespace tapedeck::inspector
