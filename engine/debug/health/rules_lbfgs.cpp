// What L-BFGS says of itself: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition, section 7.2: a
// pair is of use where s·y > 0, and rho = 1 / s·y.
#include <algorithm>
#include <cmath>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

using protocol::HealthFinding;
using protocol::HealthSeverity;
using namespace rules;

/// Against the median of the pairs.
constexpr double huge_rho = 1e8;
/// Of the longest step.
constexpr double tiny_step = 1e-6;
constexpr std::size_t steps_in_a_row = 3;

void curvature_of_pairs(const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, "s·y");
  const auto flat = [](const HealthPoint& point) { return !(point.value > 0); };
  const auto bad = std::ranges::find_if(points, flat);
  if (bad == points.end()) return;
  const auto first = static_cast<std::size_t>(bad - points.begin());
  HealthFinding each = finding(subject, "s·y", points, first, "s·y not positive", HealthSeverity::warning);
  each.before = each.since > 1 ? std::optional(each.since - 1) : std::nullopt;
  each.sentence = subject.text + ": s·y is not positive in " +
                  counted(static_cast<std::uint64_t>(std::ranges::count_if(points, flat)), "iteration") +
                  " of " + std::to_string(points.size()) + ", first at step " + std::to_string(bad->step) +
                  " (" + short_number(bad->value) +
                  "): the loss curves down there, and such a pair spoils the estimate of the curvature.";
  each.cure =
      "A line search that satisfies the Wolfe conditions (line_search=\"strong_wolfe\") keeps s·y above 0; "
      "without one, leave such pairs out.";
  found.push_back(std::move(each));
}

void size_of_rho(const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, "rho");
  if (points.size() < 4) return;
  const double usual = median_of(points, 0, points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(usual > 0 && points[i].value > huge_rho * usual)) continue;
    HealthFinding each = finding(subject, "rho", points, i, "rho huge", HealthSeverity::warning);
    each.before = each.since > 1 ? std::optional(each.since - 1) : std::nullopt;
    each.sentence = subject.text + ": rho = 1 / s·y is " + short_number(points[i].value) + " at step " +
                    std::to_string(points[i].step) + ", " + short_number(points[i].value / usual) +
                    " times the usual one: the step hardly changed the gradient.";
    each.cure = "Leave pairs out whose s·y is below about 1e-10 of y·y.";
    found.push_back(std::move(each));
    return;
  }
}

void step_lengths(const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, "step length");
  if (points.size() < 2 * steps_in_a_row) return;
  double longest = 0;
  for (const HealthPoint& point : points)
    longest = std::max(longest, std::isfinite(point.value) ? point.value : 0);
  const std::size_t first =
      trailing(points, [&](const HealthPoint& point) { return point.value <= tiny_step * longest; });
  if (points.size() - first < steps_in_a_row) return;
  HealthFinding each = finding(subject, "step length", points, first, "tiny steps", HealthSeverity::warning);
  each.before = each.since > 1 ? std::optional(each.since - 1) : std::nullopt;
  each.sentence = subject.text + ": the last " + counted(points.size() - first, "step") +
                  " were no longer than " + short_number(points[first].value) +
                  " of the direction, since step " + std::to_string(points[first].step) +
                  ": the line search finds no way down.";
  each.cure =
      "It has converged as far as the dtype's digits go, or the gradient is not that of the loss: check it "
      "(Why), or use float64.";
  found.push_back(std::move(each));
}

}  // namespace

Findings quasi_newton_trouble(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    if (subject.kind != protocol::HealthKind::published) continue;
    curvature_of_pairs(subject, found);
    size_of_rho(subject, found);
    step_lengths(subject, found);
  }
  return found;
}

}  // namespace tapedeck::debug
