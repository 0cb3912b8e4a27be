// What the program's ops themselves say, whatever the numbers do: rules about the facts of single steps.
#include <algorithm>
#include <cmath>
#include <set>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

constexpr std::size_t least_steps_compared = 3;

/// "no class of 10 can get more than 23 %", of logits from 0 to 1.
std::string narrow_range_text(const StepFacts& step, const SquashedFact& fact) {
  const auto label = std::ranges::find(step.labels, fact.outer.record,
                                       [](const LabelFact& each) { return each.place.record; });
  if (label == step.labels.end()) return {};
  if (label->yes_or_no) return " Of logits from 0 to 1 it makes 50 to 73 %, whatever the weights are.";
  const double e = std::exp(1.0);
  return " Of logits from 0 to 1 it can give no class of " + std::to_string(label->classes) + " more than " +
         share_text(e / (e + static_cast<double>(label->classes) - 1)) + ", whatever the weights are.";
}

}  // namespace

Findings squashed_twice(const HealthCases& cases) {
  Findings found;
  const auto key = [](const SquashedFact& fact) { return std::pair(fact.outer.location, fact.outer.op); };
  for (const auto& one : repeated_facts(cases.program, &StepFacts::squashed, key)) {
    const SquashedFact& fact = *one.first;
    HealthFinding each =
        program_finding(cases, fact.outer, one.since, "applied twice", HealthSeverity::warning);
    const bool itself = fact.outer.op == fact.inner.op;
    each.sentence =
        fact.outer.op + place_text(fact.outer) + " gets the results of " + fact.inner.op +
        place_text(fact.inner) +
        (itself ? std::string(" as they are: it is applied twice") : " as logits, and applies one itself") +
        read_text(cases, one.steps) + ".";
    for (const StepFacts& step : cases.program.steps)
      if (step.step == one.since) each.sentence += narrow_range_text(step, fact);
    report(found, std::move(each),
           "Pass it the logits that " + fact.inner.op + " gets, or use a loss on probabilities (" +
               (is_in_torch(fact.outer) ? "nll_loss of log_softmax, binary_cross_entropy)."
                                        : "in Keras, from_logits=False)."));
  }
  return found;
}

Findings forgotten_axes(const HealthCases& cases) {
  const auto key = [](const BroadcastFact& fact) { return std::pair(fact.place.location, fact.place.op); };
  const auto write = [&](const auto& one, HealthFinding& each) {
    const BroadcastFact& fact = *one.first;
    const auto rows = static_cast<std::uint64_t>(fact.result.front());
    each.sentence = fact.place.op + place_text(fact.place) +
                    " in the loss broadcasts both of its operands: " + tuple_text(fact.left) + " and " +
                    tuple_text(fact.right) + " make " + tuple_text(fact.result) +
                    read_text(cases, one.steps) + ". Each of " + counted(rows, "example") +
                    " is combined with the numbers of all others, " +
                    counted(rows * static_cast<std::uint64_t>(fact.result.back()), "pair") + " instead of " +
                    std::to_string(rows) + ".";
    each.cure = std::string("Give both the same shape: labels[:, None], ") +
                (is_in_torch(fact.place) ? "predictions.squeeze(-1) or view()"
                                         : "tf.squeeze(predictions, -1) or tf.reshape") +
                ". Then the loss compares each prediction with its own label.";
  };
  return findings_of(cases, &StepFacts::broadcasts, "broadcast from both sides", HealthSeverity::error, 1,
                     key, write);
}

Findings custom_gradients(const HealthCases& cases) {
  Findings found;
  const auto key = [](const CustomFact& fact) { return std::pair(fact.name, fact.location); };
  for (const auto& one : repeated_facts(cases.program, &StepFacts::customs, key)) {
    const CustomFact& fact = *one.newest;
    const std::string name = fact.name + (fact.line ? ", line " + std::to_string(fact.line) : std::string());
    const CheckedGradient* checked = nullptr;  // the newest answer
    for (const CheckedGradient& each : cases.program.checked)
      if (each.name == fact.name && each.location == fact.location) checked = &each;
    if (checked && !checked->wrong) continue;
    HealthFinding each = program_finding(cases, fact.place, one.since,
                                         checked ? "wrong custom gradient" : "unchecked custom gradient",
                                         checked ? HealthSeverity::warning : HealthSeverity::note);
    if (checked) {
      each.record = checked->record;
      each.sentence =
          "The custom gradient of " + name + " disagrees with finite differences. " + checked->sentence;
      each.cure =
          "Derive it again and check it (Shift+F8); if it differs on purpose (clipped, reversed, "
          "straight-through), leave it.";
    } else {
      each.check = true;
      each.sentence = "The program wrote the gradient of " + name + (fact.line ? ", itself" : " itself") +
                      read_text(cases, one.steps) + ", and it was not checked since this run began.";
      each.cure =
          "Check now (C) compares it with finite differences: Is this gradient right? Health takes the "
          "answer.";
    }
    found.push_back(std::move(each));
  }
  return found;
}

// ---- variables

Findings recreated_variables(const HealthCases& cases) {
  Findings found;
  const auto key = [](const SourceFact& fact) { return std::pair(fact.name, fact.shape); };
  for (const auto& one : repeated_facts(cases.program, &StepFacts::sources, key)) {
    std::set<std::uint64_t> variables;
    std::size_t compared = 0;
    bool stays = false;
    for (const StepFacts& step : cases.program.steps)
      for (const SourceFact& fact : step.sources) {
        if (key(fact) != key(*one.first)) continue;
        variables.insert(fact.variable);
        if (!fact.fresh) continue;
        ++compared;
        stays |= !*fact.fresh;
      }
    // Two of that name in one step would hide one that stays.
    if (stays || compared < least_steps_compared || variables.size() < one.steps) continue;
    const SourceFact& fact = *one.first;
    HealthFinding each =
        program_finding(cases, fact.place, one.since, "variable re-created each step", HealthSeverity::error);
    each.sentence = fact.name + " " + tuple_text(fact.shape) + " is a new variable in each step" +
                    read_text(cases, one.steps) + ": what a step changes is lost with the next.";
    report(found, std::move(each),
           is_in_torch(cases)
               ? "Make the parameter once, before the loop; in a module, in __init__, not in forward."
               : "Make the variable once, before the loop; in a layer, in __init__ or build, not in call.");
  }
  return found;
}

Findings resting_variables(const HealthCases& cases) {
  Findings found;
  const auto key = [](const SourceFact& fact) { return fact.variable; };
  for (const auto& one : repeated_facts(cases.program, &StepFacts::sources, key)) {
    const SourceFact& fact = *one.first;
    if (one.steps < least_steps_compared || fact.value != one.newest->value) continue;
    bool same = true;
    for (const StepFacts& step : cases.program.steps)
      for (const SourceFact& other : step.sources)
        same = same && (other.variable != fact.variable || other.value == fact.value);
    const auto subject = std::ranges::find_if(cases, [&](const HealthCase& each) {
      return each.kind == HealthKind::variable && each.variable == fact.variable;
    });
    if (!same || subject == cases.end()) continue;
    const HealthPoints& gradients = curve_of(*subject, quantity::gradient);
    const double gradient = median_of(gradients, 0, gradients.size());
    if (!(gradient > 0) || !curve_of(*subject, quantity::update).empty()) continue;
    HealthFinding each =
        finding_at(*subject, quantity::gradient, gradients.front(), "never updated", HealthSeverity::warning);
    each.sentence = subject->text + " is never updated: it still has its initial value" +
                    read_text(cases, one.steps) + ", although its gradient's norm is about " +
                    short_number(gradient) + line_text(*subject) + ".";
    report(
        found, std::move(each),
        std::string(
            is_in_torch(cases)
                ? "Is it in the list that the optimiser gets (optimizer.param_groups)? A parameter that "
                  "should not change costs less with requires_grad_(False)"
                : "Is it in the list that the optimiser gets, and is its assignment there? A variable that "
                  "should not change costs less with trainable=False") +
            ", which asks for no gradient.");
  }
  return found;
}

// ---- layers that differ between training and evaluation

Findings wrong_modes(const HealthCases& cases) {
  Findings found;
  std::size_t disturbed = 0;
  for (const StepFacts& step : cases.program.steps) disturbed += step.disturbed;
  std::set<std::pair<std::string, std::string>> told;
  const auto evaluation = [&](const ModeFact& fact, std::uint64_t step) {
    if (!told.insert({fact.place.op, fact.layer}).second) return;
    HealthFinding each =
        program_finding(cases, fact.place, step, "training mode in evaluation", HealthSeverity::warning);
    const bool dropout = fact.place.op.ends_with("dropout"), in_torch = fact.in_torch;
    each.sentence =
        (fact.layer.empty() ? fact.place.op : fact.layer + " (" + fact.place.op + ")") +
        place_text(fact.place) + " runs in training mode where " +
        (in_torch ? "autograd records nothing" : "no tape records") +
        (step > cases.steps ? ", after the last step" : ", before step " + std::to_string(step)) +
        (dropout ? ": it sets elements to 0 at random, so that evaluations are partly noise"
                 : ": it takes the batch's own mean and variance, so that an example's result depends "
                   "on the others") +
        (disturbed == 0 ? ". In the steps of training that were read no such op runs: the two may be "
                          "swapped."
                        : ".");
    report(
        found, std::move(each),
        std::string(in_torch ? "Call model.eval() before it is evaluated, and model.train() before the next "
                               "step."
                             : "Call the model with training=False to evaluate it, and with training=True "
                               "in a step.") +
            " Where noise is meant (Monte Carlo dropout), nothing is wrong.");
  };
  for (const StepFacts& step : cases.program.steps)
    for (const ModeFact& fact : step.modes)
      if (fact.trouble == ModeTrouble::disturbed_evaluation) evaluation(fact, step.step);
  if (cases.program.behind)
    for (const ModeFact& fact : cases.program.behind->modes) evaluation(fact, cases.steps + 1);
  for (const auto& one : repeated_facts(cases.program, &StepFacts::modes, [](const ModeFact& fact) {
         return std::pair(fact.trouble, fact.layer);
       })) {
    const ModeFact& fact = *one.newest;
    if (fact.trouble != ModeTrouble::initial_statistics || one.steps < cases.program.steps.size() ||
        one.steps < least_steps_compared)
      continue;
    HealthFinding each =
        program_finding(cases, fact.place, one.since, "evaluation mode in training", HealthSeverity::warning);
    each.sentence =
        (fact.layer.empty() ? std::string("Batch normalisation") : fact.layer) + place_text(fact.place) +
        (fact.in_torch ? " uses its running statistics in a step of training, and they still have their "
                         "initial values, a variance of 1"
                       : " uses moving statistics on the tape, and they still have their initial values, a "
                         "variance of 1") +
        read_text(cases, one.steps) + ": it normalises nothing, though its scale and offset learn.";
    report(
        found, std::move(each),
        fact.in_torch
            ? "Call model.train() before a step; the running statistics follow the batches then."
            : "Call the model with training=True in a step; the moving statistics follow the batches then.");
  }
  return found;
}

}  // namespace tapedeck::debug
