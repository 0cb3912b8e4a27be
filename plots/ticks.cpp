#include "plots/ticks.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "inspector/model/tensor/notation.h"

namespace tapedeck::plots {

using inspector::Notation;

namespace {

constexpr int least_ticks = 3;  ///< fewer do not say what lies between them
/// Beyond it the two ends of a range would be further apart than a number can say.
constexpr double farthest = 7e307;

/// How many multiples of `step` the range has.
double countOf(Range range, double step) {
  return std::floor(range.to / step + 1e-9) - std::ceil(range.from / step - 1e-9) + 1;
}

/// The round step with most ticks, at most `most`; the roundest that has three of them first.
double chooseStep(Range range, int most) {
  const double power = std::pow(10.0, std::floor(std::log10(range.width() / most)));
  using Factors = std::initializer_list<double>;
  double fallback = 0;
  for (const Factors& factors : {Factors{1, 2, 5}, Factors{2.5, 4}, Factors{1.25, 1.5, 3, 6, 8}}) {
    for (const double scale : {power, power * 10}) {
      for (const double factor : factors) {
        const double count = countOf(range, factor * scale);
        if (count >= std::min(least_ticks, most) && count <= most) return factor * scale;
        if (count >= least_ticks) fallback = std::max(fallback, factor * scale);
      }
    }
  }
  return fallback > 0 ? fallback : range.width() / most;
}

double largestOf(const std::vector<Tick>& ticks) {
  double largest = 0;
  for (const Tick& tick : ticks) largest = std::max(largest, std::abs(tick.at));
  return largest;
}

/// Places at `mantissas` times powers of ten, in axis coordinates, with their values.
struct Places {
  std::vector<double> at, values;
};

Places placesOf(Range range, std::initializer_list<double> mantissas, int every) {
  Places places;
  // No number is beyond these.
  const int first = std::max(-323, static_cast<int>(std::floor(range.from)));
  const int last = std::min(308, static_cast<int>(std::ceil(range.to)));
  for (int power = first; power <= last; ++power) {
    if (power % every != 0) continue;
    for (const double mantissa : mantissas) {
      const double at = power + std::log10(mantissa);
      if (at < range.from - 1e-9 || at > range.to + 1e-9) continue;
      places.at.push_back(at);
      places.values.push_back(std::pow(10.0, power) * mantissa);
    }
  }
  return places;
}

/// On a log axis every number has its own decimals, but all are plain or none is.
std::vector<Tick> labelled(const Places& places, int mantissa_decimals) {
  std::vector<Tick> ticks;
  const Notation least = Notation::ofSteps(places.values.front(), places.values.front());
  const Notation most = Notation::ofSteps(places.values.back(), places.values.back());
  for (std::size_t i = 0; i < places.at.size(); ++i) {
    const double value = places.values[i];
    const Notation own = Notation::ofSteps(value, value);
    ticks.push_back({places.at[i], least.exponent || most.exponent
                                       ? Notation{true, mantissa_decimals}.text(value)
                                       : own.text(value)});
  }
  return ticks;
}

}  // namespace

std::vector<Tick> linearTicks(Range range, int most) {
  std::vector<Tick> ticks;
  if (!(range.width() > 0) || !std::isfinite(range.width()) || most < 1) return ticks;
  const double step = chooseStep(range, most);
  if (!(step > 0)) return ticks;
  const double first = std::ceil(range.from / step - 1e-9), count = countOf(range, step);
  for (int index = 0; index < count; ++index) ticks.push_back({(first + index) * step, {}});
  const Notation notation = Notation::ofSteps(largestOf(ticks), step);
  for (Tick& tick : ticks) tick.label = notation.text(tick.at);
  return ticks;
}

std::vector<Tick> logTicks(Range range, int most) {
  if (!(range.width() > 0) || !std::isfinite(range.width()) || most < 1) return {};
  const auto fits = [&](const Places& places) {
    return static_cast<int>(places.at.size()) >= std::min(least_ticks, most) &&
           static_cast<int>(places.at.size()) <= most;
  };
  // Of less than two decades 1, 2 and 5 of each; else whole decades, all or every second, third …
  if (range.width() < 2)
    if (const Places places = placesOf(range, {1, 2, 5}, 1); fits(places)) return labelled(places, 0);
  const int widest = static_cast<int>(std::ceil(range.width())) + 1;
  Places coarsest;
  for (int every = 1; every <= widest; ++every) {
    Places places = placesOf(range, {1}, every);
    if (fits(places)) return labelled(places, 0);
    if (static_cast<int>(places.at.size()) >= least_ticks) coarsest = std::move(places);
  }
  if (const Places places = placesOf(range, {1, 3}, 1); fits(places)) return labelled(places, 0);
  if (!coarsest.at.empty()) return labelled(coarsest, 0);
  // Of a part of a decade round values.
  std::vector<Tick> ticks;
  for (const Tick& tick : linearTicks({std::pow(10.0, range.from), std::pow(10.0, range.to)}, most))
    if (tick.at > 0) ticks.push_back({std::log10(tick.at), tick.label});
  return ticks;
}

Range padded(Range data) {
  if (!(data.to >= data.from) || !std::isfinite(data.from) || !std::isfinite(data.to)) return {0, 1};
  data = {std::clamp(data.from, -farthest, farthest), std::clamp(data.to, -farthest, farthest)};
  const double size = std::max(std::abs(data.from), std::abs(data.to));
  double margin = data.to / 25 - data.from / 25;
  // What differs in the last digits only is one value.
  if (margin <= size * 1e-14) margin = std::max(size * 0.1, 1e-300);
  if (size == 0) margin = 1;
  return {data.from - margin, data.to + margin};
}

}  // namespace tapedeck::plots
