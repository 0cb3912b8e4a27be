#include "inspector/panels/tensor/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tapedeck::inspector {

namespace {

QString unusual(double value) {
  if (std::isnan(value)) return QStringLiteral("NaN");
  return value > 0 ? QStringLiteral("Inf") : QStringLiteral("-Inf");
}

template <class T>
QString shortest(T value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return QString::fromLatin1(buffer, end - buffer);
}

}  // namespace

NumberFormat NumberFormat::choose(std::span<const double> values, const std::string& dtype) {
  if (dtype == "bool") return {Style::boolean, 0};
  if (dtype.starts_with("int")) return {Style::integer, 0};
  double largest = 0, smallest = 0;
  bool whole = true;
  for (const double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    const double magnitude = std::abs(value);
    largest = std::max(largest, magnitude);
    smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
    whole = whole && value == std::floor(value);
  }
  if (whole && largest < 1e7) return {Style::fixed, 0};
  if (largest >= 1e6 || largest < 1e-3) return {Style::scientific, 4};
  if (largest >= 1000) return {Style::fixed, 2};
  if (largest >= 1) return {Style::fixed, 4};
  return {Style::fixed, 5};
}

QString NumberFormat::text(double value) const {
  if (!std::isfinite(value)) return unusual(value);
  switch (style) {
    case Style::integer:
      return QString::number(value, 'f', 0);
    case Style::boolean:
      return value != 0 ? QStringLiteral("True") : QStringLiteral("False");
    case Style::fixed:
      // What would read as zero, but is not, is written out.
      if (value != 0 && std::abs(value) < 0.5 * std::pow(10.0, -decimals))
        return QString::number(value, 'e', 1);
      return QString::number(value, 'f', decimals);
    case Style::scientific:
      break;
  }
  return QString::number(value, 'e', decimals);
}

QString exactText(double value, const std::string& dtype) {
  if (!std::isfinite(value)) return unusual(value);
  if (dtype == "bool") return value != 0 ? QStringLiteral("True") : QStringLiteral("False");
  if (dtype.starts_with("int")) return QString::number(value, 'f', 0);
  return dtype == "float64" ? shortest(value) : shortest(static_cast<float>(value));
}

}  // namespace tapedeck::inspector
