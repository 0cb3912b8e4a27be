// Activations: units that never speak, and outputs at a flat end.
#include <algorithm>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/ops/core/op.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// "As much as 40 % of your network can be 'dead'" is where Stanford's CS231n warns (notes, "Neural networks
/// 1", on ReLU).
constexpr double many_dead = 0.4, most_dead = 0.9;
/// X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010,
/// section 3: saturated layers learn slowly. Half of the outputs is this program's own limit.
constexpr double many_saturated = 0.5;

/// Its results are meant to lie near the ends: softmax decides, and so does a sigmoid behind all weights.
bool decides(const HealthCases& cases, const HealthCase& subject) {
  const OpDef* op = Registry::instance().find(subject.op);
  if (op && op->facts.activation == Activation::softmax) return true;
  const HealthCase* at = &subject;
  return std::none_of(at + 1, cases.all.data() + cases.all.size(), [](const HealthCase& later) {
    return later.kind == HealthKind::variable || later.kind == HealthKind::activation;
  });
}

}  // namespace

Findings dead_units(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::dead);
    if (points.empty()) continue;
    const double share =
        median_of(points, points.size() - std::min<std::size_t>(points.size(), 5), points.size());
    if (share < many_dead) continue;
    const double limit = std::max(many_dead / 2, 0.6 * share);  // it may come in several steps
    const auto holds = [&](double value) { return value >= limit; };
    const auto span = lasting(points, holds);
    if (!span) continue;
    const std::string units =
        subject.shape.empty() ? "units" : counted(static_cast<std::uint64_t>(subject.shape.back()), "unit");
    HealthFinding each = finding(subject, quantity::dead, points, span->first, "dead units",
                                 share >= most_dead ? HealthSeverity::error : HealthSeverity::warning);
    each.sentence = subject.text + ": " + shares_text(points, *span, holds) + " of its " + units +
                    " are dead" + span_text(cases, subject, points, *span) +
                    ". They give 0 for every example of the batch, so no gradient gets through them.";
    each.cure =
        "A smaller learning rate, He initialisation, biases that begin a little above 0, or leaky_relu in "
        "its place "
        "keep units alive; look at the update just before that step.";
    found.push_back(std::move(each));
  }
  return found;
}

Findings saturated_units(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::saturated);
    if (points.empty() || decides(cases, subject)) continue;
    const double share =
        median_of(points, points.size() - std::min<std::size_t>(points.size(), 5), points.size());
    if (share < many_saturated) continue;
    const auto holds = [](double value) { return value >= 0.8 * many_saturated; };
    const auto span = lasting(points, holds);
    if (!span) continue;
    HealthFinding each = finding(subject, quantity::saturated, points, span->first, "saturated units",
                                 HealthSeverity::warning);
    each.sentence = subject.text + ": " + shares_text(points, *span, holds) +
                    " of its outputs are at a flat end of " + subject.op +
                    span_text(cases, subject, points, *span) +
                    ". Its derivative there is below 0.02, so hardly any gradient gets through.";
    each.cure =
        "Smaller initial weights, normalised inputs (or batch normalisation before it), or a smaller "
        "learning rate.";
    found.push_back(std::move(each));
  }
  return found;
}

}  // namespace tapedeck::debug
