// Where a loss goes over a run.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

constexpr std::size_t least_losses = 20, least_window = 3;
/// Differences below that share of the largest loss of any run are rounding (float32's half unit is 6e-8).
constexpr double rounding_share = 1e-6;
/// This program's own limits: what does not fall by 1 % has not fallen; what rises by half of its size rises,
/// and so does what gives back 30 % of what it fell.
constexpr double least_fall = 0.01, large_rise = 0.5, given_back = 0.3;

/// Medians of windows of samples, so that single batches say nothing.
struct LossTrend {
  std::size_t window = 0, first_window = 0;
  double start = 0, late = 0, lowest = 0;
  std::size_t lowest_at = 0;  ///< the middle sample of the lowest window
  double noise = 0;           ///< median difference of two samples in a row
};

LossTrend trend_of(const HealthPoints& points) {
  LossTrend trend;
  trend.window = std::max(least_window, points.size() / 10);
  // A loss that falls at once is seen in the first few samples alone.
  trend.start = median_of(points, 0, trend.window);
  const double begin = median_of(points, 0, least_window);
  trend.first_window = begin > trend.start ? least_window : trend.window;
  trend.start = std::max(begin, trend.start);
  trend.late = median_of(points, points.size() - trend.window, points.size());
  trend.lowest = HUGE_VAL;
  for (std::size_t i = 0; i + trend.window <= points.size(); ++i) {
    const double here = median_of(points, i, i + trend.window);
    if (!(here < trend.lowest)) continue;
    trend.lowest = here;
    trend.lowest_at = i + trend.window / 2;
  }
  std::vector<double> differences;
  for (std::size_t i = 1; i < points.size(); ++i)
    differences.push_back(std::abs(points[i].value - points[i - 1].value));
  trend.noise = median(std::move(differences));
  return trend;
}

std::string window_text(double value, const char* which, std::size_t window) {
  return "about " + short_number(value) + " in the " + which + " " + std::to_string(window) + " samples";
}

/// The loss in words where it gives reason to: nothing where it falls.
std::optional<HealthFinding> look_at_loss(const HealthCases& cases, const HealthCase& subject) {
  const HealthPoints& points = curve_of(subject, quantity::loss);
  if (points.size() < least_losses) return std::nullopt;
  const LossTrend trend = trend_of(points);
  double largest = subject.largest_loss;
  for (const HealthPoint& point : points) largest = std::max(largest, std::abs(point.value));
  const double rounding = rounding_share * largest;
  const bool rises = trend.late > trend.start + std::max(large_rise * std::abs(trend.start), rounding);
  const std::string sampled = sampled_text(cases) +
                              (points.back().step < cases.last_sample()
                                   ? "; these are finite up to step " + std::to_string(points.back().step)
                                   : std::string()) +
                              ")" + line_text(subject) + ".";
  const std::string ends = window_text(trend.start, "first", trend.first_window) + " and " +
                           window_text(trend.late, "last", trend.window);
  if (!cases.sees_begin()) {
    if (!rises) return std::nullopt;
    HealthFinding each =
        finding_at(subject, quantity::loss, points[trend.lowest_at], "loss", HealthSeverity::note);
    each.sentence = "The loss is " + ends + ", steps " + std::to_string(points.front().step) + " to " +
                    std::to_string(points.back().step) +
                    ". Earlier losses were not sampled: if they were much larger, this is not a rise" +
                    sampled;
    each.cure = "Sample more steps (M), or run it again with Health open from the beginning.";
    return each;
  }
  const double fall = trend.start - trend.lowest, back = trend.late - trend.lowest;
  const bool returns = fall > std::max({3 * trend.noise, least_fall * std::abs(trend.start), rounding}) &&
                       back > std::max({given_back * fall, 3 * trend.noise, rounding});
  const bool stays = trend.late > trend.start - least_fall * std::abs(trend.start);
  if (!rises && !returns)
    if (auto chance = loss_at_chance(cases, subject)) return chance;
  if (!rises && !returns && !stays) return std::nullopt;
  if (!rises && largest > 0 && std::abs(trend.start) <= rounding)
    return std::nullopt;  // there is nothing to fall
  const std::size_t at = rises || returns ? trend.lowest_at : 0;
  HealthFinding each = finding_at(subject, quantity::loss, points[at], "loss",
                                  rises ? HealthSeverity::error : HealthSeverity::warning);
  const std::string lowest = "; its lowest is about " + short_number(trend.lowest) + ", near step " +
                             std::to_string(points[trend.lowest_at].step);
  each.sentence = std::string("The loss ") +
                  (rises     ? "rises"
                   : returns ? "falls and rises again"
                             : "does not fall") +
                  ": it is " + ends + (rises || returns ? lowest : std::string()) + sampled;
  const char* const subtraction = is_in_torch(cases) ? "sub_" : "assign_sub";
  each.cure =
      rises || returns
          ? std::string("A smaller learning rate, or one that falls; does the update go downhill (") +
                subtraction + " of the gradient)? Look at the steps after the lowest."
          : "The other findings may say why; else another learning rate, or labels that do not belong to "
            "the inputs. The samples of the loss alone do not tell which.";
  std::uint64_t update = 0;
  const std::string uphill = uphill_text(cases, update);
  if (uphill.empty()) return each;
  // What is at most 0 and climbs on purpose: a likelihood, say.
  const bool meant = std::ranges::all_of(points, [](const HealthPoint& point) { return point.value <= 0; });
  if (meant && trend.late > trend.start) return std::nullopt;
  if (rises) {
    each.record = update;
    each.sentence += uphill;
    each.cure = std::string("Subtract the gradient (") + subtraction +
                "), or minimise the negative of the quantity that should grow.";
  }
  return each;
}

}  // namespace

bool has_no_trend(const HealthCases& cases, const HealthCase& loss) {
  const HealthPoints& points = curve_of(loss, quantity::loss);
  if (points.empty()) return false;
  for (const HealthCase& other : cases) {
    if (other.kind != HealthKind::loss || other.subject == loss.subject) continue;
    const HealthPoints& theirs = curve_of(other, quantity::loss);
    if (theirs.empty()) continue;
    if (theirs.front().step <= points.back().step && points.front().step <= theirs.back().step) return true;
  }
  // One line that trains several networks: what it is asked for has nothing in common from step to step.
  std::vector<std::set<std::string>> asked;
  for (const StepFacts& step : cases.program.steps) {
    std::set<std::string> names;
    for (const SourceFact& source : step.sources)
      if (source.place.line == loss.line) names.insert(source.name);
    if (!names.empty()) asked.push_back(std::move(names));
  }
  for (const std::set<std::string>& names : asked)
    if (std::ranges::none_of(names, [&](const std::string& name) { return asked.front().contains(name); }))
      return true;
  return false;
}

Findings losses_that_do_not_fall(const HealthCases& cases) {
  return look_at_each(cases, [&](const HealthCase& subject) -> std::optional<HealthFinding> {
    if (subject.kind != HealthKind::loss || has_no_trend(cases, subject)) return std::nullopt;
    return look_at_loss(cases, subject);
  });
}

}  // namespace tapedeck::debug
