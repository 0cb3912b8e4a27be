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
/// Where the loss fell to that share of what it was, codes near the ends do no harm: it is a note.
constexpr double fallen_loss = 0.5;
/// So many of the newest samples say how it is now.
constexpr std::size_t shares_now = 5;

/// Whether it is the last of its network: no playback that was asked for the weights before it was asked for
/// any behind it, as of a generator whose pictures another network judges. Nothing: no step that was read
/// asks for those weights.
std::optional<bool> ends_its_network(const HealthCases& cases, const HealthCase& subject) {
  const auto asks = [](const StepFacts& step, const HealthCase& variable) {
    return std::ranges::find(step.sources, variable.variable, &SourceFact::variable) != step.sources.end();
  };
  const HealthCase *end = cases.all.data() + cases.all.size(), *before = nullptr;
  for (const HealthCase* at = cases.all.data(); at != &subject; ++at)
    if (at->kind == HealthKind::variable) before = at;
  if (!before) return std::nullopt;
  for (const HealthCase* later = &subject + 1; later != end && later->kind != HealthKind::variable; ++later)
    if (later->kind == HealthKind::activation) return false;
  std::optional<bool> ends;
  for (const StepFacts& step : cases.program.steps) {
    if (!asks(step, *before)) continue;
    ends = true;
    for (const HealthCase* later = &subject + 1; later != end; ++later)
      if (later->kind == HealthKind::variable && asks(step, *later)) return false;
  }
  return ends;
}

/// Its results are meant to lie near the ends: softmax decides, and so does a sigmoid behind all weights.
bool decides(const HealthCases& cases, const HealthCase& subject) {
  const OpDef* op = Registry::instance().find(subject.op);
  if (op && op->facts.activation == Activation::softmax) return true;
  if (const auto ends = ends_its_network(cases, subject)) return *ends;
  const HealthCase* at = &subject;
  return std::none_of(at + 1, cases.all.data() + cases.all.size(), [](const HealthCase& later) {
    return later.kind == HealthKind::variable || later.kind == HealthKind::activation;
  });
}

}  // namespace

Findings dead_units(const HealthCases& cases) {
  return look_at_each(cases, [&](const HealthCase& subject) -> std::optional<HealthFinding> {
    const HealthPoints& points = curve_of(subject, quantity::dead);
    const double share = newest_of(points, shares_now);
    if (!(share >= many_dead)) return std::nullopt;
    const double limit = std::max(many_dead / 2, 0.6 * share);  // it may come in several steps
    const auto holds = [&](double value) { return value >= limit; };
    auto each = lasting_finding(cases, subject, quantity::dead, "dead units",
                                share >= most_dead ? HealthSeverity::error : HealthSeverity::warning, holds);
    if (!each) return std::nullopt;
    const bool channels_first = subject.op.starts_with("aten.") && subject.shape.size() >= 3;
    const std::string units = subject.shape.empty()
                                  ? "units"
                                  : counted(static_cast<std::uint64_t>(channels_first ? subject.shape.front()
                                                                                      : subject.shape.back()),
                                            channels_first ? "channel" : "unit");
    each->finding.sentence =
        subject.text + ": " + shares_text(points, each->span, holds) + " of its " + units + " are dead" +
        each->where + ". They output 0 for every example of the batch, so no gradient gets through them.";
    each->finding.cure =
        "A smaller learning rate, He initialisation, biases that begin a little above 0, or leaky_relu in "
        "its place keep units alive; look at the update just before that step.";
    return each->finding;
  });
}

Findings saturated_units(const HealthCases& cases) {
  return look_at_each(cases, [&](const HealthCase& subject) -> std::optional<HealthFinding> {
    const HealthPoints& points = curve_of(subject, quantity::saturated);
    if (!(newest_of(points, shares_now) >= many_saturated) || decides(cases, subject)) return std::nullopt;
    const auto holds = [](double value) { return value >= 0.8 * many_saturated; };
    const bool learns = std::ranges::any_of(cases, [](const HealthCase& loss) {
      const HealthPoints& losses = curve_of(loss, quantity::loss);
      return newest_quarter_of(losses) < fallen_loss * oldest_quarter_of(losses);
    });
    auto each = lasting_finding(cases, subject, quantity::saturated, "saturated units",
                                learns ? HealthSeverity::note : HealthSeverity::warning, holds);
    if (!each) return std::nullopt;
    each->finding.sentence = subject.text + ": " + shares_text(points, each->span, holds) +
                             " of its outputs are at a flat end of " + subject.op + each->where +
                             ". Its derivative there is below 0.02, so hardly any gradient gets through.";
    each->finding.cure =
        "Smaller initial weights, normalised inputs (or batch normalisation before it), or a smaller "
        "learning rate.";
    return each->finding;
  });
}

}  // namespace tapedeck::debug
