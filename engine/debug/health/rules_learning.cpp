// Values that are not finite, and variables that do not learn.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/debug/health/rules.h"
#include "engine/debug/why/elements.h"
#include "engine/record/health/health.h"

namespace tapedeck::debug {
namespace {

using namespace rules;

/// Beyond it the square is infinite in float32, whose largest number is 3.4e38.
constexpr double largest_square_root = 1.8e19;
/// An update of about a thousandth of that is below float32's half unit in the last place, 6e-8 of the
/// weight.
constexpr double lost_gradient = 1e-5;
/// Of the largest loss: what is below is rounding beside it.
constexpr double no_loss = 1e-7;

/// The value at the sample of that step; NaN: there is none.
double value_at(const HealthPoints& points, std::uint64_t step) {
  const auto found = std::ranges::lower_bound(points, step, {}, &HealthPoint::step);
  return found != points.end() && found->step == step ? found->value
                                                      : std::numeric_limits<double>::quiet_NaN();
}

/// Whether every loss of the run is as good as 0 at that step: then nothing is left to learn.
bool loss_is_gone(const HealthCases& cases, std::uint64_t step) {
  bool any = false;
  for (const HealthCase& subject : cases) {
    if (subject.kind != HealthKind::loss) continue;
    const double value = value_at(curve_of(subject, quantity::loss), step);
    if (std::isnan(value)) continue;
    double largest = subject.largest_loss;
    for (const HealthPoint& point : curve_of(subject, quantity::loss))
      largest = std::max(largest, std::abs(point.value));
    if (std::abs(value) > no_loss * largest) return false;
    any = true;
  }
  return any;
}

/// Which of a variable's tensors are not finite at that step, as words.
std::string broken_tensor(const HealthCase& subject, std::uint64_t step) {
  if (subject.kind != HealthKind::variable) return ": it gives ";
  const bool gradient = std::isinf(value_at(curve_of(subject, quantity::gradient), step));
  const bool value = std::isinf(value_at(curve_of(subject, quantity::weight), step));
  if (gradient && value) return ": its gradient and its value after the update have ";
  if (gradient) return ": its gradient has ";
  return value ? ": its value after the update has " : ": its gradient or value has ";
}

/// "at step 9 (not at step 4, the sample before)".
std::string first_seen_text(const HealthCases& cases, const HealthPoints& points, std::size_t first) {
  const std::uint64_t step = points[first].step;
  std::string text = " at step " + std::to_string(step);
  if (first > 0 && points[first - 1].step + 1 < step)
    text += " (not yet at step " + std::to_string(points[first - 1].step) + "; none between was sampled)";
  else if (first == 0 && (step > 1 || cases.cut))
    text += ", the first that was sampled";
  return text;
}

void broken_elements(const HealthCases& cases, const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, quantity::not_finite);
  const auto bad = std::ranges::find_if(points, [](const HealthPoint& point) { return point.value > 0; });
  if (bad == points.end()) return;
  const auto first = static_cast<std::size_t>(bad - points.begin());
  HealthFinding each =
      finding(subject, quantity::not_finite, points, first, "not finite", HealthSeverity::error);
  const auto count = static_cast<std::uint64_t>(bad->value);
  std::string many = counted(count, "element");
  each.sentence = subject.text + broken_tensor(subject, bad->step) + many +
                  (count == 1 ? " that is" : " that are") + " NaN or infinite" +
                  first_seen_text(cases, points, first) + line_text(subject) + ".";
  report(found, std::move(each), "Enter goes to the op; Why (F7) there finds where the first one was born.");
}

void broken_loss(const HealthCases& cases, const HealthCase& subject, Findings& found) {
  const HealthPoints& losses = curve_of(subject, quantity::loss);
  const auto worst =
      std::ranges::find_if(losses, [](const HealthPoint& point) { return !std::isfinite(point.value); });
  if (worst == losses.end()) return;
  const auto first = static_cast<std::size_t>(worst - losses.begin());
  HealthFinding each = finding(subject, quantity::loss, losses, first, "not finite", HealthSeverity::error);
  each.sentence = std::string("The loss is ") + (std::isnan(worst->value) ? "NaN" : "infinite") +
                  first_seen_text(cases, losses, first) + line_text(subject) + ".";
  report(found, std::move(each),
         "Enter goes to the playback; Why (F7) on its target finds where the first one was born.");
}

void no_gradient(const HealthCases& cases, const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, quantity::gradient);
  const auto span = lasting(points, [](double value) { return std::isnan(value); });
  if (!span) return;
  HealthFinding each =
      finding(subject, quantity::gradient, points, span->first, "no gradient", HealthSeverity::error);
  each.sentence = subject.text + " gets no gradient (None)" + span_text(cases, subject, points, *span) + ".";
  report(
      found, std::move(each),
      is_in_torch(cases)
          ? "Nothing that the loss was made of depends on it in a way that autograd could follow: look for "
            "detach(), .data, torch.no_grad(), item() or numpy() between."
          : "Nothing that the loss was made of depends on it in a way that the tape could follow.");
}

void zero_gradient(const HealthCases& cases, const HealthCase& subject, Findings& found) {
  const HealthPoints& points = curve_of(subject, quantity::gradient);
  const auto span = lasting(points, [](double value) { return value == 0; });
  if (!span) return;
  const std::uint64_t since = points[span->first].step;
  const bool gone = loss_is_gone(cases, since);
  HealthFinding each = finding(subject, quantity::gradient, points, span->first, "no learning",
                               gone              ? HealthSeverity::note
                               : span->count > 1 ? HealthSeverity::error
                                                 : HealthSeverity::warning);
  each.sentence = subject.text + " gets a gradient of exactly 0" + span_text(cases, subject, points, *span);
  std::size_t moved = 0, seen = 0;
  for (const HealthPoint& point : curve_of(subject, quantity::update))
    if (point.step >= since && value_at(points, point.step) == 0) {
      ++seen;
      moved += point.value != 0;
    }
  if (gone)
    each.sentence += "; the loss is practically 0 there, so nothing is left to learn.";
  else if (moved > 0)
    each.sentence += "; it changes all the same in " + std::to_string(moved) +
                     " of these: momentum, decay or an assignment moves it.";
  else
    each.sentence += seen > 0 ? ", and keeps its value." : ".";
  report(
      found, std::move(each),
      gone ? "Nothing, if the loss is as low as you want it."
           : "Some op on the way back made zeros; Why is this gradient None, or zero? (Shift+F7) finds it.");
}

void no_change(const HealthCases& cases, const HealthCase& subject, Findings& found) {
  const HealthPoints &points = curve_of(subject, quantity::update),
                     &gradients = curve_of(subject, quantity::gradient),
                     &weights = curve_of(subject, quantity::weight);
  const auto span = lasting(points, [](double value) { return value == 0; });
  if (!span || span->count < 2) return;
  std::vector<double> sizes;
  for (const HealthPoint& point : gradients)
    if (point.step >= points[span->first].step && point.value > 0) sizes.push_back(point.value);
  if (sizes.empty()) return;  // zeros, or none: another rule's
  const double gradient = median(std::move(sizes));
  const double weight = median_of(weights, 0, weights.size());
  const bool overflows = gradient > largest_square_root, tiny = gradient < lost_gradient * weight;
  HealthFinding each = finding(subject, quantity::update, points, span->first, "no learning",
                               overflows ? HealthSeverity::error
                               : tiny    ? HealthSeverity::note
                                         : HealthSeverity::warning);
  each.sentence = subject.text + " keeps its value" + span_text(cases, subject, points, *span) +
                  ", although its gradient's norm is about " + short_number(gradient);
  if (overflows) {
    each.sentence += ": the square of such a gradient is beyond float32.";
    each.cure =
        "Adam, RMSProp and Adagrad divide by the root of that square, infinity: look for what makes the "
        "gradient so large, or clip it by its global norm (" +
        clipping_of(cases) + ").";
  } else if (tiny) {
    each.sentence += ", beside a norm of " + short_number(weight) +
                     " of its value: an update may be below the digits of its dtype.";
    each.cure = "It may have converged; float64, or a larger learning rate, shows whether it has.";
  } else {
    each.sentence += ".";
    each.cure =
        "The samples do not say why: a learning rate of 0, a mask or a clip, or an update below the digits "
        "of the "
        "dtype. Enter goes to the update; look at what it was made of.";
  }
  found.push_back(std::move(each));
}

}  // namespace

Findings not_finite_values(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    broken_elements(cases, subject, found);
    broken_loss(cases, subject, found);
  }
  return found;
}

Findings no_learning(const HealthCases& cases) {
  Findings found;
  for (const HealthCase& subject : cases) {
    if (subject.kind != HealthKind::variable) continue;
    no_gradient(cases, subject, found);
    zero_gradient(cases, subject, found);
    no_change(cases, subject, found);
  }
  return found;
}

}  // namespace tapedeck::debug
