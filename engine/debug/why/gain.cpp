// Where did it get so large, or so small? The gain of each op (norm out over norm in), along the inputs that
// carry the size.
#include <algorithm>
#include <limits>
#include <tuple>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/loops.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_ops = 2000, most_gains_told = 50;

/// The Euclidean norm of the finite elements: one Inf would hide all others.
double norm_of(const Tensor& tensor) {
  double largest = 0;
  visit_elements(tensor, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = std::abs(static_cast<double>(values[i]));
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
  });
  if (largest == 0) return 0;
  double sum = 0;  // of squares of at most 1: they do not overflow
  visit_elements(tensor, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = static_cast<double>(values[i]) / largest;
      if (std::isfinite(value)) sum += value * value;
    }
  });
  return largest * std::sqrt(sum);
}

struct Step {
  const RecordView* record = nullptr;
  std::uint64_t output = 0, input = 0;
  double before = 0, after = 0;
  double gain() const { return before > 0 ? after / before : std::numeric_limits<double>::quiet_NaN(); }
  /// How far from 1.
  double weight() const { return gain() > 0 ? std::abs(std::log(gain())) : 0; }
};

class Gains {
 public:
  explicit Gains(Past& past) : past_(past) {}

  protocol::Because explain(std::uint64_t tensor) {
    answer_.question = protocol::Question::size;
    answer_.amount = "gain";
    const Tensor value = past_.value(tensor);
    const double norm = norm_of(value);
    count_ = static_cast<std::uint64_t>(value.count());
    not_finite_ = count_not_finite(value);
    try {
      walk(tensor, norm);
    } catch (const ValueError& error) {
      answer_.complete = false;
      missing_ = error.what();
    }
    finish(norm);
    return std::move(answer_);
  }

 private:
  /// What came out of a sum is as large as its largest term.
  static bool is_sum(const RecordView& record) { return record.head.op && record.head.op->facts.sums; }

  /// The input that the way goes back to: the largest that an op made. A constant or variable only where no
  /// other is there, or where something small was added to it: what came out is about as large as it is.
  void choose_input(Step& step) {
    bool made = false;
    const OpDef* const op = step.record->head.op;
    for (std::size_t i = 0; i < step.record->inputs.size(); ++i) {
      const std::uint64_t id = step.record->inputs[i];
      if (id == 0 || (op && !reads_values_of(*op, i))) continue;  // uniform_() of new memory
      const Tensor input = past_.value(id);
      if (!is_floating(input.dtype())) continue;
      const double size = norm_of(input);
      const bool carries = past_.maker(id) != nullptr ||
                           (is_sum(*step.record) && std::abs(step.after - size) <= 0.1 * step.after);
      if (step.input && (carries == made ? size <= step.before : made)) continue;
      step.input = id;
      step.before = size;
      made = carries;
    }
  }

  void walk(std::uint64_t tensor, double norm) {
    while (steps_.size() < most_ops) {
      past_.step(steps_.size());
      const RecordView* record = past_.maker(tensor);
      if (!record) {
        const auto assignment = past_.assignment(tensor);
        if (!assignment || assignment->value == tensor || assignment->value == 0) return;
        tensor = assignment->value;
        continue;
      }
      Step step{record, tensor, 0, 0, norm};
      choose_input(step);
      if (!step.input) return;
      // A playback begins with ones of the target's shape, whatever the target is.
      if (record->head.op && short_name(*record->head.op) == "ones_like") return;
      steps_.push_back(step);
      tensor = step.input;
      norm = step.before;
    }
    answer_.complete = false;
  }

  static std::string gain_text(double gain) {
    return std::isnan(gain) ? std::string() : "×" + short_number(gain);
  }

  /// Before the rest, where there are numbers without a size.
  std::string not_finite_text() const {
    if (not_finite_ == 0) return {};
    if (count_ == 1) return "It is NaN or infinite. ";
    if (not_finite_ == count_) return "All of its " + counted(count_, "element") + " are NaN or infinite. ";
    return std::to_string(not_finite_) + " of its " + counted(count_, "element") +
           (not_finite_ == 1 ? " is" : " are") + " NaN or infinite; norms are those of the others. ";
  }

  /// The newest norm on the way that is one of numbers, and of how many ops it comes behind.
  std::pair<double, std::size_t> newest_norm(double norm) const {
    if (not_finite_ < count_ || not_finite_ == 0) return {norm, steps_.size()};
    for (std::size_t i = 0; i < steps_.size(); ++i)
      if (steps_[i].before > 0) return {steps_[i].before, steps_.size() - i - 1};
    return {0, 0};
  }

  /// Those that made at least half of what all ops together did, each a reason; nothing where single ops did.
  std::string tell_loops(bool grew) {
    constexpr double least_share = 0.5;
    constexpr std::size_t most_loops_told = 3;
    std::vector<OnWay> way;
    double whole = 0;
    for (auto step = steps_.rbegin(); step != steps_.rend(); ++step) {  // in the order in which they ran
      const double log_gain = step->gain() > 0 ? std::log(step->gain()) : 0;
      way.push_back({step->record->name(), called_at(past_, *step->record), step->record->head.backward,
                     std::isfinite(log_gain) ? log_gain : 0});
      whole += way.back().log_gain;
    }
    std::vector<Loop> loops = loops_of(way, grew);
    double together = 0;
    for (const Loop& loop : loops) together += loop.log_gain;
    if (loops.empty() || std::abs(together) < least_share * std::abs(whole)) return {};
    if (loops.size() > most_loops_told) loops.resize(most_loops_told);
    std::string text;
    for (const Loop& loop : loops) {
      if (text.empty())
        text = loops.size() > 1 ? " Loops made most of it: " : " A loop made most of it: ";
      else
        text += "; and ";
      text += loop_text(way, loop);
      answer_.reasons.push_back(loop_reason(way, loop));
    }
    return text + ".";
  }

  /// "128 products of ×2.17 each (×1.9 to ×2.4), lines 14–17, together ×1.2e+43 (matmul, add and relu;
  /// forward)".
  std::string loop_text(const std::vector<OnWay>& way, const Loop& loop) const {
    std::string text = rounds_text(way, loop) + " of " + gain_text(loop.each()) + " each";
    const std::string least = gain_text(std::exp(loop.least_round)),
                      most = gain_text(std::exp(loop.most_round));
    if (least != most) text += " (" + least + " to " + most + ")";
    const auto [first, last] = loop_lines(way, loop);
    if (first != 0)
      text += last > first ? ", lines " + std::to_string(first) + "–" + std::to_string(last)
                           : ", line " + std::to_string(first);
    return text + ", together " + gain_text(std::exp(loop.log_gain)) + " (" + round_text(way, loop) +
           (way[loop.first].backward ? ", backward)" : ")");
  }

  protocol::Reason loop_reason(const std::vector<OnWay>& way, const Loop& loop) {
    // steps_ begins with the newest: the loop's last op, and its first one.
    const Step& last = steps_[steps_.size() - loop.end()];
    const Step& first = steps_[steps_.size() - 1 - loop.first];
    protocol::Reason reason =
        past_.reason(*last.record, "loop",
                     "The norm is " + short_number(first.before) + " before the loop and " +
                         short_number(last.after) + " behind: " + loop_text(way, loop) + ".");
    reason.op = std::to_string(loop.rounds) + " × " + round_text(way, loop);
    std::tie(reason.line, reason.last_line) = loop_lines(way, loop);
    reason.tensor = protocol::if_there(past_.info(last.output));
    reason.operands = {"norm " + short_number(first.before)};
    reason.value = short_number(last.after);
    reason.amount = std::exp(loop.log_gain);
    reason.amount_text = gain_text(loop.each()) + " each";
    return reason;
  }

  void finish(double norm) {
    std::string& sentence = answer_.sentence;
    if (not_finite_ > 0 && not_finite_ == count_) {
      const auto [newest, ops] = newest_norm(norm);
      if (ops == 0) {
        sentence = not_finite_text() + "Ask where it was born.";
        if (!missing_.empty()) sentence += " " + missing_;
        return;
      }
      steps_.erase(steps_.begin(), steps_.end() - static_cast<std::ptrdiff_t>(ops));
      norm = newest;
    }
    if (steps_.empty()) {
      sentence = "Its norm is " + short_number(norm) + ", and no op made it: it came like this from Python.";
      if (!missing_.empty()) sentence = "Its norm is " + short_number(norm) + ". " + missing_;
      sentence.insert(0, not_finite_text());
      return;
    }
    double start = 0;  // of the first input that is not zero
    for (const Step& step : steps_)
      if (step.before > 0) start = step.before;
    const bool grew = norm >= start;
    sentence = not_finite_text() + "On the way to it the norm " + std::string(grew ? "grew" : "shrank") +
               " from " + short_number(start) + " to " + short_number(norm) + " over " +
               counted(steps_.size(), "op") +
               (not_finite_ > 0 && not_finite_ == count_ ? ", before what is not finite." : ".");
    const std::string loops = tell_loops(grew);
    sentence += loops;
    std::vector<Step> sorted = steps_;
    const auto counts = [&](const Step& step) { return grew == (step.gain() >= 1) ? step.weight() : 0; };
    std::stable_sort(sorted.begin(), sorted.end(),
                     [&](const Step& a, const Step& b) { return counts(a) > counts(b); });
    const Step& most = sorted.front();
    if (counts(most) > 0)
      sentence += (loops.empty() ? " Most of it in " : " The largest single step is in ") +
                  past_.name(*most.record) + ": norm " + short_number(most.before) + " in, " +
                  short_number(most.after) + " out, a gain of " + short_number(most.gain()) + ".";
    else
      sentence += " No single op changed it.";
    if (sorted.size() > most_gains_told) sorted.resize(most_gains_told);
    for (const Step& step : sorted) {
      protocol::Reason reason = past_.reason(*step.record, step.gain() >= 1 ? "grew" : "shrank",
                                             "The norm is " + short_number(step.before) + " before it and " +
                                                 short_number(step.after) + " behind.");
      reason.tensor = protocol::if_there(past_.info(step.output));
      reason.operands = {"norm " + short_number(step.before)};
      reason.value = short_number(step.after);
      reason.amount = step.gain();
      reason.amount_text = gain_text(step.gain());
      answer_.reasons.push_back(std::move(reason));
    }
    if (!missing_.empty()) sentence += " It cannot be traced further back: " + missing_;
    if (missing_.empty() && !answer_.complete)
      sentence += " Only the newest " + counted(most_ops, "op") + " were looked at.";
  }

  Past& past_;
  protocol::Because answer_;
  std::vector<Step> steps_;  ///< the newest first
  std::uint64_t count_ = 0, not_finite_ = 0;
  std::string missing_;
};

}  // namespace

protocol::Because where_sized(Past& past, const Subject& subject) {
  return Gains(past).explain(subject.tensor);
}

}  // namespace tapedeck::debug
