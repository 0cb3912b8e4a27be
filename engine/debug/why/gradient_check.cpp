// Is this gradient right? The VJP's answer beside central differences in float64, at the record's own inputs.
// Small inputs: element by element. Large ones: along random directions, and where these differ, by halves
// down to the element; and the largest elements of the gradient.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/debug/why/wide_run.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t few_elements = 64, fewest = 6, most = 200;
constexpr std::chrono::milliseconds time_aim(600);
constexpr int directions = 3;
constexpr double check_infinity = std::numeric_limits<double>::infinity();

using Function = std::function<Tensors(std::span<const Tensor>)>;

double tolerance_of(DType dtype) {
  if (dtype == DType::float64) return 1e-4;
  return is_narrow(dtype) ? 0.1 : 2e-3;
}

/// An element, what the VJP says there, and what differences say.
struct Look {
  std::int64_t place = -1;
  double given = 0, found = 0;
  double error = -1;  ///< relative; infinite where the VJP alone gives no number; -1: not to be compared
};

/// √(mean of the squares) of what is finite.
double usual_size(const std::vector<double>& values, double where_none) {
  double squares = 0;
  std::size_t count = 0;
  for (const double value : values)
    if (std::isfinite(value)) {
      squares += value * value;
      ++count;
    }
  return count == 0 ? where_none : std::sqrt(squares / static_cast<double>(count));
}

/// Of one VJP: the forward function, the point and the weights of its results.
class Differences {
 public:
  Differences(Past& past, Function f, Tensors point, const Tensors& cotangents)
      : past_(past), f_(std::move(f)), point_(std::move(point)) {
    for (const Tensor& cotangent : cotangents)
      weights_.push_back(cotangent ? cotangent.to_vector() : std::vector<double>());
  }

  /// The worst element of the gradient with respect to the inputs `slots`, which are one tensor.
  Look worst(const std::vector<std::size_t>& slots, std::vector<double> gradient, double tolerance) {
    slots_ = slots;
    const Tensor here = point_[slots_.front()];
    values_ = here.to_vector();
    given_ = std::move(gradient);
    typical_ = usual_size(given_, 0);
    scale_ = usual_size(values_, 1);
    looked_ = 0;
    Look worst;
    for (const std::int64_t place : places()) keep_worse(worst, at_element(place));
    if (given_.size() > few_elements) along_directions(worst, tolerance);
    for (const std::size_t slot : slots_) point_[slot] = here;
    return worst;
  }

  std::size_t looked() const { return looked_; }
  std::size_t kinks() const { return kinks_; }
  std::size_t not_comparable() const { return not_comparable_; }

 private:
  static void keep_worse(Look& worst, const Look& look) {
    if (look.error > worst.error) worst = look;
  }

  double sum_at(const std::vector<double>& values) {
    past_.step(looked_);
    const Tensor moved = Tensor::from_values<double>(values, point_[slots_.front()].shape());
    for (const std::size_t slot : slots_) point_[slot] = moved;
    const Tensors outputs = f_(point_);
    double sum = 0;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      if (weights_[k].empty()) continue;
      const std::vector<double> output = outputs[k].to_vector();
      for (std::size_t i = 0; i < output.size(); ++i)
        if (weights_[k][i] != 0) sum += weights_[k][i] * output[i];
    }
    return sum;
  }

  /// All of a small input; of a large one as many as there is time for, the gradient's largest and random
  /// ones.
  std::vector<std::int64_t> places() {
    std::vector<std::int64_t> all(given_.size());
    std::iota(all.begin(), all.end(), 0);
    if (all.size() <= few_elements) return all;
    const auto begin = std::chrono::steady_clock::now();
    sum_at(values_);
    const auto once = std::chrono::steady_clock::now() - begin;
    const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(
        time_aim / std::max(4 * once, std::chrono::steady_clock::duration(1)), fewest, most));
    std::vector<std::int64_t> chosen(all);
    const auto half = chosen.begin() + static_cast<std::ptrdiff_t>(count / 2);
    const auto size = [&](std::int64_t place) {
      const double value = given_[static_cast<std::size_t>(place)];
      return std::isnan(value) ? check_infinity : std::abs(value);
    };
    std::partial_sort(chosen.begin(), half, chosen.end(),
                      [&](std::int64_t a, std::int64_t b) { return size(a) > size(b); });
    chosen.erase(half, chosen.end());
    for (std::size_t i = 0; i < count / 2; ++i)
      chosen.push_back(static_cast<std::int64_t>(random_() % given_.size()));
    return chosen;
  }

  Look at_element(std::int64_t place) {
    ++looked_;
    const auto at = static_cast<std::size_t>(place);
    Look look{place, given_[at], 0, -1};
    const double step = 1e-5 * std::max({std::abs(values_[at]), 0.1 * scale_, 1e-6});
    const auto moved = [&](double by) {
      std::vector<double> values = values_;
      values[at] += by;
      return sum_at(values);
    };
    const auto slope = [&](double by, double& above, double& below) {
      above = moved(by);
      below = moved(-by);
      return (above - below) / (2 * by);
    };
    double above = 0, below = 0;
    look.found = std::isfinite(values_[at]) ? slope(step, above, below) : check_infinity;
    if (!std::isfinite(look.found)) {
      ++not_comparable_;
    } else if (!std::isfinite(look.given)) {
      look.error = check_infinity;
      // Where the slope itself has no bound, as that of a root at 0, Inf is what there is to say.
      double nearer_above = 0, nearer_below = 0;
      if (std::isinf(look.given) &&
          std::abs(slope(step / 16, nearer_above, nearer_below)) > 2 * std::abs(look.found)) {
        look.error = -1;
        ++not_comparable_;
      }
    } else {
      look.error = relative(look.given, look.found);
      if (look.error > 1e-3 && is_kink(above, below, step)) {
        ++kinks_;
        look.error = 0;
      }
    }
    return look;
  }

  /// The slopes to the right and to the left differ: no derivative, whatever the VJP says.
  bool is_kink(double above, double below, double step) {
    const double here = sum_at(values_);
    const double right = (above - here) / step, left = (here - below) / step;
    return !(std::abs(right - left) <= 0.05 * (std::abs(right) + std::abs(left)) + 1e-9);
  }

  double relative(double given, double found) const {
    const double size = std::max({std::abs(found), std::abs(given) * 0.5, 0.01 * typical_, 1e-30});
    return std::abs(given - found) / size;
  }

  /// What the gradient says of the direction less what differences say.
  double gap(const std::vector<double>& direction, double& size) {
    ++looked_;
    const double step = 1e-5 * std::max(scale_, 1e-6);
    std::vector<double> above = values_, below = values_;
    double given = 0;
    size = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      if (direction[i] == 0) continue;
      above[i] += step * direction[i];
      below[i] -= step * direction[i];
      given += given_[i] * direction[i];
      size += std::abs(given_[i] * direction[i]);
    }
    const double found = (sum_at(above) - sum_at(below)) / (2 * step);
    return found - given;
  }

  void along_directions(Look& worst, double tolerance) {
    for (int i = 0; i < directions; ++i) {
      std::vector<double> direction(given_.size());
      for (std::size_t k = 0; k < direction.size(); ++k)  // an element that is no number hides the others
        if (std::isfinite(given_[k]) && std::isfinite(values_[k])) direction[k] = random_() & 1 ? 1 : -1;
      double size = 0;
      const double difference = gap(direction, size);
      const double typical = std::sqrt(static_cast<double>(given_.size())) * typical_;
      if (!(std::abs(difference) > tolerance * std::max(typical, 1e-3 * size))) continue;
      return keep_worse(worst, at_element(halve(std::move(direction))));
    }
  }

  /// The element at which the direction's gap arises mostly: the half with the larger gap, again and again.
  std::int64_t halve(std::vector<double> direction) {
    std::size_t first = 0, last = direction.size();
    while (last - first > 1) {
      const std::size_t middle = first + (last - first) / 2;
      double size = 0;
      const auto part = [&](std::size_t from, std::size_t to) {
        std::vector<double> half(direction.size());
        std::copy(direction.begin() + static_cast<std::ptrdiff_t>(from),
                  direction.begin() + static_cast<std::ptrdiff_t>(to),
                  half.begin() + static_cast<std::ptrdiff_t>(from));
        return std::abs(gap(half, size));
      };
      if (part(first, middle) >= part(middle, last))
        last = middle;
      else
        first = middle;
    }
    return static_cast<std::int64_t>(first);
  }

  Past& past_;
  const Function f_;
  Tensors point_;
  std::vector<std::vector<double>> weights_;
  std::vector<double> values_, given_;
  std::vector<std::size_t> slots_;
  std::size_t looked_ = 0, kinks_ = 0, not_comparable_ = 0;
  double typical_ = 0, scale_ = 1;
  std::mt19937_64 random_{20180403};
};

/// The VJP that a subject is about: the record's own, or the one that made the tensor; nullptr: none.
const RecordView* vjp_of(Past& past, const Subject& subject) {
  const RecordView* maker = subject.tensor ? past.maker(subject.tensor) : nullptr;
  if (maker)
    if (const RecordView* vjp = past.around(*maker, EventKind::vjp)) return vjp;
  const RecordView* record = past.record(subject.record);
  return record ? past.around(*record, EventKind::vjp) : nullptr;
}

/// The forward's inputs that can be moved each for itself. Of a custom gradient only what ran inside is
/// known: which of its arguments an op took can not be told where they are one tensor.
std::vector<std::vector<std::size_t>> inputs_apart(const RecordView& forward, std::size_t count) {
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t k = 0; k < count; ++k) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const auto& group) {
      return !forward.head.op && forward.inputs[group.front()] == forward.inputs[k];
    });
    if (same == groups.end())
      groups.push_back({k});
    else
      same->push_back(k);
  }
  return groups;
}

/// "x"; "argument 0"; "arguments 0 + 1", whose gradients were added.
std::string name_of_inputs(const RecordView& forward, const std::vector<std::size_t>& slots) {
  if (forward.head.op)
    return forward.head.op->inputs[std::min(slots.front(), forward.head.op->inputs.size() - 1)].name;
  std::string name = slots.size() == 1 ? "argument " : "arguments ";
  for (const std::size_t slot : slots) name += (slot == slots.front() ? "" : " + ") + std::to_string(slot);
  return name;
}

/// What the VJP gave for inputs that are one tensor, added up.
struct GivenGradient {
  std::vector<std::size_t> slots;
  std::string name;
  std::uint64_t tensor = 0;  ///< the first of them; 0: it gave none
  Tensor like;
  std::vector<double> sum;
};

GivenGradient given_to(Past& past, const RecordView& forward, const RecordView& vjp,
                       std::vector<std::size_t> slots) {
  GivenGradient given;
  given.name = name_of_inputs(forward, slots);
  for (const std::size_t slot : slots) {
    if (vjp.outputs[slot] == 0) continue;
    if (given.tensor == 0) given.tensor = vjp.outputs[slot];
    given.like = past.value(vjp.outputs[slot]);
    const std::vector<double> part = given.like.to_vector();
    given.sum.resize(part.size());
    std::transform(part.begin(), part.end(), given.sum.begin(), given.sum.begin(), std::plus<>());
  }
  given.slots = std::move(slots);
  return given;
}

protocol::Reason reason_of(const Past& past, const RecordView& vjp, const GivenGradient& given,
                           const Look& worst, bool bad, std::size_t looked) {
  const std::string at = given.name + index_text(given.like.shape(), worst.place);
  protocol::Reason reason =
      past.reason(vjp, bad ? "wrong" : "right",
                  "The worst of " + counted(looked, "look") + " at the gradient of " + given.name + ": at " +
                      at + " the VJP says " + short_number(worst.given) + ", differences say " +
                      short_number(worst.found) + ".");
  reason.tensor = protocol::if_there(past.info(given.tensor));
  reason.element = protocol::if_there(index_of(given.like.shape(), worst.place));
  reason.operands = {at + ": VJP " + short_number(worst.given), "differences " + short_number(worst.found)};
  reason.amount = worst.error;
  reason.amount_text = short_number(worst.error);
  return reason;
}

std::string verdict_on(const std::string& forward, const std::string& at, const Look& worst, bool bad) {
  if (bad)
    return "The gradient of " + forward + " is wrong. At " + at + " its VJP says " +
           short_number(worst.given) + ", and finite differences in float64 say " +
           short_number(worst.found) + ".";
  return "The gradient of " + forward +
         " is right: finite differences in float64 say the same. The largest difference is at " + at + ": " +
         short_number(worst.given) + " here, " + short_number(worst.found) + " there.";
}

/// What the answer does not speak of.
std::string left_out(const Differences& differences) {
  std::string text;
  const auto add = [&](std::size_t count, const char* one, const char* several) {
    if (count > 0) text += " " + counted(count, "element") + (count == 1 ? one : several);
  };
  add(differences.kinks(), " lies at a kink, where there is no derivative, and was left out.",
      " lie at kinks, where there is no derivative, and were left out.");
  add(differences.not_comparable(), " could not be compared: differences are no finite numbers there.",
      " could not be compared: differences are no finite numbers there.");
  return text;
}

}  // namespace

protocol::Because is_right(Past& past, const Subject& subject) {
  protocol::Because answer;
  answer.question = protocol::Question::check;
  answer.amount = "error";
  if (subject.tensor == 0 && !past.record(subject.record))
    throw BadRequest("why: there is no record " + std::to_string(subject.record));
  const RecordView* vjp = vjp_of(past, subject);
  if (!vjp) {
    answer.sentence =
        "Only what one VJP gave can be checked: select a VJP, or its result. This is neither, or a sum of "
        "several.";
    return answer;
  }
  const RecordView* forward = past.record(vjp->head.forward);
  if (!forward) throw ValueError("gone", "The forward op of this VJP was forgotten.");
  Tensors point, cotangents;
  for (const std::uint64_t id : forward->inputs) point.push_back(to_float64(past.value(id)));
  for (const std::uint64_t id : vjp->inputs) cotangents.push_back(id ? past.value(id) : Tensor());
  std::optional<InnerFunction> inner;
  Function f;
  if (forward->head.op)
    f = [&](std::span<const Tensor> inputs) {
      return replay_op(*forward->head.op, inputs, to_float64(forward->head.attributes));
    };
  else
    f = std::cref(inner.emplace(past, *forward));
  Differences differences(past, f, point, cotangents);
  bool wrong = false;
  Look all;
  std::string together;
  for (std::vector<std::size_t>& slots :
       inputs_apart(*forward, std::min(forward->inputs.size(), vjp->outputs.size()))) {
    if (!is_floating(point[slots.front()].dtype())) continue;
    const GivenGradient given = given_to(past, *forward, *vjp, std::move(slots));
    if (given.tensor == 0) continue;
    if (given.slots.size() > 1)
      together += " The " + given.name + " are one tensor: the sum of their gradients was compared.";
    const double tolerance = tolerance_of(given.like.dtype());
    const Look worst = differences.worst(given.slots, given.sum, tolerance);
    if (worst.place < 0) continue;
    const bool bad = worst.error > tolerance;
    if (worst.error > all.error) {
      all = worst;
      answer.sentence = verdict_on(past.name(*forward),
                                   given.name + index_text(given.like.shape(), worst.place), worst, bad);
    }
    wrong = wrong || bad;
    answer.reasons.push_back(reason_of(past, *vjp, given, worst, bad, differences.looked()));
  }
  std::stable_sort(answer.reasons.begin(), answer.reasons.end(),
                   [](const auto& a, const auto& b) { return a.amount > b.amount; });
  if (answer.reasons.empty()) answer.sentence = "This VJP gave no gradient that could be checked.";
  if (wrong && forward->head.kind == EventKind::custom) {
    answer.reasons.push_back(past.reason(*forward, "forward op", "The function whose gradient it is."));
    if (!forward->outputs.empty())
      answer.reasons.back().tensor = protocol::if_there(past.info(forward->outputs[0]));
  }
  answer.sentence += together + left_out(differences);
  return answer;
}

}  // namespace tapedeck::debug
