// A learning rate that became too large. The rate itself need not be in the records: how far a step moves the
// variables, for each unit of their gradient, is.
#include <algorithm>
#include <cmath>
#include <map>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// This program's own limits.
constexpr double grown_rate = 3, loss_rise = 0.5, least_loss_fall = 0.01, fall_given_back = 0.3;
constexpr std::size_t least_rate_samples = 6, first_samples = 3;

/// Of one sampled step: medians over the variables.
struct RatePoint {
  std::uint64_t step = 0, record = 0;
  double per_gradient = 0, moved = 0;
};

std::vector<RatePoint> rates_of(const HealthCases& cases) {
  struct Sizes {
    std::uint64_t record = 0;
    std::vector<double> per_gradient, moved;
  };
  std::map<std::uint64_t, Sizes> steps;
  for (const HealthCase& subject : cases) {
    if (subject.kind != HealthKind::variable) continue;
    std::map<std::uint64_t, double> gradients, weights;
    for (const HealthPoint& point : curve_of(subject, quantity::gradient))
      gradients[point.step] = point.value;
    for (const HealthPoint& point : curve_of(subject, quantity::weight)) weights[point.step] = point.value;
    for (const HealthPoint& point : curve_of(subject, quantity::update)) {
      const auto gradient = gradients.find(point.step), weight = weights.find(point.step);
      if (gradient == gradients.end() || weight == weights.end()) continue;
      const double moved = point.value * weight->second;
      if (!(gradient->second > 0) || !(moved > 0) || !std::isfinite(moved)) continue;
      Sizes& sizes = steps[point.step];
      if (sizes.record == 0) sizes.record = point.record;
      sizes.per_gradient.push_back(moved / gradient->second);
      sizes.moved.push_back(moved);
    }
  }
  std::vector<RatePoint> found;
  for (auto& [step, sizes] : steps)
    found.push_back(
        {step, sizes.record, median(std::move(sizes.per_gradient)), median(std::move(sizes.moved))});
  return found;
}

/// Where a loss turned, and what became of it.
struct LossTurn {
  std::uint64_t step = 0;
  double lowest = 0, highest = 0;
};

std::optional<LossTurn> turn_of(const HealthCases& cases, const HealthPoints& losses) {
  if (losses.size() < least_rate_samples) return std::nullopt;
  std::size_t lowest = 0;
  for (std::size_t i = 1; i < losses.size(); ++i)
    if (losses[i].value <= losses[lowest].value) lowest = i;
  LossTurn turn{losses[lowest].step, losses[lowest].value, losses[lowest].value};
  for (std::size_t i = lowest; i < losses.size(); ++i) turn.highest = std::max(turn.highest, losses[i].value);
  const double begin = median_of(losses, 0, first_samples);
  const double late = newest_of(losses, std::max<std::size_t>(first_samples, losses.size() / 10));
  const bool rises = late > begin + loss_rise * std::abs(begin);
  const bool ends = cases.not_finite > 0 && losses.back().step < cases.last_sample();  // in NaN or infinity
  const double fall = begin - turn.lowest;
  const bool returns =
      fall > least_loss_fall * std::abs(begin) && late - turn.lowest > fall_given_back * fall;
  if (!rises && !returns && !(ends && turn.highest > turn.lowest)) return std::nullopt;
  return turn;
}

}  // namespace

Findings rates_too_large(const HealthCases& cases) {
  const std::vector<RatePoint> rates = rates_of(cases);
  if (!cases.sees_begin() || rates.size() < least_rate_samples) return {};
  std::vector<double> first, moved;
  for (std::size_t i = 0; i < first_samples; ++i) {
    first.push_back(rates[i].per_gradient);
    moved.push_back(rates[i].moved);
  }
  const double begin = median(std::move(first)), began_to_move = median(std::move(moved));
  return look_at_each(cases, [&](const HealthCase& loss) -> std::optional<HealthFinding> {
    if (loss.kind != HealthKind::loss || has_no_trend(cases, loss)) return std::nullopt;
    const auto turn = turn_of(cases, curve_of(loss, quantity::loss));
    if (!turn) return std::nullopt;
    // Adam and its like divide by the gradient: there only what they move says how large their rate is; of
    // gradient descent, only what they move for each unit of it. Where both grew it was the rate.
    const RatePoint* at = nullptr;
    double before = 0, farthest = 0;
    for (const RatePoint& point : rates) {
      if (point.step > turn->step) farthest = std::max(farthest, point.moved);
      if (point.step <= turn->step) before = point.per_gradient;
      if (!at && point.step >= turn->step && point.per_gradient > grown_rate * begin) at = &point;
    }
    if (!at || !(farthest > grown_rate * began_to_move)) return std::nullopt;
    HealthFinding each =
        finding_at(loss, quantity::loss, {at->step, at->record, 0}, "learning rate", HealthSeverity::error);
    if (at != &rates.front()) each.before = std::prev(rates.begin() + (at - rates.data()))->step;
    each.sentence = "The learning rate became too large at about step " + std::to_string(at->step) +
                    ": a step moves the variables by " + short_number(at->per_gradient) +
                    " times their gradient there, by " + short_number(begin) + " in the first samples (×" +
                    short_number(at->per_gradient / begin) + ")" +
                    (before > 0 && at->per_gradient > grown_rate * before
                         ? ", and by " + short_number(before) + " just before"
                         : std::string()) +
                    ". The loss, " + short_number(turn->lowest) + " at step " + std::to_string(turn->step) +
                    ", rises from there on to " + short_number(turn->highest) +
                    (cases.not_finite > 0 ? " and to what is not finite" : "") + sampled_text(cases) + ")" +
                    line_text(loss) + ".";
    // The step at which the loss turns comes after the one at which the rate passed what is stable.
    each.cure =
        "Keep it well below the rate of step " + std::to_string(turn->step) +
        ", or let its schedule fall from there on. What if? (on the updates from that step) shows the curve.";
    return each;
  });
}

}  // namespace tapedeck::debug
