// What a quasi-Newton method says of itself: J. Nocedal, S. J. Wright, "Numerical Optimization", 2nd edition,
// section 7.2: a pair is of use where s·y > 0, rho = 1 / s·y, and a direction d goes down where d·g < 0.
#include <algorithm>
#include <cmath>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// Against the median of the pairs.
constexpr double huge_rho = 1e8;
/// Of the longest step.
constexpr double tiny_step = 1e-6;
constexpr std::size_t steps_in_a_row = 3;
/// By so much rho may differ from 1 / s·y: values that were rounded to float32 on the way.
constexpr double reciprocal_error = 1e-2;

/// "in 1 iteration of 5, first at step 3 (-0.5)".
std::string count_text(std::size_t count, const HealthPoints& points, const HealthPoint& first) {
  return "in " + counted(count, "iteration") + " of " + std::to_string(points.size()) + ", first at step " +
         std::to_string(first.step) + " (" + short_number(first.value) + ")";
}

/// The point of another quantity that was reported with the one at `i`: of the same step, and as often before
/// in it.
const HealthPoint* partner(const HealthPoints& points, std::size_t i, const HealthPoints& others) {
  std::size_t again = 0;
  while (again < i && points[i - again - 1].step == points[i].step) ++again;
  const auto found = std::ranges::lower_bound(others, points[i].step, {}, &HealthPoint::step);
  if (others.end() - found <= static_cast<std::ptrdiff_t>(again)) return nullptr;
  const auto at = found + static_cast<std::ptrdiff_t>(again);
  return at->step == points[i].step ? &*at : nullptr;
}

void numbers_that_are_none(const HealthCase& subject, Findings& found) {
  for (const char* quantity : {"s·y", "d·g", "step length"}) {
    const HealthPoints& points = curve_of(subject, quantity);
    const auto nan = [](const HealthPoint& point) { return std::isnan(point.value); };
    const auto first = std::ranges::find_if(points, nan);
    if (first == points.end()) continue;
    HealthFinding each = finding_at(subject, quantity, *first, "not finite", HealthSeverity::error);
    each.sentence = subject.text + ": " + quantity + " is NaN " +
                    count_text(static_cast<std::size_t>(std::ranges::count_if(points, nan)), points, *first) +
                    ".";
    report(found, std::move(each), "Look for the first NaN: Why (F7) on the values that it was made of.");
  }
}

void reciprocals(const HealthCase& subject, Findings& found) {
  const HealthPoints &points = curve_of(subject, "rho"), &products = curve_of(subject, "s·y");
  const HealthPoint *first = nullptr, *beside = nullptr;
  std::size_t wrong = 0, compared = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const HealthPoint* product = partner(points, i, products);
    if (!product || !std::isfinite(points[i].value) || !std::isfinite(product->value) || product->value == 0)
      continue;
    ++compared;
    if (std::abs(points[i].value * product->value - 1) <= reciprocal_error) continue;
    ++wrong;
    if (!first) first = &points[i], beside = product;
  }
  if (!first) return;
  HealthFinding each = finding_at(subject, "rho", *first, "rho not 1 / s·y", HealthSeverity::error);
  each.sentence = subject.text + ": rho is not 1 / s·y in " + counted(wrong, "iteration") + " of " +
                  std::to_string(compared) + ", first at step " + std::to_string(first->step) + ": rho is " +
                  short_number(first->value) + ", s·y " + short_number(beside->value) +
                  ", whose reciprocal is " + short_number(1 / beside->value) + ".";
  if (beside->value > 0 && first->value < 0)
    each.sentence += " The curvature is right (s·y > 0); rho has the wrong sign.";
  report(
      found, std::move(each),
      "Look at how rho is computed: from the same s and y, with the sign of their product. A pair with such "
      "a rho "
      "can turn the direction away from downhill.");
}

/// The quantity that the user reports of d·g, whichever way round he writes it.
const char* slope_name(const HealthCase& subject) {
  for (const char* name : {"d·g", "g·d"})
    if (!curve_of(subject, name).empty()) return name;
  return nullptr;
}

bool goes_up(const HealthPoint& point) {
  return point.value > 0;
}

void descent_directions(const HealthCase& subject, Findings& found) {
  const char* name = slope_name(subject);
  if (!name) return;
  const HealthPoints& points = curve_of(subject, name);
  const auto first = std::ranges::find_if(points, goes_up);
  if (first == points.end()) return;
  HealthFinding each = finding_at(subject, name, *first, "no descent direction", HealthSeverity::error);
  each.sentence =
      subject.text + ": the direction d is not a descent direction: " + name + " is positive " +
      count_text(static_cast<std::size_t>(std::ranges::count_if(points, goes_up)), points, *first) + ".";
  const auto i = static_cast<std::size_t>(first - points.begin());
  const HealthPoint* product = partner(points, i, curve_of(subject, "s·y"));
  if (product && product->value > 0)
    each.sentence +=
        " s·y is " + short_number(product->value) + " in that step, so the curvature is not the reason.";
  report(
      found, std::move(each),
      "Look at what d is made of: the sign of d = -H·g, the signs of rho and of the two loops. With pairs of "
      "s·y > 0 "
      "and rho = 1 / s·y the estimate H is positive, and d·g below 0.");
}

void curvature_of_pairs(const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, "s·y");
  const auto flat = [](const HealthPoint& point) { return point.value <= 0; };
  const auto bad = std::ranges::find_if(points, flat);
  if (bad == points.end()) return;
  HealthFinding each = finding_at(subject, "s·y", *bad, "s·y not positive", HealthSeverity::warning);
  each.sentence = subject.text + ": s·y is not positive " +
                  count_text(static_cast<std::size_t>(std::ranges::count_if(points, flat)), points, *bad) +
                  ".";
  const char* slope = slope_name(subject);
  const HealthPoints& slopes = curve_of(subject, slope ? slope : "d·g");
  const auto up = std::ranges::find_if(slopes, goes_up);
  if (up != slopes.end() && up->step <= bad->step)
    each.sentence += " The direction was not a descent direction at step " + std::to_string(up->step) +
                     " already: the steps since say little of the loss's curvature.";
  else
    each.sentence +=
        " Along s the gradient did not grow: the loss curves down there, or s and y are not of the same two "
        "points "
        "and the same batch. Such a pair spoils the estimate.";
  report(
      found, std::move(each),
      "A line search that satisfies the Wolfe conditions (line_search=\"strong_wolfe\") keeps s·y above 0; "
      "without one, skip such pairs.");
}

void size_of_rho(const HealthCase& subject, Findings& found) {
  const HealthPoints &points = curve_of(subject, "rho"), &curvatures = curve_of(subject, "curvature");
  if (points.size() < 4) return;
  const double usual = median_of(points, 0, points.size());
  const double curvature = median_of(curvatures, 0, curvatures.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(usual > 0 && points[i].value > huge_rho * usual)) continue;
    // Short steps alone make rho huge: s·y / s·s says whether the curvature is small too.
    const HealthPoint* here = partner(points, i, curvatures);
    if (here && here->value > curvature / huge_rho) continue;
    HealthFinding each = finding_at(subject, "rho", points[i], "rho huge",
                                    here ? HealthSeverity::warning : HealthSeverity::note);
    each.sentence = subject.text + ": rho is " + short_number(points[i].value) + " at step " +
                    std::to_string(points[i].step) + ", " + short_number(points[i].value / usual) +
                    " times the median of all";
    each.sentence +=
        here ? ", and the curvature s·y / s·s is " + short_number(here->value) + " there."
             : ": s·y is that much smaller. Whether the step was short, as where it converges, or the "
               "loss flat is not known: no \"curvature\" (s·y / s·s) was reported.";
    report(found, std::move(each), "Skip pairs whose s·y is below about 1e-10 of y·y.");
    return;
  }
}

void step_lengths(const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, "step length");
  if (points.size() < 2 * steps_in_a_row) return;
  double longest = 0;
  for (const HealthPoint& point : points)
    longest = std::max(longest, std::isfinite(point.value) ? point.value : 0);
  std::size_t first = points.size();
  while (first > 0 && points[first - 1].value <= tiny_step * longest) --first;
  if (points.size() - first < steps_in_a_row) return;
  double most = 0;
  for (std::size_t i = first; i < points.size(); ++i) most = std::max(most, points[i].value);
  HealthFinding each =
      finding_at(subject, "step length", points[first], "tiny steps", HealthSeverity::warning);
  each.sentence = subject.text + ": the last " + counted(points.size() - first, "step length") +
                  ", from step " + std::to_string(points[first].step) + " on, are at most " +
                  short_number(most) + "; the longest is " + short_number(longest) + ".";
  report(
      found, std::move(each),
      "It has converged as far as the dtype's digits go, or no shorter step goes down, because the gradient "
      "is not "
      "that of the loss: check it (Why), or use float64.");
}

}  // namespace

Findings quasi_newton_trouble(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    if (subject.kind != protocol::HealthKind::published) continue;
    numbers_that_are_none(subject, found);
    reciprocals(subject, found);
    descent_directions(subject, found);
    curvature_of_pairs(subject, found);
    size_of_rho(subject, found);
    step_lengths(subject, found);
  }
  return found;
}

}  // namespace tapedeck::debug
