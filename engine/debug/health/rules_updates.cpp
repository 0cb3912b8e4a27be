// Updates that are made of the wrong things, and shares that go to the wrong ones.
#include <algorithm>
#include <cmath>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

constexpr std::size_t least_steps_told = 3;
/// Of the change and the gradient: beyond it a step goes up more than it goes aside.
constexpr double least_uphill = 0.5;

}  // namespace

Findings wrong_class_axes(const HealthCases& cases) {
  const auto key = [](const AxisFact& fact) { return fact.place.location; };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const AxisFact& fact = *one.first;
    const std::string classes = std::to_string(fact.shape[1]), least = short_number(fact.least),
                      most = short_number(fact.most);
    each.sentence = fact.place.op + place_text(fact.place) + " of " + tuple_text(fact.shape) +
                    " is along axis " + std::to_string(fact.axis) + ", the " +
                    counted(static_cast<std::uint64_t>(fact.shape[0]), "example") +
                    ", where the labels name one of " + classes + " classes on axis 1" +
                    read_text(cases, one.steps) + ". An example's " + classes + " probabilities add up to " +
                    (least == most ? least : least + " to " + most) + " (step " + std::to_string(one.since) +
                    "), not to 1.";
    each.cure = is_in_torch(fact.place) ? "Take it over the classes: dim=1."
                                        : "Take it over the classes: axis=-1, the default.";
  };
  return findings_of(cases, &StepFacts::axes, "softmax over examples", HealthSeverity::error, 1, key, write);
}

Findings inverted_masks(const HealthCases& cases) {
  const auto key = [](const MaskFact& fact) { return fact.place.location; };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const MaskFact& fact = *one.first;
    const std::string last = std::to_string(fact.shape.back() - 1);
    each.sentence =
        "The attention of " + fact.place.op + place_text(fact.place) + ", " + tuple_text(fact.shape) +
        ", has an inverted mask: each position attends to later positions only, with weight 0 for itself and "
        "earlier ones" +
        read_text(cases, one.steps) + ". Position 0 sees 1 to " + last + "; position " + last + " sees none.";
    each.cure =
        is_in_torch(fact.place)
            ? "Mask later positions instead of earlier ones: masked_fill() hides where its mask is True, "
              "torch.ones(n, n).triu(1).bool(); scaled_dot_product_attention() shows where attn_mask is "
              "True, "
              "tril(), or takes is_causal=True."
            : "Mask later positions instead of earlier ones: the mask is 1 above the diagonal "
              "(1 - tril), or it is meant as what may be seen.";
  };
  return findings_of(cases, &StepFacts::masks, "inverted mask", HealthSeverity::warning, least_steps_told,
                     key, write);
}

// An autoencoder of tokens means it: it is a note.
Findings echoed_labels(const HealthCases& cases) {
  const auto key = [](const EchoFact& fact) { return fact.place.location; };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const EchoFact& fact = *one.first;
    each.sentence = "The labels of " + fact.loss.op + place_text(fact.loss) + " are the numbers that " +
                    fact.place.op + place_text(fact.place) + " looks up, " +
                    counted(static_cast<std::uint64_t>(fact.labels), "label") + " each at the same place" +
                    read_text(cases, one.steps) + ": the network is asked to return its input.";
    each.cure =
        "To predict what comes next, give it text[:, :-1] and take text[:, 1:] as labels. An autoencoder of "
        "tokens means it so.";
  };
  return findings_of(cases, &StepFacts::echoes, "labels are the inputs", HealthSeverity::note,
                     std::max(least_steps_told, cases.program.steps.size()), key, write);
}

Findings summed_gradients(const HealthCases& cases) {
  const auto key = [](const SumFact& fact) { return std::pair(fact.place.location, fact.variable); };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const SumFact& fact = *one.newest;
    std::uint64_t newest = 0;
    for (const StepFacts& step : cases.program.steps)
      for (const SumFact& other : step.sums)
        if (&other == &fact) newest = step.step;
    each.record = fact.place.record;
    each.sentence = fact.place.op + place_text(fact.place) + " adds the gradient of " + fact.variable +
                    " to those of the steps before, and the update takes the sum" +
                    read_text(cases, one.steps) + ". At step " + std::to_string(newest) +
                    " it has the gradients of " + counted(fact.steps, "step");
    if (fact.times > 0)
      each.sentence += ", and is " + short_number(fact.times) + " times as large as the step's own";
    each.sentence += ".";
    each.cure = fact.by_hand
                    ? "Set the variable's grad to None (or grad.zero_()) after each update, before the "
                      "next backward()."
                : fact.in_grad ? "Call optimizer.zero_grad() once in each step, before backward()."
                               : "Begin a new sum (zeros) after each update, or take the gradient alone. "
                                 "Momentum multiplies the old "
                                 "sum by a factor below 1.";
  };
  return findings_of(cases, &StepFacts::sums, "gradients added up", HealthSeverity::warning, least_steps_told,
                     key, write);
}

Findings variables_twice(const HealthCases& cases) {
  const auto key = [](const TwiceFact& fact) { return std::pair(fact.place.location, fact.variable); };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const TwiceFact& fact = *one.first;
    each.sentence = "The gradient" + place_text(fact.place) + " is asked for " + fact.name + " " +
                    tuple_text(fact.shape) + " " + std::to_string(fact.times) + " times" +
                    read_text(cases, one.steps) + ": these are not " + std::to_string(fact.times) +
                    " variables but one, with one value";
    if (fact.updates > 1)
      each.sentence +=
          ", and a step updates it " + std::to_string(fact.updates) + " times with the same gradient";
    each.sentence += ".";
    each.cure =
        "[variable] * 3 is a list of one variable three times: create each one ([make() for _ in range(3)]). "
        "Layers that share a variable on purpose ask for it once.";
  };
  return findings_of(cases, &StepFacts::twice, "same variable listed twice", HealthSeverity::warning,
                     least_steps_told, key, write);
}

std::string uphill_text(const HealthCases& cases, std::uint64_t& record) {
  const auto key = [](const DirectionFact& fact) { return fact.variable; };
  std::vector<std::string> names;
  std::vector<double> cosines;
  const DirectionFact* first = nullptr;
  for (const auto& one : repeated_facts(cases.program, &StepFacts::directions, key)) {
    std::vector<double> own;
    for (const StepFacts& step : cases.program.steps)
      for (const DirectionFact& fact : step.directions)
        if (fact.variable == one.first->variable) own.push_back(fact.cosine);
    if (own.size() < least_steps_told || !(median(own) > least_uphill)) return {};  // one goes down
    if (!first) first = one.first;
    names.push_back(one.first->name);
    cosines.insert(cosines.end(), own.begin(), own.end());
  }
  if (!first) return {};
  record = first->place.record;
  return " The updates of " + list_text(names) + place_text(first->place) +
         " go up the gradient: the change and the gradient have a cosine of " +
         short_number(median(cosines)) + " (the median of " + counted(cosines.size(), "update") +
         "; downhill is -1).";
}

}  // namespace tapedeck::debug
