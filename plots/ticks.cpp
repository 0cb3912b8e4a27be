#include "plots/ticks.h"

#include <algorithm>
#include <cmath>

namespace tapedeck::plots {

namespace {

/// 1, 2 or 5 times a power of ten, at least `least`.
double roundStep(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(least)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (power * factor >= least * (1 - 1e-9)) return power * factor;
  return power * 10;
}

/// All ticks of an axis with the digits that tell neighbours apart.
QString label(double value, double step) {
  if (std::abs(value) < step * 1e-6) return QStringLiteral("0");
  const double size = std::abs(value);
  const int digits = std::clamp(static_cast<int>(std::floor(std::log10(size / step) + 1e-9)) + 1, 1, 15);
  if (size >= 1e6 || size < 1e-4) return QString::number(value, 'g', std::max(digits, 1));
  const int decimals = std::clamp(-static_cast<int>(std::floor(std::log10(step) + 1e-9)), 0, 12);
  return QString::number(value, 'f', decimals);
}

}  // namespace

std::vector<Tick> linearTicks(Range range, int most) {
  std::vector<Tick> ticks;
  if (!(range.width() > 0) || !std::isfinite(range.width()) || most < 1) return ticks;
  const double step = roundStep(range.width() / most);
  const double first = std::ceil(range.from / step - 1e-9);
  for (int index = 0; index <= most; ++index) {
    const double at = (first + index) * step;
    if (at > range.to + step * 1e-9) break;
    ticks.push_back({at, label(at, step)});
  }
  return ticks;
}

std::vector<Tick> logTicks(Range range, int most) {
  std::vector<Tick> ticks;
  if (!(range.width() > 0) || !std::isfinite(range.width()) || most < 1) return ticks;
  if (range.width() < 0.5) {
    const Range values{std::pow(10.0, range.from), std::pow(10.0, range.to)};
    for (const Tick& tick : linearTicks(values, most))
      if (tick.at > 0) ticks.push_back({std::log10(tick.at), tick.label});
    return ticks;
  }
  const int first = static_cast<int>(std::floor(range.from)), last = static_cast<int>(std::ceil(range.to));
  const bool fine = range.width() < 2 && most >= 4;
  const int every = std::max(1, static_cast<int>(std::ceil((range.width() + 1) / most)));
  const auto add = [&](double at, double value) {
    if (at >= range.from - 1e-9 && at <= range.to + 1e-9)
      ticks.push_back({at, QString::number(value, 'g', 3)});
  };
  for (int power = first; power <= last; ++power) {
    if (!fine && ((power % every) + every) % every != 0) continue;
    for (const double factor : {1.0, 2.0, 5.0}) {
      add(power + std::log10(factor), std::pow(10.0, power) * factor);
      if (!fine) break;
    }
  }
  return ticks;
}

Range padded(Range data) {
  if (!(data.to >= data.from) || !std::isfinite(data.from) || !std::isfinite(data.to)) return {0, 1};
  double margin = data.width() * 0.04;
  if (margin == 0) margin = data.from == 0 ? 1 : std::abs(data.from) * 0.1;
  return {data.from - margin, data.to + margin};
}

}  // namespace tapedeck::plots
