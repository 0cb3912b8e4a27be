// A rectangle of a tensor's values, as a view shows it.
#pragma once

#include <stdexcept>

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/tensor/tensor.h"

namespace tapedeck::debug {

/// An invalid request; the text names the values.
struct BadRequest : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The maximum number of cells of an answer: more than a window shows.
constexpr std::int64_t most_cells = 4'000'000;

/// A host's values as kernels read them: of complex numbers the magnitudes, of strings the numbers of bytes.
Tensor in_numbers(const Tensor& tensor);

/// Clips the rectangle to the slice; a cell that has a NaN is NaN. Throws BadRequest, Cancelled.
protocol::Tile make_tile(const Tensor& tensor, const protocol::GetTile& request,
                         const CancelFlag* cancel = nullptr);

}  // namespace tapedeck::debug
