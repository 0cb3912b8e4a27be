// The VJP panel's text on a sum of gradients, and on a complete gradient.
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "inspector/model/tape/vjp_model.h"
#include "inspector/panels/vjp/vjp_layout.h"

namespace tapedeck::inspector {

/// A line of text, or a tensor with its values.
struct SumLine {
  QString words;  ///< of a tensor, what it is in the sum
  SheetTone tone = SheetTone::plain;
  std::optional<protocol::TensorInfo> tensor = std::nullopt;
};

/// Empty where the cursor is at neither.
std::vector<SumLine> sumLines(const VjpModel& model);

/// "The gradient is complete: it is result 1 of 2."
QString resultText(std::uint32_t place, std::uint32_t results);

/// "Sum of gradients of w"; of whose gradient is not known "Sum of gradients".
QString sumTitle(const protocol::GradientSum& sum);

}  // namespace tapedeck::inspector
