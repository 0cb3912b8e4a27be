// The reshape box: text to a shape, checked against the tensor's.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

namespace tapedeck::inspector {

/// A matrix seen as images: every column (or row) of it is one image, stored row by row.
struct ImageGrid {
  std::int64_t rows = 0, columns = 0;  ///< of one image
  std::int64_t count = 0;
  bool alongColumns = true;  ///< image k is column k of the matrix; else row k
  /// Values that each place of the matrix' row or column has beside one another. `color`: they are a pixel's
  /// channels; else each is of an image of its own, and a row of the matrix has `depth` images.
  std::int64_t depth = 1;
  std::int64_t between = 1;  ///< of `depth`: how many of them lie between a row's values and a column's
  bool color = false;
  std::vector<std::int64_t> matrix = {};  ///< the shape that has those rows; empty: the tensor's own
  std::vector<std::int64_t> shape =
      {};  ///< whose axes rowAxis and columnAxis the images show; empty: the matrix
  int rowAxis = -1, columnAxis = -1, colorAxis = -1;
  bool operator==(const ImageGrid&) const = default;

  std::int64_t channels() const { return color ? depth : 1; }
  std::int64_t perImage() const { return rows * columns * channels(); }
  /// Images that come together, in one row of the matrix.
  std::int64_t together() const { return color || alongColumns ? 1 : depth; }
};

struct Reshape {
  std::vector<std::int64_t> shape = {};  ///< empty with an empty text or in image mode: the tensor's own
  std::optional<ImageGrid> images;
  QString error;  ///< a sentence; then the rest is void
};

/// Reads "28x28x196", "28×28×196", "28, 28, 196", "(196, 28, 28)", "28 28 -1" (one axis may be -1); empty:
/// the tensor's own shape. A matrix with one axis of h·w elements given as "h,w" becomes images, by columns
/// first.
Reshape parseReshape(const QString& text, const std::vector<std::int64_t>& shape);

}  // namespace tapedeck::inspector
