#include "inspector/model/tensor/notation.h"

#include <algorithm>
#include <cmath>

#include "inspector/model/format.h"

namespace tapedeck::inspector {

namespace {

constexpr double plain_from = 1e-3, plain_below = 1e6;  ///< of the largest number; the one threshold
constexpr double whole_below = 1e9;

/// Of the first digit: 2 for 345, -3 for 0.0012.
int magnitude(double value) {
  return static_cast<int>(std::floor(std::log10(value) + 1e-12));
}

/// The decimals, at most `most`, that the value has when it is rounded to `most` of them.
int neededDecimals(double value, int most) {
  auto digits = static_cast<std::int64_t>(std::llround(std::abs(value) * std::pow(10.0, most)));
  int needed = most;
  for (; needed > 0 && digits % 10 == 0; --needed) digits /= 10;
  return needed;
}

}  // namespace

Notation Notation::of(std::span<const double> values, int digits) {
  double largest = 0, smallest = 0;
  bool whole = true;
  for (const double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    const double size = std::abs(value);
    largest = std::max(largest, size);
    smallest = smallest == 0 ? size : std::min(smallest, size);
    whole = whole && value == std::floor(value);
  }
  if (whole && largest < whole_below) return {false, 0};
  const Notation exponent{true, digits - 1};
  if (largest < plain_from || largest >= plain_below) return exponent;
  const int most = std::max(0, digits - 1 - magnitude(largest));
  if (smallest < std::pow(10.0, 1 - most) * (1 - 1e-9)) return exponent;
  int decimals = 0;
  for (const double value : values) {
    if (std::isfinite(value)) decimals = std::max(decimals, neededDecimals(value, most));
    if (decimals == most) break;
  }
  return {false, decimals};
}

Notation Notation::ofSteps(double largest, double step) {
  if (!(step > 0) || !(largest > 0)) return {};
  // As many as the step has: 1 for 0.5, 2 for 0.25.
  int decimals = -magnitude(step);
  for (int more = 0; more < 3; ++more, ++decimals) {
    const double digits = step * std::pow(10.0, decimals);
    if (std::abs(digits - std::round(digits)) < 1e-6 * digits) break;
  }
  if (largest < plain_from || largest >= plain_below)
    return {true, std::clamp(decimals + magnitude(largest), 0, 16)};
  return {false, std::clamp(decimals, 0, 17)};
}

QString Notation::text(double value) const {
  if (std::isnan(value)) return QStringLiteral("nan");
  if (std::isinf(value)) return value > 0 ? QStringLiteral("inf") : QStringLiteral("-inf");
  if (!exponent) {
    QString plain = QString::number(value, 'f', decimals);
    // A place on an axis beside zero is no negative zero.
    if (value != 0 && plain.toDouble() == 0 && plain.startsWith(QLatin1Char('-'))) plain.remove(0, 1);
    return plain;
  }
  if (value == 0) return std::signbit(value) ? QStringLiteral("-0") : QStringLiteral("0");
  return QString::number(value, 'e', decimals);
}

QString stepText(double step) {
  if (step != std::floor(step) || std::abs(step) > 1e15) return QString::number(step, 'g', 6);
  return (step < 0 ? QStringLiteral("-") : QString()) + countText(static_cast<quint64>(std::abs(step)));
}

}  // namespace tapedeck::inspector
