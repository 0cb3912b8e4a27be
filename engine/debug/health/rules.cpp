#include "engine/debug/health/rules.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <limits>
#include <set>
#include <tuple>

#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {

bool HealthCases::sees_begin() const {
  constexpr std::uint64_t share = 20;  // this program's own limit
  return !cut && first_sample() != 0 && first_sample() <= std::max<std::uint64_t>(2, steps / share);
}

std::size_t HealthCases::sampled_between(std::uint64_t from, std::uint64_t to) const {
  const auto first = std::ranges::lower_bound(sampled_steps, from);
  return static_cast<std::size_t>(std::upper_bound(first, sampled_steps.end(), to) - first);
}

namespace rules {

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double median_of(const HealthPoints& points, std::size_t first, std::size_t last) {
  std::vector<double> values;
  for (std::size_t i = first; i < std::min(last, points.size()); ++i)
    if (std::isfinite(points[i].value)) values.push_back(points[i].value);
  return median(std::move(values));
}

double newest_of(const HealthPoints& points, std::size_t count) {
  return median_of(points, points.size() - std::min(points.size(), count), points.size());
}

double newest_quarter_of(const HealthPoints& points) {
  return newest_of(points, points.size() / 4 + 1);
}

double oldest_quarter_of(const HealthPoints& points) {
  return median_of(points, 0, std::max<std::size_t>(1, points.size() / 4));
}

const HealthPoints& curve_of(const HealthCase& subject, std::string_view quantity) {
  static const HealthPoints none;
  const auto found = subject.curves.find(quantity);
  return found == subject.curves.end() ? none : found->second;
}

std::string line_text(const HealthCase& subject) {
  return subject.line ? ", line " + std::to_string(subject.line) : "";
}

std::string sampled_text(const HealthCases& cases) {
  return " (" + std::to_string(cases.sampled) + " of " + counted(cases.steps, "step") +
         (cases.sampled == 1 ? " was sampled" : " were sampled");
}

std::string span_text(const HealthCases& cases, const HealthCase& subject, const HealthPoints& points,
                      const Lasting& span) {
  const std::uint64_t from = points[span.first].step, to = points.back().step;
  const bool whole = span.count == to - from + 1 && to >= cases.steps;  // no step lies between two samples
  // Some quantities are not sampled in every step that is.
  const bool of_steps = whole || cases.sampled_between(from, to) <= span.count;
  const bool one = span.count == 1;
  std::string text = " in ";
  if (span.holding < span.count)
    text += std::to_string(span.holding) + " of the " + std::to_string(span.count) + (whole ? " steps" : "");
  else
    text += whole ? "every step" : one ? "the one" : "all " + std::to_string(span.count);
  if (!whole) text += of_steps ? (one ? " sampled step" : " sampled steps") : (one ? " sample" : " samples");
  if (span.first > 0 || from > 1) {
    if (one && !whole)
      text += ", step " + std::to_string(from);
    else
      text += " from step " + std::to_string(from) +
              (to >= cases.last_sample() ? " on" : " to " + std::to_string(to));
  } else if (to < cases.last_sample()) {
    text += " up to step " + std::to_string(to);
  }
  if (!whole) text += sampled_text(cases) + ")";
  if (span.first > 0 && points[span.first - 1].step + 1 < from)
    text += ", not yet at step " + std::to_string(points[span.first - 1].step);
  return text + line_text(subject);
}

HealthFinding finding(const HealthCase& subject, std::string_view quantity, const HealthPoints& points,
                      std::size_t first, const char* rule, HealthSeverity severity) {
  HealthFinding found = finding_at(subject, quantity, points[first], rule, severity);
  found.before = first == 0 ? std::nullopt : protocol::if_there(points[first - 1].step);
  return found;
}

HealthFinding finding_at(const HealthCase& subject, std::string_view quantity, const HealthPoint& point,
                         const char* rule, HealthSeverity severity) {
  HealthFinding found;
  found.rule = rule;
  found.severity = severity;
  found.subject = subject.subject;
  found.quantity = quantity;
  found.since = point.step;
  found.before = point.step > 1 ? std::optional(point.step - 1) : std::nullopt;
  found.record = point.record;
  found.line = subject.line;
  return found;
}

void report(Findings& found, HealthFinding finding, std::string cure) {
  finding.cure = std::move(cure);
  found.push_back(std::move(finding));
}

HealthFinding program_finding(const HealthCases& cases, const FactPlace& place, std::uint64_t step,
                              const char* rule, HealthSeverity severity) {
  HealthFinding found;
  found.rule = rule;
  found.severity = severity;
  found.since = step;
  found.record = place.record;
  const auto loss = std::ranges::find(cases.all, HealthKind::loss, &HealthCase::kind);
  if (loss == cases.all.end()) return found;
  found.subject = loss->subject;
  found.quantity = quantity::loss;
  return found;
}

std::string tuple_text(const std::vector<std::int64_t>& shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

std::string place_text(const FactPlace& place) {
  return place.line ? " (line " + std::to_string(place.line) + ")" : "";
}

std::string read_text(const HealthCases& cases, std::size_t steps) {
  const std::size_t read = cases.program.steps.size();
  if (read == 1) return " in the one step whose ops were read (of " + std::to_string(cases.steps) + ")";
  return " in " + (steps < read ? std::to_string(steps) + " of the " : std::string("all ")) +
         std::to_string(read) + " steps whose ops were read (of " + std::to_string(cases.steps) + ")";
}

std::string list_text(const std::vector<std::string>& names) {
  constexpr std::size_t most_in_list = 6;
  const std::size_t told = names.size() > most_in_list ? most_in_list - 1 : names.size();
  std::string text;
  for (std::size_t i = 0; i < told; ++i)
    text += (i == 0 ? "" : i + 1 < names.size() ? ", " : " and ") + names[i];
  return told < names.size() ? text + " and " + std::to_string(names.size() - told) + " more" : text;
}

std::string share_range(double least, double most) {
  const std::string from = share_text(least), to = share_text(most);
  if (from == to) return to;
  const bool plain =
      from.ends_with(" %") && to.ends_with(" %") && std::isdigit(static_cast<unsigned char>(from[0])) != 0;
  return (plain ? from.substr(0, from.size() - 2) : from) + " to " + to;
}

bool is_weight(const HealthCase& subject) {
  return subject.kind == HealthKind::variable && subject.shape.size() >= 2;
}

double elements_of(const HealthCase& subject) {
  double count = 1;
  for (const std::int64_t extent : subject.shape) count *= static_cast<double>(extent);
  return std::max(count, 1.0);
}

}  // namespace rules

namespace {

using namespace rules;

/// What may be the cause of what: a rule's place from the causes on.
int cause_rank(const HealthFinding& finding) {
  static constexpr std::array<std::string_view, 35> order = {"labels out of range",
                                                             "labels of another dtype",
                                                             "gradients cleared",
                                                             "broadcast from both sides",
                                                             "variable re-created each step",
                                                             "same variable listed twice",
                                                             "gradients added up",
                                                             "softmax over examples",
                                                             "inverted mask",
                                                             "labels are the inputs",
                                                             "applied twice",
                                                             "wrong custom gradient",
                                                             "evaluation mode in training",
                                                             "normalised over the wrong axis",
                                                             "unnormalised data",
                                                             "learning rate",
                                                             "rho not 1 / s·y",
                                                             "no descent direction",
                                                             "exploding gradient",
                                                             "large updates",
                                                             "not finite",
                                                             "no gradient",
                                                             "never updated",
                                                             "dead units",
                                                             "saturated units",
                                                             "no learning",
                                                             "rank collapse",
                                                             "vanishing gradient",
                                                             "s·y not positive",
                                                             "rho huge",
                                                             "tiny steps",
                                                             "small updates",
                                                             "loss at chance",
                                                             "loss",
                                                             "training mode in evaluation"};
  return static_cast<int>(std::ranges::find(order, finding.rule) - order.begin());
}

/// Whether the one may have led to the other: of kinds for which that is known, and not later.
bool may_cause(const HealthFinding& cause, const HealthFinding& effect) {
  if (cause.since > effect.since) return false;
  const std::string &from = cause.rule, &to = effect.rule;
  const bool numbers = to == "exploding gradient" || to == "large updates" || to == "not finite" ||
                       to == "dead units" || to == "saturated units" || to == "loss";
  if (from == "learning rate" || from == "unnormalised data" || from == "gradients added up" ||
      from == "normalised over the wrong axis")
    return numbers;
  if (from == "exploding gradient" || from == "large updates")
    return to == "not finite" || to == "dead units" || to == "saturated units" || to == "loss";
  if (from == "gradients added up" && to == "learning rate") return true;
  if (from == "gradients cleared") return to == "no learning" || to == "loss";
  if (from == "dead units" || from == "saturated units") return to == "no learning";
  if (from == "rho not 1 / s·y") return to == "no descent direction" || to == "s·y not positive";
  return from == "no descent direction" && to == "s·y not positive";
}

}  // namespace

HealthCases finite_part(HealthCases cases) {
  std::set<std::uint64_t>
      steps;  // whose forward pass was not finite: relu makes zeros of NaN on the way back
  for (const HealthCase& subject : cases) {
    for (const HealthPoint& point : curve_of(subject, quantity::loss))
      if (!std::isfinite(point.value)) steps.insert(point.step);
    if (subject.kind != HealthKind::activation) continue;
    for (const HealthPoint& point : curve_of(subject, quantity::not_finite))
      if (point.value > 0) steps.insert(point.step);
  }
  std::set<std::uint64_t> touched = steps;
  for (HealthCase& subject : cases.all) {
    if (subject.kind == HealthKind::published) continue;
    std::set<std::uint64_t> broken;  // records
    for (const HealthPoint& point : curve_of(subject, quantity::not_finite))
      if (point.value > 0) broken.insert(point.record);
    for (auto& [name, points] : subject.curves) {
      if (name == quantity::not_finite) continue;
      const bool of_gradient = name == quantity::gradient;
      std::erase_if(points, [&](const HealthPoint& point) {
        if (of_gradient && std::isnan(point.value)) return false;  // None
        // Gradients of older recordings are norms of what is finite.
        const bool leaves = !std::isfinite(point.value) || steps.contains(point.step) ||
                            (of_gradient && broken.contains(point.record));
        if (leaves) touched.insert(point.step);
        return leaves;
      });
    }
  }
  cases.not_finite = touched.size();
  return cases;
}

Findings judge(const HealthCases& cases) {
  const HealthCases finite = finite_part(cases);
  Findings all = not_finite_values(cases);
  for (const auto rule :
       {no_learning,          dead_units,           saturated_units,  vanishing_gradients,
        exploding_gradients,  updates_out_of_range, collapsed_ranks,  losses_that_do_not_fall,
        quasi_newton_trouble, squashed_twice,       forgotten_axes,   custom_gradients,
        recreated_variables,  resting_variables,    wrong_modes,      unnormalised_inputs,
        rates_too_large,      wrong_class_axes,     inverted_masks,   echoed_labels,
        summed_gradients,     variables_twice,      wrong_scale_axes, troubled_labels,
        cleared_gradients}) {
    Findings found = rule(finite);
    all.insert(all.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  for (bool grew = true; grew;) {
    grew = false;
    for (HealthFinding& cause : all)
      for (const HealthFinding& effect : all)
        if (effect.severity > cause.severity && may_cause(cause, effect)) {
          cause.severity = effect.severity;
          grew = true;
        }
  }
  std::ranges::stable_sort(all, [](const HealthFinding& a, const HealthFinding& b) {
    const auto key = [](const HealthFinding& each) {
      // Of what is not finite the first op is the one to look at; else the layers' order stays.
      const std::uint64_t record = each.rule == "not finite" ? each.record : 0;
      return std::tuple(-static_cast<int>(each.severity), cause_rank(each), each.since, record);
    };
    return key(a) < key(b);
  });
  return all;
}

std::vector<std::string> not_seen(const HealthCases& cases) {
  constexpr std::uint64_t trend_samples = 20;
  std::vector<std::string> texts;
  if (cases.cut)
    texts.push_back(
        "Steps of this run were dropped before Health counted them: steps are counted from the first known "
        "one, and the start of the run is unknown.");
  if (cases.sampled < cases.steps)
    texts.push_back(std::to_string(cases.sampled) + " of " + counted(cases.steps, "step") +
                    (cases.sampled == 1 ? " was" : " were") +
                    " sampled: what happened only in the others is not visible.");
  if (!cases.cut && cases.sampled > 0 && !cases.sees_begin())
    texts.push_back("No step before step " + std::to_string(cases.first_sample()) +
                    " was sampled: the start of the run is unknown.");
  if (cases.steps > 0 && cases.sampled < trend_samples)
    texts.push_back("A loss's trend is not judged before " + std::to_string(trend_samples) +
                    " steps were sampled.");
  if (std::ranges::any_of(cases, [&](const HealthCase& each) {
        return each.kind == HealthKind::loss && has_no_trend(cases, each);
      }))
    texts.push_back(
        "Several losses take turns (two networks, or several calls of one line): their trends are not "
        "judged.");
  const ProgramFacts& program = cases.program;
  if (!program.steps.empty() && program.steps.size() < cases.steps)
    texts.push_back("The ops, labels and inputs of " + std::to_string(program.steps.size()) + " of " +
                    counted(cases.steps, "step") + " were read.");
  if (std::ranges::any_of(program.steps, &StepFacts::cut))
    texts.push_back("Of steps with very many ops only the first 20,000 were read.");
  if (std::ranges::any_of(program.steps, &StepFacts::values_gone))
    texts.push_back("The values of some labels, inputs or attention weights are gone, and were not judged.");
  if (cases.not_finite > 0)
    texts.push_back("The samples of " + counted(cases.not_finite, "step") +
                    " have NaN or infinite values, which the other rules leave out.");
  return texts;
}

}  // namespace tapedeck::debug
