// Colours for numbers, even to the eye: equal steps of the value are equal steps of lightness in OKLab
// (Björn Ottosson, "A perceptual color space for image processing", 2020).
#pragma once

#include <QColor>
#include <QRgb>
#include <array>
#include <optional>

namespace tapedeck::inspector {

enum class ColorScale {
  automatic,   ///< diverging where there are values on both sides of zero
  sequential,  ///< from minimum to maximum, dark to bright
  diverging,   ///< blue below zero, red above; the middle is zero
  logarithmic  ///< equal steps are equal factors; with values below zero, diverging by their magnitudes
};

/// The mapping of values to colours.
class ColorMap {
 public:
  ColorMap() : ColorMap(0, 1, ColorScale::sequential, false) {}
  /// `dark`: the middle of a diverging map is dark, as the panel is. A logarithmic one from a minimum that is
  /// not above zero takes magnitudes below a millionth of the largest for zero.
  ColorMap(double minimum, double maximum, ColorScale scale, bool dark);

  QRgb color(double value) const;
  /// Where along the map a number is, from 0 to 1; what is outside of it is at an end.
  double position(double value) const;
  /// The number there, and its colour.
  double valueAt(double position) const;
  QRgb colorAt(double position) const;
  double low() const { return low_; }    ///< the value at the lower end
  double high() const { return high_; }  ///< at the upper end
  bool diverging() const { return diverging_; }
  bool logarithmic() const { return floor_ > 0; }
  /// The least magnitude that a logarithmic map distinguishes from zero.
  double floor() const { return floor_; }

  // Not on the map, and not told apart by colour alone: the legend and the cells name them.
  static constexpr QRgb nan_color = 0xFFFF2FD6;
  static constexpr QRgb positive_infinity_color = 0xFFFF9500;
  static constexpr QRgb negative_infinity_color = 0xFF00C2D1;

 private:
  double low_, high_;
  double floor_ = 0;
  bool diverging_;
  const std::array<QRgb, 256>* table_;
};

struct OkLab {
  double lightness = 0, a = 0, b = 0;
};
OkLab toOkLab(QRgb color);
/// Nothing where it lies outside of sRGB.
std::optional<QRgb> fromOkLab(const OkLab& color);

}  // namespace tapedeck::inspector
