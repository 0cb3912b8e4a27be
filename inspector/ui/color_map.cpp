#include "inspector/ui/color_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace tapedeck::inspector {

namespace {

double toLinear(double channel) {
  return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double fromLinear(double channel) {
  return channel <= 0.0031308 ? channel * 12.92 : 1.055 * std::pow(channel, 1 / 2.4) - 0.055;
}

/// The most colourful up to `chroma` that sRGB has at this lightness and hue.
QRgb colorful(double lightness, double chroma, double degrees) {
  const double angle = degrees * std::numbers::pi / 180;
  double low = 0, high = chroma;
  QRgb best = *fromOkLab({lightness, 0, 0});
  for (int step = 0; step < 20; ++step) {
    const double middle = step ? (low + high) / 2 : high;
    const auto color = fromOkLab({lightness, middle * std::cos(angle), middle * std::sin(angle)});
    (color ? low : high) = middle;
    if (color) best = *color;
    if (color && !step) break;
  }
  return best;
}

using Table = std::array<QRgb, 256>;

Table sequentialTable() {
  Table table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double t = static_cast<double>(i) / 255;
    table[i] = colorful(0.24 + 0.69 * t, 0.09 + 0.07 * t, 300 - 195 * t);
  }
  return table;
}

Table divergingTable(bool dark) {
  Table table;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const double signed_t = (static_cast<double>(i) - 127.5) / 127.5;
    const double t = std::abs(signed_t);
    const double lightness = dark ? 0.27 + 0.58 * t : 0.97 - 0.55 * t;
    table[i] = colorful(lightness, 0.20 * std::pow(t, 0.8), signed_t < 0 ? 255 : 32);
  }
  return table;
}

}  // namespace

OkLab toOkLab(QRgb color) {
  const double r = toLinear(qRed(color) / 255.0), g = toLinear(qGreen(color) / 255.0),
               b = toLinear(qBlue(color) / 255.0);
  const double l = std::cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const double m = std::cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const double s = std::cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return {0.2104542553 * l + 0.7936177850 * m - 0.0040720468 * s,
          1.9779984951 * l - 2.4285922050 * m + 0.4505937099 * s,
          0.0259040371 * l + 0.7827717662 * m - 0.8086757660 * s};
}

std::optional<QRgb> fromOkLab(const OkLab& color) {
  const double l = std::pow(color.lightness + 0.3963377774 * color.a + 0.2158037573 * color.b, 3);
  const double m = std::pow(color.lightness - 0.1055613458 * color.a - 0.0638541728 * color.b, 3);
  const double s = std::pow(color.lightness - 0.0894841775 * color.a - 1.2914855480 * color.b, 3);
  const double channels[] = {4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                             -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                             -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s};
  int bytes[3];
  for (int i = 0; i < 3; ++i) {
    if (channels[i] < -1e-4 || channels[i] > 1 + 1e-4) return std::nullopt;
    bytes[i] = static_cast<int>(fromLinear(std::clamp(channels[i], 0.0, 1.0)) * 255 + 0.5);
  }
  return qRgb(bytes[0], bytes[1], bytes[2]);
}

ColorMap::ColorMap(double minimum, double maximum, ColorScale scale, bool dark) {
  static const Table sequential = sequentialTable();
  static const Table diverging_light = divergingTable(false), diverging_dark = divergingTable(true);
  constexpr double decades = 1e-6;  // of a logarithmic map from zero
  if (!std::isfinite(minimum) || !std::isfinite(maximum)) minimum = maximum = 0;
  const double farthest = std::max(std::abs(minimum), std::abs(maximum));
  const bool logarithmic = scale == ColorScale::logarithmic && farthest > 0;
  diverging_ = scale == ColorScale::diverging || (logarithmic && minimum < 0) ||
               (scale == ColorScale::automatic && minimum < 0 && maximum > 0);
  low_ = diverging_ ? -farthest : minimum;
  high_ = diverging_ ? farthest : maximum;
  if (logarithmic) {
    floor_ = minimum > 0 ? minimum : std::max(farthest * decades, std::numeric_limits<double>::min());
    if (!diverging_) low_ = floor_;
  }
  table_ = !diverging_ ? &sequential : dark ? &diverging_dark : &diverging_light;
}

double ColorMap::position(double value) const {
  double t = 0.5;
  if (logarithmic()) {
    const double size = std::abs(value), range = std::log(high_ / floor_);
    const double part = size <= floor_ ? 0 : range > 0 ? std::min(std::log(size / floor_) / range, 1.0) : 1;
    if (!diverging_)
      t = value <= floor_ ? (range > 0 ? 0 : 0.5) : range > 0 ? part : 0.5;
    else
      t = 0.5 + (value < 0 ? -part : part) / 2;
  } else if (const double width = high_ - low_; std::isinf(width)) {  // past the largest double
    t = value / 2 / (high_ / 2 - low_ / 2) - low_ / 2 / (high_ / 2 - low_ / 2);
  } else if (width > 0) {
    t = (value - low_) / width;
  }
  return std::clamp(t, 0.0, 1.0);
}

double ColorMap::valueAt(double position) const {
  if (!logarithmic()) return low_ * (1 - position) + high_ * position;
  if (!diverging_) return floor_ * std::pow(high_ / floor_, position);
  const double from_middle = 2 * position - 1;
  if (std::abs(from_middle) < 1e-9) return 0;
  const double size = floor_ * std::pow(high_ / floor_, std::abs(from_middle));
  return from_middle < 0 ? -size : size;
}

QRgb ColorMap::colorAt(double position) const {
  return (*table_)[static_cast<std::size_t>(std::clamp(position, 0.0, 1.0) * 255 + 0.5)];
}

QRgb ColorMap::color(double value) const {
  if (std::isnan(value)) return nan_color;
  if (std::isinf(value)) return value > 0 ? positive_infinity_color : negative_infinity_color;
  return colorAt(position(value));
}

}  // namespace tapedeck::inspector
