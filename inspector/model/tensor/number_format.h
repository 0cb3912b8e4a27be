// Numbers as the grid writes them: all cells of a tensor alike, so that they can be compared by eye.
#pragma once

#include <string>

#include "inspector/model/tensor/notation.h"

namespace tapedeck::inspector {

/// By dtype: booleans by name, integers in full, others by one notation.
struct NumberFormat {
  enum class Style { integer, boolean, number };
  Style style = Style::number;
  Notation notation;

  static NumberFormat choose(std::span<const double> values, const std::string& dtype, int digits = 5);
  QString text(double value) const;
  /// Characters of the longest text among the values.
  int widest(std::span<const double> values) const;
  bool operator==(const NumberFormat&) const = default;
};

/// With all its digits: reading it back as that dtype gives the same value.
QString exactText(double value, const std::string& dtype);

}  // namespace tapedeck::inspector
