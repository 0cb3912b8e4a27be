// Sizes of gradients and of updates, and in how many directions a gradient goes.
#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// Gradients of two layers per element: beyond that the same learning rate can hardly serve both (this
/// program's own limit; float32 has 7 digits).
constexpr double vanishing_share = 1e-4;
/// Below float32's rounding of the largest, where a weight nearer to the input gets more, it is no depth that
/// takes the gradient: its sum is 0 by itself, as of a key's bias, which moves all scores of a row alike.
constexpr double rounding_of_gradient = 1e-7;
/// Against what was usual before.
constexpr double explosion = 100;
constexpr std::size_t least_before = 3, most_before = 50;
/// Gradients of that many times their weight's norm, or of a square beyond float32, explode from the start.
constexpr double gradient_over_weight = 1e6, float_square_root = 1.8e19;
/// "Roughly it should be somewhere on the 1e-3" (CS231n notes, "Neural networks 3"): findings start two
/// orders of magnitude above it and three below.
constexpr double largest_update = 1e-1, smallest_update = 1e-6;
constexpr std::size_t least_updates = 3;
/// Of an effective rank that was at least `usual_rank` once.
constexpr double collapsed_rank = 1.5, usual_rank = 3;
/// A gradient that fell so far since the run began is that of a run that comes to its end.
constexpr double converged_share = 1e-3;

bool gradient_fell(const HealthCase& subject) {
  const HealthPoints& points = curve_of(subject, quantity::gradient);
  return newest_quarter_of(points) < converged_share * oldest_quarter_of(points);
}

/// A gradient that is far beyond those before it, or beyond its weight.
struct Explosion {
  const HealthCase* subject = nullptr;
  std::size_t at = 0, before = 0;  ///< of the gradient's samples: which, and how many before it are compared
  double value = 0, usual = 0, weight = 0;
  bool grew = false, exceeds = false;  ///< against those before, against its weight
  const HealthPoint& point() const { return curve_of(*subject, quantity::gradient)[at]; }
  bool overflows() const { return value > float_square_root; }
  double times() const { return grew ? value / usual : exceeds ? value / weight : 0; }
};

/// The first one of the subject.
std::optional<Explosion> explosion_of(const HealthCase& subject) {
  const HealthPoints &points = curve_of(subject, quantity::gradient),
                     &weights = curve_of(subject, quantity::weight);
  Explosion found{&subject};
  found.weight = median_of(weights, 0, std::min<std::size_t>(weights.size(), 5));
  for (std::size_t i = 0; i < points.size(); ++i) {
    found.at = i;
    found.before = std::min(i, most_before);
    found.value = points[i].value;
    found.usual = i < least_before ? std::nan("") : median_of(points, i - found.before, i);
    found.grew = found.value > 1 && found.usual > 0 && found.value > explosion * found.usual;
    found.exceeds = found.weight > 0 && found.value > gradient_over_weight * found.weight;
    if (found.grew || found.exceeds || found.overflows()) return found;
  }
  return std::nullopt;
}

std::string explosion_text(const HealthCases& cases, const Explosion& one) {
  const std::string& name = one.subject->text;
  std::string text = name + ": its gradient's norm is " + short_number(one.value) + " at step " +
                     std::to_string(one.point().step);
  if (one.grew)
    text += ", " + short_number(one.times()) + " times the median of the " + std::to_string(one.before) +
            " samples before";
  else if (one.exceeds)
    text += ", " + short_number(one.times()) + " times the norm of " + name + " itself";
  if (one.overflows()) text += "; its square is beyond float32";
  if (one.at == 0 && cases.first_sample() == one.point().step && !cases.sees_begin())
    text += "; no earlier step was sampled";
  return text + line_text(*one.subject) + ".";
}

}  // namespace

Findings vanishing_gradients(const HealthCases& cases) {
  const HealthCase* largest = nullptr;
  double most = 0;
  const auto usual = [](const HealthCase& subject) {
    return newest_quarter_of(curve_of(subject, quantity::gradient)) / std::sqrt(elements_of(subject));
  };
  for (const HealthCase& subject : cases) {
    if (!is_weight(subject) || !(usual(subject) > most)) continue;
    most = usual(subject);
    largest = &subject;
  }
  if (!largest) return {};
  return look_at_each(cases, [&](const HealthCase& subject) -> std::optional<HealthFinding> {
    const double here = usual(subject), limit = vanishing_share * most;
    if (!is_weight(subject) || !(here > 0 && here < limit)) return std::nullopt;
    const bool before_gets_more = std::any_of(cases.all.data(), &subject, [&](const HealthCase& each) {
      return is_weight(each) && usual(each) >= limit;
    });
    if (here < rounding_of_gradient * most && before_gets_more) return std::nullopt;
    const double scale = std::sqrt(elements_of(subject));
    // Adam and its like divide by the gradient's own size: then it moves as much as the others.
    const double moves = newest_quarter_of(curve_of(subject, quantity::update)),
                 others = newest_quarter_of(curve_of(*largest, quantity::update));
    const bool made_up = moves > 0 && moves > 0.01 * others;
    auto each = lasting_finding(cases, subject, quantity::gradient, "vanishing gradient",
                                made_up ? HealthSeverity::note : HealthSeverity::warning,
                                [&](double value) { return value / scale < 2 * limit; });
    if (!each) return std::nullopt;
    std::string& sentence = each->finding.sentence;
    sentence = subject.text + ": an element of its gradient is about " + short_number(here) + ", one of " +
               largest->text + "'s " + short_number(most) + each->where;
    if (made_up)
      sentence += ". The optimiser compensates for it: a step changes it by about " + short_number(moves) +
                  " of its size, " + largest->text + " by " + short_number(others);
    else if (moves >= 0 && others > 0)
      sentence += ". A step changes it by about " + short_number(moves) + " of its size, " + largest->text +
                  " by " + short_number(others);
    sentence += ".";
    each->finding.cure =
        "Initialisation that fits the activation (Glorot, He), relu in place of sigmoid or tanh, "
        "normalisation, or shortcut connections.";
    return each->finding;
  });
}

// One finding: where one gradient explodes, the others do in that step or soon.
Findings exploding_gradients(const HealthCases& cases) {
  std::vector<Explosion> all;
  for (const HealthCase& subject : cases)
    if (subject.kind == HealthKind::variable)
      if (const auto one = explosion_of(subject)) all.push_back(*one);
  if (all.empty()) return {};
  std::ranges::stable_sort(all, [](const Explosion& a, const Explosion& b) {
    const std::uint64_t left = a.point().step, right = b.point().step;
    return left != right ? left < right : a.times() > b.times();
  });
  const Explosion& first = all.front();
  const bool overflows = std::ranges::any_of(all, &Explosion::overflows);
  HealthFinding each = finding_at(*first.subject, quantity::gradient, first.point(), "exploding gradient",
                                  overflows ? HealthSeverity::error : HealthSeverity::warning);
  if (first.at > 0) each.before = curve_of(*first.subject, quantity::gradient)[first.at - 1].step;
  each.sentence = explosion_text(cases, first);
  constexpr std::size_t most_named = 5;
  std::string others;
  for (std::size_t i = 1; i < std::min(all.size(), most_named); ++i)
    others += (others.empty() ? "" : ", ") + all[i].subject->text + " (" + short_number(all[i].value) +
              " at step " + std::to_string(all[i].point().step) + ")";
  if (all.size() > most_named) others += " and " + std::to_string(all.size() - most_named) + " more";
  if (!others.empty()) each.sentence += " Large as well: those of " + others + ".";
  each.cure =
      "Look at that step's batch and at the update before it. A smaller learning rate, smaller initial "
      "weights of what is applied again and again, or clipping by the global norm (" +
      clipping_of(cases) + ") bound it.";
  return {each};
}

Findings updates_out_of_range(const HealthCases& cases) {
  return look_at_each(cases, [&](const HealthCase& subject) -> std::optional<HealthFinding> {
    const HealthPoints& points = curve_of(subject, quantity::update);
    if (!is_weight(subject) || points.size() < 4) return std::nullopt;
    const double usual = median_of(points, points.size() / 2, points.size());
    const bool large = usual > largest_update;
    if (!large && !(usual > 0 && usual < smallest_update)) return std::nullopt;
    auto each = lasting_finding(
        cases, subject, quantity::update, large ? "large updates" : "small updates",
        large ? HealthSeverity::warning : HealthSeverity::note,
        [large](double value) { return large ? value > largest_update / 2 : value < 2 * smallest_update; });
    if (!each || each->span.count < least_updates) return std::nullopt;
    // Updates that became small are those of a run that converges, or of a learning rate that was to fall.
    if (!large && (each->span.first > 0 || !cases.sees_begin())) return std::nullopt;
    each->finding.sentence = subject.text + ": a step changes it by about " + short_number(usual) +
                             " of its size (the median)" + each->where + "; about 0.001 is usual.";
    each->finding.cure =
        large ? "A smaller learning rate, or a look at what makes the gradient large."
              : "A larger learning rate, or one of its own for this variable, unless it is meant to stay.";
    return each->finding;
  });
}

Findings collapsed_ranks(const HealthCases& cases) {
  return look_at_each(cases, [&](const HealthCase& subject) -> std::optional<HealthFinding> {
    const HealthPoints& points = curve_of(subject, quantity::rank);
    if (points.size() < 4 || !cases.sees_begin() || gradient_fell(subject)) return std::nullopt;
    const double usual = median_of(points, 0, std::max<std::size_t>(2, points.size() / 4));
    if (usual < usual_rank || newest_quarter_of(points) > collapsed_rank) return std::nullopt;
    auto each = lasting_finding(cases, subject, quantity::rank, "rank collapse", HealthSeverity::warning,
                                [](double value) { return value <= 1.2 * collapsed_rank; });
    if (!each) return std::nullopt;
    each->finding.sentence = subject.text + ": the effective rank of its gradient is about " +
                             short_number(newest_quarter_of(points)) + each->where +
                             "; at the beginning it was about " + short_number(usual) + ".";
    each->finding.cure =
        "The gradient points almost in one direction. Look at whether the examples of a batch, or the units, "
        "have become alike: dead units, one class alone, a loss that one example dominates.";
    return each->finding;
  });
}

}  // namespace tapedeck::debug
