// Tensors assembled from rows of others.
#pragma once

#include <optional>

#include "engine/data/dataset.h"

namespace tapedeck::data {

/// Rows of one component, copied into the batch's memory as they arrive.
class StackedRows {
 public:
  /// Shape and dtype of the rows are those of `first`. `room`: rows that fit before it has to grow. `number`:
  /// the component's, for errors. TypeMismatchError for a data set.
  StackedRows(const Component& first, std::int64_t room, std::size_t number);
  /// InvalidArgumentError if shape or dtype differ from the first one's.
  void add(const Component& row, std::size_t number);
  /// The rows added so far: a tensor whose first extent is their number.
  Tensor finish();

 private:
  Shape with_rows(std::int64_t rows) const;
  void grow();
  DType dtype_;
  Shape row_shape_;
  std::size_t row_bytes_;
  std::int64_t room_, count_ = 0;
  Tensor rows_;
  std::vector<Tensor> sources_;  ///< of strings, whose bytes the batch shares
};

/// The rows of these numbers, each below the tensor's first extent.
Tensor gather_rows(const Tensor& tensor, std::span<const std::int64_t> rows);

/// The tensors stacked, each padded with `value` (0 if undefined) to `shape`: −1 is the longest of all, no
/// shape means −1 everywhere. InvalidArgumentError if one does not fit.
Tensor padded_stack(std::span<const Tensor> tensors, const std::optional<std::vector<std::int64_t>>& shape,
                    const Tensor& value, std::size_t component);

}  // namespace tapedeck::data
