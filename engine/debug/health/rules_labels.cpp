// Labels that a loss cannot mean, and gradients that were cleared before they could be used.
#include <algorithm>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// "0 to 2"
std::string range_text(double least, double most) {
  return least == most ? short_number(least) : short_number(least) + " to " + short_number(most);
}

std::string labels_cure(const LabelTroubleFact& fact) {
  const bool in_torch = is_in_torch(fact.place);
  if (!fact.classes)
    return std::string("Labels of yes or no are 1 and 0: ") +
           (fact.least == -1 && fact.most == 1 ? "(labels + 1) / 2 makes them of -1 and 1. "
                                               : "(labels > threshold) makes them of other numbers. ") +
           "Where they are numbers of classes, the loss is " +
           (in_torch ? "cross_entropy." : "sparse_softmax_cross_entropy_with_logits.");
  const auto classes = static_cast<double>(fact.classes);
  if (fact.least == 1 && fact.most == classes)
    return "Classes count from 0, and these labels from 1: subtract 1.";
  if (fact.least < 0 && fact.most < classes)
    return in_torch ? "Where such a label means that the example does not count, say so: ignore_index=" +
                          short_number(fact.least) + "."
                    : std::string("Leave out the examples that such a label marks, or give them weight 0.");
  return "Does the last layer have an output for each class? The largest label asks for " +
         std::to_string(static_cast<std::int64_t>(fact.most) + 1) + ", it has " +
         std::to_string(fact.classes) + ".";
}

std::string when_text(const HealthCases& cases, std::size_t steps, bool behind) {
  return behind ? cases.steps == 0 ? std::string() : std::string(", after the last step")
                : read_text(cases, steps);
}

HealthFinding label_finding(const HealthCases& cases, const LabelTroubleFact& fact, std::uint64_t since,
                            const std::string& when) {
  const bool wrong_dtype = fact.trouble == LabelTrouble::wrong_dtype;
  HealthFinding each =
      program_finding(cases, fact.place, since,
                      wrong_dtype ? "labels of another dtype" : "labels out of range", HealthSeverity::error);
  const std::string refused = fact.refused ? " The loss refused them: the op failed." : "";
  each.sentence = "The labels of " + fact.place.op + place_text(fact.place);
  if (wrong_dtype) {
    each.sentence += " are " + fact.dtype + when + "; it takes " +
                     (fact.classes ? "numbers of classes, int64." : "yes or no as floating-point numbers.") +
                     refused;
    each.cure = fact.classes
                    ? "labels.long() for numbers of classes; cross_entropy also takes shares of all classes, "
                      "of the shape of the scores."
                    : "labels.float() makes 0.0 and 1.0 of them.";
    return each;
  }
  if (fact.classes)
    each.sentence += " go from " + range_text(fact.least, fact.most) + " where its " +
                     std::to_string(fact.classes) + " classes are numbered 0 to " +
                     std::to_string(fact.classes - 1);
  else
    each.sentence += " go from " + range_text(fact.least, fact.most) + " where each is yes or no, 0 to 1";
  each.sentence += when + ": " + std::to_string(fact.wrong) + " of " + counted(fact.labels, "label") +
                   (fact.wrong == 1 ? " is" : " are") + " none of these";
  if (fact.ignored && fact.classes)
    each.sentence += "; " + short_number(*fact.ignored) + " (ignore_index) would not count";
  each.sentence += "." + refused;
  if (!fact.refused && !fact.classes)
    each.sentence += " Such a loss has no lowest value: it falls as long as the outputs grow.";
  each.cure = labels_cure(fact);
  return each;
}

}  // namespace

Findings troubled_labels(const HealthCases& cases) {
  Findings found;
  const auto key = [](const LabelTroubleFact& fact) { return std::pair(fact.place.location, fact.trouble); };
  std::set<std::pair<std::uint32_t, LabelTrouble>> told;
  for (const auto& one : repeated_facts(cases.program, &StepFacts::label_troubles, key)) {
    told.insert(key(*one.first));
    found.push_back(label_finding(cases, *one.first, one.since, when_text(cases, one.steps, false)));
  }
  if (!cases.program.behind) return found;
  for (const LabelTroubleFact& fact : cases.program.behind->label_troubles)
    if (told.insert(key(fact)).second)
      found.push_back(label_finding(cases, fact, cases.steps + 1, when_text(cases, 0, true)));
  return found;
}

Findings cleared_gradients(const HealthCases& cases) {
  Findings found;
  std::set<std::uint32_t> told;
  const auto tell = [&](const ClearedFact& fact, std::uint64_t since, std::size_t steps, bool behind) {
    if (!told.insert(fact.place.location).second) return;
    HealthFinding each =
        program_finding(cases, fact.place, since, "gradients cleared", HealthSeverity::error);
    const std::string who = list_text(fact.variables);
    const std::string gave = "The backward pass" + place_text(fact.arrival) + " gave gradients to " + who;
    each.sentence = gave +
                    (fact.none ? ", and the optimiser's step" + place_text(fact.place) +
                                     " found none (None): it changed nothing"
                               : ", and " + fact.place.op + place_text(fact.place) +
                                     " made zeros of them before the optimiser's step") +
                    when_text(cases, steps, behind) + ".";
    report(found, std::move(each),
           "Call optimizer.zero_grad() before backward(), or behind optimizer.step(), not between the two.");
  };
  const auto key = [](const ClearedFact& fact) { return fact.place.location; };
  for (const auto& one : repeated_facts(cases.program, &StepFacts::cleared, key))
    tell(*one.first, one.since, one.steps, false);
  if (cases.program.behind)
    for (const ClearedFact& fact : cases.program.behind->cleared) tell(fact, cases.steps + 1, 0, true);
  return found;
}

}  // namespace tapedeck::debug
