// Numbers as the grid writes them: all cells of a tensor alike, so that they can be compared by eye.
#pragma once

#include <QString>
#include <span>
#include <string>

namespace tapedeck::inspector {

struct NumberFormat {
  enum class Style { integer, boolean, fixed, scientific };
  Style style = Style::integer;
  int decimals = 0;

  /// Chosen by what is visible: fixed decimals where magnitudes are alike, else scientific.
  static NumberFormat choose(std::span<const double> values, const std::string& dtype);
  QString text(double value) const;
  bool operator==(const NumberFormat&) const = default;
};

/// With all its digits: reading it back as that dtype gives the same value.
QString exactText(double value, const std::string& dtype);

}  // namespace tapedeck::inspector
