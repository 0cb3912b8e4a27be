#include "inspector/model/tensor/number_format.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace tapedeck::inspector {

namespace {

QString unusual(double value) {
  if (std::isnan(value)) return QStringLiteral("nan");
  return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
}

template <class T>
QString shortest(T value) {
  char buffer[40];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
  return QString::fromLatin1(buffer, end - buffer);
}

}  // namespace

NumberFormat NumberFormat::choose(std::span<const double> values, const std::string& dtype, int digits) {
  if (dtype == "bool") return {Style::boolean, {}};
  if (dtype.starts_with("int") || dtype.starts_with("uint")) return {Style::integer, {}};
  return {Style::number, Notation::of(values, digits)};
}

QString NumberFormat::text(double value) const {
  if (style == Style::boolean && std::isfinite(value))
    return value != 0 ? QStringLiteral("True") : QStringLiteral("False");
  return notation.text(value);
}

int NumberFormat::widest(std::span<const double> values) const {
  // The longest texts are those of the outermost values and of those next to zero.
  double most = 0, least = 0, above = 0, below = 0;
  qsizetype widest = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) widest = std::max(widest, text(value).size());
    if (!std::isfinite(value) || value == 0) continue;
    most = std::max(most, value);
    least = std::min(least, value);
    double& inner = value > 0 ? above : below;
    if (inner == 0 || std::abs(value) < std::abs(inner)) inner = value;
  }
  for (const double value : {most, least, above, below}) widest = std::max(widest, text(value).size());
  return static_cast<int>(widest);
}

QString exactText(double value, const std::string& dtype) {
  if (!std::isfinite(value)) return unusual(value);
  if (dtype == "bool") return value != 0 ? QStringLiteral("True") : QStringLiteral("False");
  if (dtype.starts_with("int") || dtype.starts_with("uint")) return QString::number(value, 'f', 0);
  return dtype == "float64" ? shortest(value) : shortest(static_cast<float>(value));
}

}  // namespace tapedeck::inspector
