// Inputs and labels: numbers that are too large for the weights, and a loss that labels alone explain.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// Initialisers (Glorot, He) assume inputs of mean 0 and variance 1; beyond these this program speaks up.
constexpr double large_input = 20, tiny_input = 1e-3;
/// So near to chance, and over so long: the newest half of the samples.
constexpr double near_chance = 0.01;
constexpr std::size_t least_chance_samples = 20;
constexpr double least_labels = 100;

/// The labels of all steps that were read, together.
struct LabelsTogether {
  double classes = 0, examples = 0;
  bool yes_or_no = false, several = false;
  std::vector<double> counts;
  double own_entropy = 0;
  /// What a loss is that knows how often each class comes, and nothing else; in nats.
  double entropy() const {
    const auto term = [](double share) { return share > 0 ? -share * std::log(share) : 0; };
    double sum = 0;
    for (const double count : counts) {
      const double share = count / examples;
      sum += yes_or_no ? term(share) + term(1 - share) : term(share);
    }
    return yes_or_no ? sum / static_cast<double>(counts.size()) : sum;
  }
};

LabelsTogether labels_together(const ProgramFacts& program) {
  LabelsTogether all;
  for (const StepFacts& step : program.steps) {
    all.several |= step.labels.size() > 1;
    for (const LabelFact& fact : step.labels) {
      if (all.classes != 0 && all.classes != static_cast<double>(fact.classes)) all.several = true;
      all.classes = static_cast<double>(fact.classes);
      all.yes_or_no = fact.yes_or_no;
      if (fact.counts.empty()) continue;
      if (!all.counts.empty() && all.counts.size() != fact.counts.size()) {
        all.several = true;
        continue;
      }
      all.counts.resize(fact.counts.size());
      for (std::size_t i = 0; i < fact.counts.size(); ++i) all.counts[i] += fact.counts[i];
      all.own_entropy = (all.own_entropy * all.examples + fact.own_entropy * fact.examples) /
                        std::max(1.0, all.examples + fact.examples);
      all.examples += fact.examples;
    }
  }
  return all;
}

/// The loss is that number in both halves of its newer samples, and was never clearly below.
bool stays_at(const HealthPoints& points, double value) {
  const std::size_t half = points.size() / 2, quarter = half / 2;
  const auto near = [&](double median) { return std::abs(median - value) <= near_chance * value; };
  if (!near(median_of(points, half, half + quarter)) ||
      !near(median_of(points, half + quarter, points.size())))
    return false;
  constexpr std::size_t window = 5;
  for (std::size_t i = 0; i + window <= points.size(); ++i)
    if (median_of(points, i, i + window) < (1 - 5 * near_chance) * value) return false;
  return true;
}

}  // namespace

std::optional<HealthFinding> loss_at_chance(const HealthCases& cases, const HealthCase& loss) {
  const HealthPoints& points = curve_of(loss, quantity::loss);
  if (points.size() < least_chance_samples || !cases.sees_begin()) return std::nullopt;
  const LabelsTogether labels = labels_together(cases.program);
  if (labels.classes < 2 || labels.several) return std::nullopt;
  const double newest = median_of(points, points.size() / 2, points.size());
  const bool known = labels.examples >= std::max(least_labels, 10 * labels.classes);
  const double entropy = known ? labels.entropy() : 0;
  const double even = std::log(labels.classes);
  const std::string name = labels.yes_or_no ? "2" : std::to_string(static_cast<std::int64_t>(labels.classes));
  const std::string ends = ": about " + short_number(newest) + " in the newer half of " +
                           std::to_string(points.size()) + " samples" + sampled_text(cases) + ")" +
                           line_text(loss) + ".";
  if (stays_at(points, even)) {
    HealthFinding each =
        finding_at(loss, quantity::loss, points.front(), "loss at chance", HealthSeverity::warning);
    each.sentence = "The loss stays at ln(" + name + ") = " + short_number(even) +
                    ", that of a guess between " + name + " classes" + ends +
                    " The network gives all of them about the same probability.";
    each.cure =
        "The other findings may say why: no gradient gets through, or the step is too small or too large. "
        "Else "
        "look at whether labels and inputs belong together (shuffled apart?).";
    return each;
  }
  // Labels that are shares themselves have an entropy that no network can get below.
  if (entropy < 0.05 || labels.own_entropy > 0.5 * entropy || !stays_at(points, entropy)) return std::nullopt;
  HealthFinding each =
      finding_at(loss, quantity::loss, points.front(), "loss at chance", HealthSeverity::warning);
  each.sentence = "The loss stays at the labels' entropy, " + short_number(entropy) + " of " +
                  counted(static_cast<std::uint64_t>(labels.examples), "label") + " in " +
                  counted(cases.program.steps.size(), "step") + ends +
                  " The network has learned how often each class comes, and nothing of the inputs.";
  each.cure =
      "Look at whether the inputs reach the output (dead units, zeros, a constant), and whether labels and "
      "inputs belong together.";
  return each;
}

Findings unnormalised_inputs(const HealthCases& cases) {
  Findings found;
  std::set<std::uint32_t> places;
  for (const StepFacts& step : cases.program.steps)
    for (const InputFact& fact : step.inputs) {
      const double whole = fact.root_mean_square, size = std::max(std::abs(fact.least), std::abs(fact.most));
      const bool tiny = size > 0 && size < tiny_input;
      const bool column = !tiny && whole <= large_input && fact.column_root_mean_square > large_input;
      if ((!tiny && !column && whole <= large_input) || !places.insert(fact.place.location).second) continue;
      HealthFinding each =
          program_finding(cases, fact.place, step.step, "unnormalised data", HealthSeverity::warning);
      std::string shape;
      for (const std::int64_t extent : fact.shape)
        shape += (shape.empty() ? "" : "×") + std::to_string(extent);
      each.sentence =
          "The first layer's " + fact.place.op + place_text(fact.place) + " gets inputs (" + shape + ") ";
      if (column)
        each.sentence += "of which column " + std::to_string(fact.column) + " goes from " +
                         short_number(fact.column_least) + " to " + short_number(fact.column_most) +
                         ", with a root mean square of " + short_number(fact.column_root_mean_square) +
                         "; that of all is " + short_number(whole);
      else
        each.sentence += "from " + short_number(fact.least) + " to " + short_number(fact.most) +
                         ", with a mean of " + short_number(fact.mean) + " and a root mean square of " +
                         short_number(whole);
      each.sentence +=
          ", at step " + std::to_string(step.step) + ". Initial weights assume values of about 1.";
      report(found, std::move(each),
             "Subtract the mean and divide by the standard deviation of each column, or scale to -1 to 1 "
             "(pixels: "
             "/ 255); a layer that normalises does it too.");
    }
  return found;
}

Findings wrong_scale_axes(const HealthCases& cases) {
  const auto key = [](const ScaleFact& fact) { return fact.place.location; };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const ScaleFact& fact = *one.first;
    const std::string layer = "the first layer's " + fact.layer.op + place_text(fact.layer);
    const std::string large = "column " + std::to_string(fact.large_column),
                      small = "column " + std::to_string(fact.small_column);
    if (fact.statistic.record != 0)
      each.sentence = fact.place.op + place_text(fact.place) + (fact.subtracts ? " shifts" : " scales") +
                      " the inputs " + tuple_text(fact.shape) + " of " + layer + " by one number for " +
                      (fact.of_examples ? "each example" : "all features together") + ", " +
                      fact.statistic.op + place_text(fact.statistic) + " of shape " +
                      tuple_text(fact.operand) + ", not for each feature";
    else
      each.sentence = "The inputs " + tuple_text(fact.shape) + " of " + layer +
                      " have mean 0 and standard "
                      "deviation 1 " +
                      (fact.of_examples ? "in each example, not in each feature"
                                        : "over all features together, not in each feature");
    each.sentence += read_text(cases, one.steps) + ". ";
    if (fact.statistic.record != 0)
      each.sentence += "The features differ by orders of magnitude: before it " + large +
                       " has a standard deviation of " + short_number(fact.large_before) + ", " + small +
                       " of " + short_number(fact.small_before) + "; at the layer it is " +
                       short_number(fact.large_after) + " and " + short_number(fact.small_after) + ".";
    else if (fact.of_examples)
      each.sentence +=
          "The features hardly differ from example to example: the largest standard deviation, of " + large +
          ", is " + short_number(fact.large_after) + ".";
    else
      each.sentence += "The features still differ by orders of magnitude: " + large +
                       " has a standard deviation of " + short_number(fact.large_after) + ", " + small +
                       " of " + short_number(fact.small_after) + ".";
    each.cure = is_in_torch(fact.layer)
                    ? "Take mean and standard deviation of each column over the examples, dim=0: "
                      "(x - x.mean(dim=0)) / x.std(dim=0)."
                    : "Take mean and standard deviation of each column over the examples, axis=0: "
                      "(x - x.mean(axis=0)) / x.std(axis=0).";
  };
  return findings_of(cases, &StepFacts::scales, "normalised over the wrong axis", HealthSeverity::warning, 1,
                     key, write);
}

}  // namespace tapedeck::debug
