#include "engine/debug/health/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/debug/why/elements.h"
#include "engine/ops/core/op.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {

using protocol::HealthFinding;
using protocol::HealthKind;
using protocol::HealthSeverity;

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

const HealthPoints& curve_of(const HealthCase& subject, std::string_view quantity) {
  static const HealthPoints none;
  const auto found = subject.curves.find(quantity);
  return found == subject.curves.end() ? none : found->second;
}

std::string since_text(const HealthCase& subject, const HealthPoints& points, std::size_t first) {
  const std::string line = subject.line ? ", line " + std::to_string(subject.line) : "";
  const std::string step = std::to_string(points[first].step);
  if (first == 0)
    return points[0].step <= 1 ? " since the first step" + line
                               : " since step " + step + ", the first that was looked at" + line;
  const std::uint64_t before = points[first - 1].step;
  if (before + 1 >= points[first].step) return " since step " + step + line;
  return " since step " + step + " or some steps before (not yet at step " + std::to_string(before) + ")" +
         line;
}

HealthFinding finding(const HealthCase& subject, std::string_view quantity, const HealthPoints& points,
                      std::size_t first, const char* rule, HealthSeverity severity) {
  HealthFinding found;
  found.rule = rule;
  found.severity = severity;
  found.subject = subject.subject;
  found.quantity = quantity;
  found.since = points[first].step;
  found.before = first == 0 ? std::nullopt : protocol::if_there(points[first - 1].step);
  found.record = points[first].record;
  found.line = subject.line;
  return found;
}

}  // namespace rules

namespace {

using namespace rules;

/// "As much as 40 % of your network can be 'dead'" is where Stanford's CS231n warns (notes, "Neural networks
/// 1", on ReLU).
constexpr double many_dead = 0.4, most_dead = 0.9;
/// X. Glorot, Y. Bengio, "Understanding the difficulty of training deep feedforward neural networks", 2010,
/// section 3: saturated layers learn slowly. Half of the outputs is this program's own limit.
constexpr double many_saturated = 0.5;
/// Gradients of two layers per element: beyond that the same optimiser can hardly serve both (this program's
/// own limit; float32 has 7 digits).
constexpr double vanishing_share = 1e-4;
/// Against what was usual before.
constexpr double explosion = 100;
/// "Roughly it should be somewhere on the 1e-3" (CS231n notes, "Neural networks 3"): two orders more, and
/// three less, are told.
constexpr double largest_update = 1e-1, smallest_update = 1e-6;
/// Of an effective rank that was at least `usual_rank` once.
constexpr double collapsed_rank = 1.5, usual_rank = 3;

bool is_weight(const HealthCase& subject) {
  return subject.kind == HealthKind::variable && subject.shape.size() >= 2;
}

double elements_of(const HealthCase& subject) {
  double count = 1;
  for (const std::int64_t extent : subject.shape) count *= static_cast<double>(extent);
  return std::max(count, 1.0);
}

/// What a rule says: the subject, `what`, since when, `then`.
struct Saying {
  const char* rule;
  HealthSeverity severity;
  std::string what, then;
  const char* cure;
  const char* always = nullptr;  ///< in place of `then`, where it was so in all samples
};

/// Of what holds from some sample on to the newest, for `least` samples.
template <class Holds>
void add_lasting(Findings& found, const HealthCase& subject, std::string_view quantity, Holds&& holds,
                 const Saying& saying, std::size_t least = 1) {
  const HealthPoints& points = curve_of(subject, quantity);
  const std::size_t first = trailing(points, [&](const HealthPoint& point) { return holds(point.value); });
  if (points.size() - first < least) return;
  HealthFinding each = finding(subject, quantity, points, first, saying.rule, saying.severity);
  each.sentence = subject.text + saying.what + since_text(subject, points, first) +
                  (first == 0 && saying.always ? saying.always : saying.then);
  each.cure = saying.cure;
  found.push_back(std::move(each));
}

}  // namespace

Findings not_finite_values(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::not_finite);
    const auto bad = std::ranges::find_if(points, [](const HealthPoint& point) { return point.value > 0; });
    if (bad != points.end()) {
      const auto first = static_cast<std::size_t>(bad - points.begin());
      HealthFinding each =
          finding(subject, quantity::not_finite, points, first, "not finite", HealthSeverity::error);
      const auto count = static_cast<std::uint64_t>(bad->value);
      each.sentence =
          subject.text +
          (subject.kind == HealthKind::variable ? ": its gradient or value has " : ": it gives ") +
          counted(count, "NaN or infinity") + since_text(subject, points, first) + ".";
      if (count != 1) each.sentence.replace(each.sentence.find("NaN or infinitys"), 16, "NaN or infinities");
      each.cure = "Enter goes to the op; Why (F7) there finds where the first one was born.";
      found.push_back(std::move(each));
    }
    const HealthPoints& losses = curve_of(subject, quantity::loss);
    const auto worst =
        std::ranges::find_if(losses, [](const HealthPoint& point) { return !std::isfinite(point.value); });
    if (worst == losses.end()) continue;
    const auto first = static_cast<std::size_t>(worst - losses.begin());
    HealthFinding each = finding(subject, quantity::loss, losses, first, "not finite", HealthSeverity::error);
    each.sentence = "The loss is NaN or infinite" + since_text(subject, losses, first) + ".";
    each.cure = "Enter goes to the playback; Why (F7) on its target finds where the first one was born.";
    found.push_back(std::move(each));
  }
  return found;
}

Findings dead_units(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::dead);
    if (points.empty() || points.back().value < many_dead) continue;
    const double share = points.back().value;
    const double limit = std::max(many_dead / 2, 0.6 * share);  // it may come in several steps
    const std::string units =
        subject.shape.empty() ? "units" : counted(static_cast<std::uint64_t>(subject.shape.back()), "unit");
    add_lasting(found, subject, quantity::dead, [&](double value) { return value >= limit; },
                {"dead units", share >= most_dead ? HealthSeverity::error : HealthSeverity::warning,
                 ": " + share_text(share) + " of its " + units + " are dead",
                 ". They give 0 for every example, so no gradient reaches their weights.",
                 "A smaller learning rate, He initialisation, biases that begin a little above 0, or "
                 "leaky_relu in its place keep units alive; look at the update just before that step."});
  }
  return found;
}

/// Softmax decides: its results are meant to lie near 0 and 1.
bool decides(const HealthCase& subject) {
  const OpDef* op = Registry::instance().find(subject.op);
  return op && op->facts.activation == Activation::softmax;
}

Findings saturated_units(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::saturated);
    if (points.empty() || decides(subject) || points.back().value < many_saturated) continue;
    add_lasting(
        found, subject, quantity::saturated, [](double value) { return value >= 0.8 * many_saturated; },
        {"saturated units", HealthSeverity::warning,
         ": " + share_text(points.back().value) + " of its outputs are at a flat end of " + subject.op,
         ", where hardly any gradient gets through.",
         "Smaller initial weights, normalised inputs (or batch normalisation before it), or a smaller "
         "learning rate."});
  }
  return found;
}

Findings no_learning(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    if (subject.kind != HealthKind::variable) continue;
    const HealthPoints& gradients = curve_of(subject, quantity::gradient);
    if (gradients.empty()) continue;
    const auto is_none = [](double value) { return std::isnan(value); };
    const auto is_zero = [](double value) { return value == 0; };
    if (is_none(gradients.back().value))
      add_lasting(
          found, subject, quantity::gradient, is_none,
          {"no learning", HealthSeverity::error, " gets no gradient (None)", ": it has stopped learning.",
           "Nothing that the loss was made of depends on it in a way that the tape could follow.",
           ": it does not learn."});
    else if (is_zero(gradients.back().value))
      add_lasting(found, subject, quantity::gradient, is_zero,
                  {"no learning", HealthSeverity::error, " gets a gradient of exactly 0",
                   ": it has stopped learning.",
                   "Some op on the way back made zeros; Why is my gradient zero? (Shift+F7) finds it.",
                   ": it does not learn."});
    else
      add_lasting(
          found, subject, quantity::update, is_zero,
          {"no learning", HealthSeverity::warning, " does not change", ", although its gradient is not 0.",
           "The learning rate may have fallen to 0, or the updates are too small for the dtype of the "
           "weights."},
          2);
  }
  return found;
}

Findings vanishing_gradients(const HealthCases& cases) {
  const HealthCase* largest = nullptr;
  double most = 0;
  const auto usual = [](const HealthCase& subject) {
    const HealthPoints& points = curve_of(subject, quantity::gradient);
    return median_of(points, points.size() - points.size() / 4 - 1, points.size()) /
           std::sqrt(elements_of(subject));
  };
  for (const HealthCase& subject : cases) {
    if (!is_weight(subject) || curve_of(subject, quantity::gradient).empty()) continue;
    const double here = usual(subject);
    if (!(here > most)) continue;
    most = here;
    largest = &subject;
  }
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::gradient);
    if (!largest || !is_weight(subject) || points.empty()) continue;
    const double here = usual(subject), limit = vanishing_share * most;
    if (!(here > 0 && here < limit)) continue;
    const double scale = std::sqrt(elements_of(subject));
    add_lasting(found, subject, quantity::gradient, [&](double value) { return value / scale < 2 * limit; },
                {"vanishing gradient", HealthSeverity::warning,
                 ": an element of its gradient is about " + short_number(here) + ", one of " + largest->text +
                     " " + short_number(most),
                 ": it learns " + short_number(most / here) + " times more slowly.",
                 "Initialisation that fits the activation (Glorot, He), relu in place of sigmoid or tanh, "
                 "normalisation, or shortcuts."});
  }
  return found;
}

Findings exploding_gradients(const HealthCases& cases) {
  Findings found;
  constexpr std::size_t least_before = 5;
  for (const HealthCase& subject : cases) {
    if (subject.kind != HealthKind::variable) continue;
    const HealthPoints& points = curve_of(subject, quantity::gradient);
    for (std::size_t i = least_before; i < points.size(); ++i) {
      const double usual = median_of(points, i > 50 ? i - 50 : 0, i);
      if (!(points[i].value > 1 && usual > 0 && points[i].value > explosion * usual)) continue;
      HealthFinding each =
          finding(subject, quantity::gradient, points, i, "exploding gradient", HealthSeverity::warning);
      each.sentence = subject.text + ": its gradient's norm is " + short_number(points[i].value) +
                      " at step " + std::to_string(points[i].step) + ", " +
                      short_number(points[i].value / usual) + " times what it was before" +
                      (subject.line ? ", line " + std::to_string(subject.line) : "") + ".";
      each.cure = "A smaller learning rate, or clipping by the global norm (tf.clip_by_global_norm).";
      found.push_back(std::move(each));
      break;
    }
  }
  return found;
}

Findings updates_out_of_range(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::update);
    if (!is_weight(subject) || points.size() < 4) continue;
    const double usual = median_of(points, points.size() / 2, points.size());
    const bool large = usual > largest_update;
    if (!large && !(usual > 0 && usual < smallest_update)) continue;
    add_lasting(
        found, subject, quantity::update,
        [large](double value) { return large ? value > largest_update / 2 : value < 2 * smallest_update; },
        {large ? "large updates" : "small updates", large ? HealthSeverity::warning : HealthSeverity::note,
         ": each step changes it by about " + short_number(usual) + " of its size", "; about 0.001 is usual.",
         large ? "A smaller learning rate; the weights forget what they learned."
               : "A larger learning rate, or one of its own for this variable."});
  }
  return found;
}

Findings collapsed_ranks(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::rank);
    if (points.size() < 4 || points.back().value > collapsed_rank) continue;
    const double usual = median_of(points, 0, std::max<std::size_t>(2, points.size() / 4));
    if (usual < usual_rank) continue;
    add_lasting(
        found, subject, quantity::rank, [](double value) { return value <= 1.2 * collapsed_rank; },
        {"rank collapse", HealthSeverity::warning,
         ": the effective rank of its gradient is " + short_number(points.back().value),
         "; it was " + short_number(usual) + " at the beginning. All its units are pushed the same way.",
         "Look at whether the examples of a batch, or the units, have become alike: dead units, one class "
         "alone, a loss that one example rules."});
  }
  return found;
}

Findings losses_that_do_not_fall(const HealthCases& cases) {
  Findings found;
  constexpr std::size_t least_points = 20;
  for (const HealthCase& subject : cases) {
    const HealthPoints& points = curve_of(subject, quantity::loss);
    if (points.size() < least_points) continue;
    const double early = median_of(points, 0, points.size() / 4);
    const double late = median_of(points, points.size() - points.size() / 4, points.size());
    if (!(late > early - 0.01 * std::abs(early))) continue;
    const std::size_t first = points.size() / 4;
    const bool rises = late > early + 0.5 * std::abs(early);
    HealthFinding each = finding(subject, quantity::loss, points, first, "loss",
                                 rises ? HealthSeverity::error : HealthSeverity::warning);
    each.before =
        each.since > 1 ? std::optional(each.since - 1) : std::nullopt;  // no moment at which it began
    each.sentence =
        std::string(rises ? "The loss rises: it was about " : "The loss does not fall: it was about ") +
        short_number(early) + " in the first quarter of the steps and is " + short_number(late) +
        " in the last" + (subject.line ? ", line " + std::to_string(subject.line) : "") + ".";
    each.cure = rises ? "A smaller learning rate; does the update go downhill (assign_sub of the gradient)?"
                      : "The other findings may say why; else another learning rate, or labels that do not "
                        "belong to the inputs.";
    found.push_back(std::move(each));
  }
  return found;
}

Findings judge(const HealthCases& cases) {
  Findings all;
  for (const auto rule :
       {not_finite_values, no_learning, dead_units, saturated_units, vanishing_gradients, exploding_gradients,
        updates_out_of_range, collapsed_ranks, losses_that_do_not_fall, quasi_newton_trouble}) {
    Findings found = rule(cases);
    all.insert(all.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  std::stable_sort(all.begin(), all.end(), [](const HealthFinding& a, const HealthFinding& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.since < b.since;
  });
  return all;
}

}  // namespace tapedeck::debug
