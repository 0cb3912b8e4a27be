// A range of values as a user types it.
#pragma once

#include <QString>
#include <optional>

namespace tapedeck::inspector {

struct ValueRange {
  double low = 0, high = 0;
  bool operator==(const ValueRange&) const = default;
};

struct TypedRange {
  std::optional<ValueRange> range;
  QString error;  ///< a sentence; then there is no range
};

/// Reads "-1 … 2.5", "1e-6..1", "0, 5", "0 to 5", "±3"; nothing but spaces: no range.
TypedRange parseRange(const QString& text);

}  // namespace tapedeck::inspector
