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
  bool operator==(const ImageGrid&) const = default;
};

struct Reshape {
  std::vector<std::int64_t> shape;  ///< empty with an empty text or in image mode: the tensor's own
  std::optional<ImageGrid> images;
  QString error;  ///< a sentence; then the rest is void
};

/// Reads "28x28x196", "28×28×196", "28, 28, 196", "(196, 28, 28)", "28 28 -1" (one axis may be -1); empty:
/// the tensor's own shape. A matrix with one axis of h·w elements given as "h,w" becomes images, by columns
/// first.
Reshape parseReshape(const QString& text, const std::vector<std::int64_t>& shape);

}  // namespace tapedeck::inspector
