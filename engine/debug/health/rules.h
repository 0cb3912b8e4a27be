// What the samples of one run say, in plain sentences: a small pure function for each rule.
//
// A sentence covers what was sampled and says so: over how many samples, of how many steps. What a rule
// cannot see (steps without a sample, forgotten ones, values that are not finite) it does not judge.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/debug/health/facts.h"
#include "engine/protocol/health.h"

namespace tapedeck::debug {

struct HealthPoint {
  std::uint64_t step = 0, record = 0;  ///< the step counts from 1 within the run
  double value = 0;
};
using HealthPoints = std::vector<HealthPoint>;

/// A subject as the rules see it.
struct HealthCase {
  std::uint32_t subject = 0;
  protocol::HealthKind kind = protocol::HealthKind::variable;
  std::string text;  ///< what sentences call it: "W1", "dense (relu)", "relu after W1"
  std::string op;    ///< of an activation
  std::vector<std::int64_t> shape;
  std::uint32_t line = 0;      ///< 0: unknown
  std::uint64_t variable = 0;  ///< its id, of a variable
  double largest_loss = 0;     ///< of a loss: the largest finite size in any run
  std::map<std::string, HealthPoints, std::less<>> curves;
};

/// One run: its subjects in the layers' order, and how much of it was sampled.
struct HealthCases {
  std::vector<HealthCase> all;
  std::uint64_t steps = 0;                   ///< that are known
  std::uint64_t sampled = 0;                 ///< of them
  std::vector<std::uint64_t> sampled_steps;  ///< their numbers, which rise
  bool cut = false;                          ///< steps before the first that is known were forgotten
  std::uint64_t not_finite = 0;              ///< steps from which samples were left out for that

  ProgramFacts program;  ///< what the ops of a few of these steps say

  auto begin() const { return all.begin(); }
  auto end() const { return all.end(); }
  std::uint64_t first_sample() const { return sampled_steps.empty() ? 0 : sampled_steps.front(); }
  std::uint64_t last_sample() const { return sampled_steps.empty() ? 0 : sampled_steps.back(); }
  /// How many steps from `from` to `to` were sampled.
  std::size_t sampled_between(std::uint64_t from, std::uint64_t to) const;
  /// Whether samples say what was usual when the run began.
  bool sees_begin() const;
};
/// The caller, which knows the records, fills in place, op and tensor.
using Findings = std::vector<protocol::HealthFinding>;

// Each returns what it finds, in the cases' order. All but the first take finite_part of the cases.
Findings not_finite_values(const HealthCases& cases);
Findings no_learning(const HealthCases& cases);
Findings dead_units(const HealthCases& cases);
Findings saturated_units(const HealthCases& cases);
Findings vanishing_gradients(const HealthCases& cases);
Findings exploding_gradients(const HealthCases& cases);
Findings updates_out_of_range(const HealthCases& cases);
Findings collapsed_ranks(const HealthCases& cases);
Findings losses_that_do_not_fall(const HealthCases& cases);
Findings quasi_newton_trouble(const HealthCases& cases);  ///< L-BFGS

// Of the program's ops, as far as their steps were read.
Findings squashed_twice(const HealthCases& cases);  ///< softmax before a loss that applies it
Findings forgotten_axes(const HealthCases& cases);  ///< (N,) − (N, 1) in a loss
Findings custom_gradients(const HealthCases& cases);
Findings recreated_variables(const HealthCases& cases);
Findings resting_variables(const HealthCases& cases);
Findings wrong_modes(const HealthCases& cases);  ///< of dropout and batch normalisation
Findings unnormalised_inputs(const HealthCases& cases);
Findings wrong_scale_axes(const HealthCases& cases);  ///< inputs normalised over the wrong axis
Findings rates_too_large(const HealthCases& cases);   ///< learning rates
Findings wrong_class_axes(const HealthCases& cases);  ///< softmax over the examples
Findings inverted_masks(const HealthCases& cases);
Findings echoed_labels(const HealthCases& cases);      ///< that are what the network is given
Findings summed_gradients(const HealthCases& cases);   ///< those of earlier steps in an update
Findings troubled_labels(const HealthCases& cases);    ///< that the loss cannot mean
Findings cleared_gradients(const HealthCases& cases);  ///< between the playback and the step
Findings variables_twice(const HealthCases& cases);    ///< in one list of variables

/// " The updates of w go up the gradient …", and `record`, the first of them; empty where they do not.
std::string uphill_text(const HealthCases& cases, std::uint64_t& record);

/// A loss that is that of a guess; losses_that_do_not_fall asks.
std::optional<protocol::HealthFinding> loss_at_chance(const HealthCases& cases, const HealthCase& loss);

/// Losses of several networks in one line, or that take turns: what one gains another may lose, and its curve
/// says nothing alone.
bool has_no_trend(const HealthCases& cases, const HealthCase& loss);

/// The same without the samples that are NaN or infinite, and without those of steps whose loss or
/// activations have such elements. A gradient's NaN stays: there was none (None).
HealthCases finite_part(HealthCases cases);

/// All of them, the gravest first. What may have caused a graver finding in the same step or later is as
/// grave, and comes before it.
Findings judge(const HealthCases& cases);

/// What the rules could not see of the run, a sentence each.
std::vector<std::string> not_seen(const HealthCases& cases);

// What the rules' files share.
namespace rules {

using protocol::HealthFinding;
using protocol::HealthKind;
using protocol::HealthSeverity;

/// A condition that holds from the point `first` on to the newest, but for a few.
struct Lasting {
  std::size_t first = 0;
  std::size_t count = 0;    ///< of the points from there on
  std::size_t holding = 0;  ///< of them
};

/// The split that puts most points on their right side, where at least nine of ten from there on hold.
template <class Holds>
std::optional<Lasting> lasting(const HealthPoints& points, Holds&& holds) {
  std::size_t wrong = 0;  // of a split before all points: those that do not hold
  for (const HealthPoint& point : points) wrong += !holds(point.value);
  std::size_t least = wrong, first = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    wrong = holds(points[i].value) ? wrong + 1 : wrong - 1;
    if (wrong >= least) continue;
    least = wrong;
    first = i + 1;
  }
  if (first >= points.size()) return std::nullopt;
  std::size_t missing = 0;
  for (std::size_t i = first; i < points.size(); ++i) missing += !holds(points[i].value);
  const std::size_t count = points.size() - first;
  if (10 * missing > count) return std::nullopt;
  return Lasting{first, count, count - missing};
}

double median(std::vector<double> values);
/// Of the points from `first` to before `last` that are finite.
double median_of(const HealthPoints& points, std::size_t first, std::size_t last);
const HealthPoints& curve_of(const HealthCase& subject, std::string_view quantity);  ///< empty: there is none
/// ", line 14"; nothing where it is not known.
std::string line_text(const HealthCase& subject);
/// " in every step", " in all 41 sampled steps from step 122 on (77 of 300 steps were sampled)",
/// " in 40 of the 41 sampled steps from step 122 to 250", with the line.
std::string span_text(const HealthCases& cases, const HealthCase& subject, const HealthPoints& points,
                      const Lasting& span);
protocol::HealthFinding finding(const HealthCase& subject, std::string_view quantity,
                                const HealthPoints& points, std::size_t first, const char* rule,
                                protocol::HealthSeverity severity);
/// The same for a finding without a first step: no search between two samples follows.
protocol::HealthFinding finding_at(const HealthCase& subject, std::string_view quantity,
                                   const HealthPoint& point, const char* rule,
                                   protocol::HealthSeverity severity);
/// Adds a finding whose sentence is written, with what helps against it.
void report(Findings& found, HealthFinding finding, std::string cure);
/// Medians: of the newest `count` points, of the newest and of the oldest quarter.
double newest_of(const HealthPoints& points, std::size_t count);
double newest_quarter_of(const HealthPoints& points);
double oldest_quarter_of(const HealthPoints& points);
/// " (77 of 300 steps were sampled".
std::string sampled_text(const HealthCases& cases);

/// A finding of a condition that lasts; its sentence and cure are still to be written.
struct LastingFinding {
  HealthFinding finding;
  Lasting span;
  std::string where;  ///< span_text
};
/// Nothing where the condition does not last.
template <class Holds>
std::optional<LastingFinding> lasting_finding(const HealthCases& cases, const HealthCase& subject,
                                              std::string_view quantity, const char* rule,
                                              HealthSeverity severity, Holds&& holds) {
  const HealthPoints& points = curve_of(subject, quantity);
  const auto span = lasting(points, holds);
  if (!span) return std::nullopt;
  return LastingFinding{finding(subject, quantity, points, span->first, rule, severity), *span,
                        span_text(cases, subject, points, *span)};
}

/// A finding about an op of the program. Its curve is the loss's.
HealthFinding program_finding(const HealthCases& cases, const FactPlace& place, std::uint64_t step,
                              const char* rule, HealthSeverity severity);
/// Whether the op is one of PyTorch's: what helps is called otherwise there.
inline bool is_in_torch(const FactPlace& place) {
  return place.op.starts_with("aten.");
}
inline bool is_in_torch(const HealthCases& cases) {
  const ProgramFacts& program = cases.program;
  return program.steps.empty() ? program.behind && program.behind->in_torch : program.steps.front().in_torch;
}
/// What clips gradients by their global norm.
inline std::string clipping_of(const HealthCases& cases) {
  return is_in_torch(cases) ? "torch.nn.utils.clip_grad_norm_" : "tf.clip_by_global_norm";
}
/// " (line 14)"; nothing where it is not known.
std::string place_text(const FactPlace& place);
/// " in all 5 steps whose ops were read (of 300)", " in 3 of the 5 steps …".
std::string read_text(const HealthCases& cases, std::size_t steps);

/// One fact and the steps that have it.
template <class Fact>
struct Repeated {
  const Fact* first = nullptr;
  const Fact* newest = nullptr;
  std::uint64_t since = 0;
  std::size_t steps = 0;
};

/// Facts of the steps, those of one place together, in the order in which they were met.
template <class Fact, class Key>
std::vector<Repeated<Fact>> repeated_facts(const ProgramFacts& program, std::vector<Fact> StepFacts::*facts,
                                           Key&& key) {
  std::vector<Repeated<Fact>> found;
  std::map<decltype(key(std::declval<const Fact&>())), std::size_t> places;
  for (const StepFacts& step : program.steps) {
    std::set<std::size_t> counted_here;
    for (const Fact& fact : step.*facts) {
      const auto [at, fresh] = places.try_emplace(key(fact), found.size());
      if (fresh) found.push_back({&fact, &fact, step.step, 0});
      found[at->second].newest = &fact;
      if (counted_here.insert(at->second).second) ++found[at->second].steps;
    }
  }
  return found;
}

/// A finding of each place that at least so many steps have. `write(repeated, finding)` writes sentence and
/// cure.
template <class Fact, class Key, class Write>
Findings findings_of(const HealthCases& cases, std::vector<Fact> StepFacts::*facts, const char* rule,
                     HealthSeverity severity, std::size_t least_steps, Key&& key, Write&& write) {
  Findings found;
  for (const auto& one : repeated_facts(cases.program, facts, key)) {
    if (one.steps < least_steps) continue;
    HealthFinding each = program_finding(cases, one.first->place, one.since, rule, severity);
    write(one, each);
    found.push_back(std::move(each));
  }
  return found;
}

/// "a, b and c"; of many names the first few and how many more there are.
std::string list_text(const std::vector<std::string>& names);
/// "(64, 1)", as Python writes it.
std::string tuple_text(const std::vector<std::int64_t>& shape);

/// What `look` finds wrong with each subject, an optional finding.
template <class Look>
Findings look_at_each(const HealthCases& cases, Look&& look) {
  Findings found;
  for (const HealthCase& subject : cases)
    if (std::optional<HealthFinding> one = look(subject)) found.push_back(std::move(*one));
  return found;
}
/// "70 to 83 %" of the shares in the span that hold; "83 %" where they are alike.
template <class Holds>
std::string shares_text(const HealthPoints& points, const Lasting& span, Holds&& holds);
std::string share_range(double least, double most);
double elements_of(const HealthCase& subject);
bool is_weight(const HealthCase& subject);  ///< a variable of two axes or more

}  // namespace rules

template <class Holds>
std::string rules::shares_text(const HealthPoints& points, const Lasting& span, Holds&& holds) {
  double least = points[span.first].value, most = least;
  for (std::size_t i = span.first; i < points.size(); ++i) {
    if (!holds(points[i].value)) continue;
    least = points[i].value < least ? points[i].value : least;
    most = points[i].value > most ? points[i].value : most;
  }
  return share_range(least, most);
}

}  // namespace tapedeck::debug
