// How the numbers of one view are written: one rule for all of them, so that they can be compared by eye.
#pragma once

#include <QString>
#include <span>

namespace tapedeck::inspector {

/// All numbers of a view plain and with the same decimals ("0.031", "0.250"), or all with an exponent and the
/// same digits ("3.1e-02", "2.5e-01"); never one beside the other.
struct Notation {
  bool exponent = false;
  int decimals = 0;  ///< after the point; with an exponent: of the mantissa

  /// For values shown side by side. Plain where the largest is in [0.001, 1,000,000) and the
  /// smallest (but zero) still shows two digits in the decimals that give the largest `digits` of them; fewer
  /// decimals where all values need fewer. Whole numbers are written out below 10⁹. Values that are not
  /// finite are ignored.
  static Notation of(std::span<const double> values, int digits);
  /// For places on an axis: round numbers, multiples of `step`, the farthest from zero is `largest`.
  static Notation ofSteps(double largest, double step);

  /// "0.250", "2.5e-01", "nan", "inf", "-inf"; zero is "0" among numbers with an exponent.
  QString text(double value) const;
  bool operator==(const Notation&) const = default;
};

/// A training step, or any other counter of the user: whole ones in full ("1,234,567"), others with 6 digits.
QString stepText(double step);

}  // namespace tapedeck::inspector
