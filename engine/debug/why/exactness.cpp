// How exact is this? What led to the tensor, run again in float64: how far each op's result is off, and where
// the digits were lost.
#include <algorithm>
#include <limits>
#include <map>
#include <queue>
#include <set>

#include "engine/debug/tile.h"
#include "engine/debug/why/elements.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/debug/why/wide_run.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_compared = 2000, most_losses_told = 30;
constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30;

constexpr double infinity = std::numeric_limits<double>::infinity();

struct DigitsOff {
  double error = 0;  ///< ‖value − exact‖ / ‖exact‖; 0 for equal ones, infinite where `overflowed`
  std::uint64_t overflowed = 0;  ///< elements that are not finite, but are in float64
  std::uint64_t uncompared = 0;  ///< elements that are not finite in float64, either
};

DigitsOff digits_off(const Tensor& value, const Tensor& exact) {
  const std::vector<double> a = value.to_vector(), b = exact.to_vector();
  double error = 0, size = 0;
  DigitsOff result;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!std::isfinite(b[i])) {
      ++result.uncompared;
    } else if (!std::isfinite(a[i])) {
      ++result.overflowed;
    } else {
      error += (a[i] - b[i]) * (a[i] - b[i]);
      size += b[i] * b[i];
    }
  }
  if (error > 0) result.error = size > 0 ? std::sqrt(error / size) : infinity;
  if (result.overflowed > 0) result.error = infinity;
  return result;
}

struct Loss {
  const RecordView* record = nullptr;
  std::uint64_t output = 0;
  double inherited = 0;  ///< the largest of its inputs
  double own = 0;        ///< of the op alone, on the inputs that it had
  double error = 0;
  double least = 0;  ///< of what has no error: the dtype's rounding
  std::uint64_t overflowed = 0;
  double growth() const { return inherited == infinity ? 1 : error / std::max(inherited, least); }
};

class Exactness {
 public:
  Exactness(Past& past, std::uint64_t tensor) : past_(past), tensor_(tensor) {
    const auto assignment = past.maker(tensor) ? std::nullopt : past.assignment(tensor);
    if (!assignment || assignment->value == 0 || !past.maker(assignment->value)) return;
    tensor_ = assignment->value;
    is_variable_ = true;
  }

  protocol::Because explain() {
    answer_.question = protocol::Question::exactness;
    answer_.amount = "error";
    const Tensor value = past_.value(tensor_);
    if (!past_.maker(tensor_) && memory_.sources(tensor_).empty()) {
      answer_.sentence = "No op computed it, so it has no rounding error of its own.";
      return std::move(answer_);
    }
    collect();
    std::uint64_t done = 0;
    for (const std::uint32_t number : records_) {
      past_.step(done++, records_.size());
      compare(*past_.record(number));
    }
    if (!past_.maker(tensor_)) exact_value(tensor_, value);
    finish(value);
    return std::move(answer_);
  }

 private:
  /// The newest records on the way to the tensor: what they read of older ones counts as exact.
  void collect() {
    std::priority_queue<std::uint32_t> waiting;
    const auto add = [&](std::uint64_t tensor) {
      std::vector<std::uint64_t> unseen{tensor};
      while (!unseen.empty()) {
        const std::uint64_t id = unseen.back();
        unseen.pop_back();
        ++uses_[id];
        if (const RecordView* maker = past_.maker(id); maker && maker->head.kind == EventKind::op)
          waiting.push(maker->number);
        // Once, however often the tensor is used: then it has a value of its own here.
        if (uses_[id] == 1)
          for (const ElementSource& source : memory_.sources(id)) unseen.push_back(source.tensor);
      }
    };
    add(tensor_);
    while (!waiting.empty() && records_.size() < most_compared) {
      const std::uint32_t number = waiting.top();
      waiting.pop();
      if (!records_.insert(number).second) continue;
      for (const std::uint64_t id : past_.record(number)->inputs) add(id);
    }
    while (!waiting.empty() && records_.contains(waiting.top())) waiting.pop();
    too_many_ = !waiting.empty();
    answer_.complete = !too_many_;
  }

  void compare(const RecordView& record) {
    Tensors exact, given;
    std::vector<DType> dtypes;
    Loss loss{&record, 0, 0, 0, 0, 0};
    for (const std::uint64_t id : record.inputs) {
      if (id == 0) {  // an optional input that was not given
        exact.push_back({});
        given.push_back({});
        dtypes.push_back(DType::float32);
        continue;
      }
      const Tensor value = past_.value(id);
      exact.push_back(exact_value(id, value));
      given.push_back(to_float64(value));
      dtypes.push_back(value.dtype());
      if (const auto error = errors_.find(id); error != errors_.end())
        loss.inherited = std::max(loss.inherited, error->second);
    }
    const auto [outputs, alone] = run_both(record, exact, given, dtypes, loss.inherited > 0);
    for (std::size_t k = 0; k < std::min(outputs.size(), record.outputs.size()); ++k) {
      const std::uint64_t id = record.outputs[k];
      if (!uses_.contains(id) || !outputs[k]) continue;
      const Tensor value = past_.value(id);
      if (outputs[k].shape() != value.shape()) continue;
      const DigitsOff difference = digits_off(value, outputs[k]);
      const double error = difference.error;
      errors_[id] = error;
      if (id == tensor_) result_ = difference;
      keep(id, outputs[k]);
      if (!is_floating(value.dtype()) || error < loss.error) continue;
      loss.output = id;
      loss.error = error;
      loss.overflowed = difference.overflowed;
      loss.own = digits_off(value, alone[k]).error;
      loss.least = value.dtype() == DType::float64    ? 1.1e-16
                   : value.dtype() == DType::float16  ? 4.9e-4
                   : value.dtype() == DType::bfloat16 ? 3.9e-3
                                                      : 6e-8;
    }
    for (const std::uint64_t id : record.inputs) release(id);
    if (loss.output && loss.error > 0) losses_.push_back(loss);
  }

  /// In float64: what an op made, or what was written through views into its memory, if anything of it is
  /// known.
  Tensor exact_value(std::uint64_t id, const Tensor& value) {
    if (const auto found = exact_.find(id); found != exact_.end()) return found->second;
    const Tensor wide = to_float64(value);
    const std::vector<ElementSource> sources = memory_.sources(id);
    if (sources.empty() || !is_floating(value.dtype())) return wide;
    Tensor made = memory_.with_other_sources(id, wide, [&](std::uint64_t source) {
      return uses_.contains(source) && exact_.contains(source) ? exact_.at(source) : exact_source(source);
    });
    errors_[id] = digits_off(value, made).error;
    if (id == tensor_) result_ = digits_off(value, made);
    keep(id, made);
    for (const ElementSource& source : sources) release(source.tensor);
    return made;
  }

  /// Of a tensor that was itself written through views; undefined where no more is known than its value.
  Tensor exact_source(std::uint64_t id) {
    return memory_.sources(id).empty() ? Tensor() : exact_value(id, past_.value(id));
  }

  void keep(std::uint64_t id, const Tensor& value) {
    exact_.insert_or_assign(id, value);
    bytes_ += value.bytes();
    if (bytes_ > most_bytes)
      throw ValueError("too_expensive",
                       "Running what led here again in float64 takes more than 2 GiB of memory.");
  }

  /// On the exact inputs, and on those that it had. An op of PyTorch's that cannot run again counts as exact.
  std::pair<Tensors, Tensors> run_both(const RecordView& record, const Tensors& exact, const Tensors& given,
                                       std::span<const DType> dtypes, bool differ) {
    try {
      bool narrow = false;
      Tensors outputs = run_wide(record, exact, dtypes, &narrow);
      if (narrow) not_wide_.add(record, {});
      ++ran_again_;
      Tensors alone = differ ? run_wide(record, given, dtypes) : outputs;
      return {std::move(outputs), std::move(alone)};
    } catch (const RandomOpError&) {
      drawn_.add(record, {});
    } catch (const Error& error) {
      if (!is_foreign(*record.head.op)) throw;
      const bool computed = std::any_of(given.begin(), given.end(), [](const Tensor& input) {
        return input && is_floating(input.dtype());
      });
      if (computed && !foreign_of(*record.head.op)->reads_shapes_alone) not_again_.add(record, error.what());
    }
    Tensors values;
    for (const std::uint64_t id : record.outputs)
      values.push_back(uses_.contains(id) && id ? to_float64(past_.value(id)) : Tensor());
    return {values, values};
  }

  /// What counts as exact without being so, or what has no rounding to find: said before the digits.
  std::string limits() {
    std::string text;
    if (not_again_.count > 0) {
      answer_.complete = false;
      text += "Not all of it is covered: " + not_again_.text(past_) + " cannot run again here (" +
              not_again_.why + "), and what " + (not_again_.count == 1 ? "it" : "they") +
              " made counts as exact. ";
    }
    if (not_wide_.count > 0) {
      answer_.complete = false;
      text += (not_again_.count > 0 ? "" : "Not all of it is covered: ") + not_wide_.text(past_) +
              (not_wide_.count == 1 ? " has" : " have") + " no kernel for float64 and ran in " +
              (not_wide_.count == 1 ? "its" : "their") +
              " own dtype, so that the own rounding there is not seen. ";
    }
    return text;
  }

  /// Of a result of an op that cannot run again: there are no digits to tell. Empty: it is none.
  std::string alone_text() {
    const RecordView* maker = past_.maker(tensor_);
    if (!maker) return ran_again_ == 0 && not_again_.count > 0 ? none_ran_text() : std::string();
    if (drawn_.has(*maker))
      return "It is what " + past_.name(*maker) +
             " drew: of a random number each digit is as it was drawn, and there is no rounding to find. In "
             "float64 other numbers would be drawn.";
    if (ran_again_ == 0 && not_again_.count > 0 && !not_again_.has(*maker)) return none_ran_text();
    if (!not_again_.has(*maker)) return {};
    answer_.complete = false;
    return "How exact it is, is not known: " + past_.name(*maker) +
           ", which made it, cannot run again here (" + not_again_.why_of(*maker) + ").";
  }

  /// What counts as exact on the whole way says nothing of float64.
  std::string none_ran_text() {
    answer_.complete = false;
    return "How exact it is, is not known: of the ops that led to it none ran in float64. " +
           not_again_.text(past_) + " cannot run again here (" + not_again_.why + ").";
  }

  void release(std::uint64_t id) {
    const auto uses = uses_.find(id);
    if (uses == uses_.end() || uses->second == 0 || --uses->second > 0) return;
    const auto found = exact_.find(id);
    if (found == exact_.end()) return;
    bytes_ -= found->second.bytes();
    exact_.erase(found);
  }

  static std::string digits_text(double error) {
    if (error == 0) return "all of its digits are correct";
    const double digits = -std::log10(error);
    if (!(digits >= 0.5)) return "none of its digits is correct";
    const auto whole = static_cast<std::uint64_t>(digits + 0.5);
    return "about " + counted(whole, "digit") + " of it " + (whole == 1 ? "is" : "are") + " correct";
  }

  void finish(const Tensor& value) {
    if (std::string alone = alone_text(); !alone.empty()) {
      answer_.sentence = std::move(alone);
      return;
    }
    const std::string before = limits();
    const double error = result_.error;
    const auto count = static_cast<std::uint64_t>(value.count());
    std::string& sentence = answer_.sentence;
    if (result_.uncompared > 0 && result_.uncompared == count)
      sentence = std::string(count == 1 ? "It is" : "All of its elements are") +
                 " NaN or infinite in float64, too: there are no digits to compare.";
    else if (result_.overflowed > 0)
      sentence = std::to_string(result_.overflowed) + " of " + counted(count, "element") +
                 (result_.overflowed == 1 ? " is" : " are") + " NaN or infinite; in float64 " +
                 (result_.overflowed == 1 ? "it is" : "they are") + " finite.";
    else
      sentence = std::string(before.empty() ? "Beside the same ops in float64, "
                                            : "Beside the other ops in float64, ") +
                 digits_text(error) + " (relative error " + short_number(error) + ").";
    if (result_.uncompared > 0 && result_.uncompared < count)
      sentence += " " + std::to_string(result_.uncompared) + " of " + counted(count, "element") +
                  (result_.uncompared == 1 ? " is" : " are") +
                  " NaN or infinite in float64, too, and not compared.";
    if (value.dtype() == DType::float64)
      sentence = "It is computed in float64 already: there is nothing more exact here to compare it with.";
    sentence.insert(0, before);
    std::stable_sort(losses_.begin(), losses_.end(),
                     [](const Loss& a, const Loss& b) { return a.growth() > b.growth(); });
    if (!losses_.empty() && losses_[0].growth() > 30)
      sentence += " Most digits were lost in " + past_.name(*losses_[0].record) + ": relative error " +
                  short_number(losses_[0].inherited) + " in, " + short_number(losses_[0].error) + " out. " +
                  cause(losses_[0]);
    else if (!losses_.empty())
      sentence += " No single op lost many of them.";
    for (std::size_t i = 0; i < std::min(losses_.size(), most_losses_told); ++i) tell(losses_[i]);
    if (drawn_.count > 0)
      sentence += " The numbers that " + drawn_.text(past_) +
                  " drew count as exact: they are what was drawn, and in float64 others would be.";
    if (is_variable_) sentence += " The values that variables had before count as exact.";
    if (too_many_)
      sentence += " Only the newest " + counted(most_compared, "op") +
                  " were compared; what came before counts as exact.";
  }

  static std::string cause(const Loss& loss) {
    if (loss.overflowed > 0 && loss.own == infinity)
      return "Its result is too large for its dtype, in " + counted(loss.overflowed, "element") + ".";
    if (loss.inherited == infinity) return "Its inputs are wrong already.";
    if (loss.own < 0.1 * loss.error && loss.record->head.op->facts.sums)
      return "It subtracts nearly equal numbers: their leading digits cancel, and the rounding "
             "errors "
             "of before are left.";
    if (loss.own < 0.1 * loss.error) return "It amplifies the errors of its inputs.";
    return "The op itself rounds by that much.";
  }

  void tell(const Loss& loss) {
    protocol::Reason reason = past_.reason(
        *loss.record, loss.growth() > 30 ? "lost digits" : "passed on",
        "Relative error " + short_number(loss.inherited) + " in its inputs, " + short_number(loss.error) +
            " in its result; of its own " + short_number(loss.own) + ". " + cause(loss));
    reason.tensor = protocol::if_there(past_.info(loss.output));
    reason.operands = {"in " + short_number(loss.inherited), "own " + short_number(loss.own)};
    reason.value = "out " + short_number(loss.error);
    reason.amount = loss.error;
    reason.amount_text = short_number(loss.error);
    answer_.reasons.push_back(std::move(reason));
  }

  /// Ops of which the same is to be said.
  struct Ops {
    std::map<std::uint32_t, std::string> records;  ///< and why
    const RecordView* first = nullptr;
    std::string why;  ///< of the first
    std::uint64_t count = 0;

    void add(const RecordView& record, const std::string& reason) {
      if (!records.emplace(record.number, reason).second) return;
      if (count++ > 0) return;
      first = &record;
      why = reason;
    }
    bool has(const RecordView& record) const { return records.contains(record.number); }
    const std::string& why_of(const RecordView& record) const { return records.at(record.number); }
    std::string text(const Past& past) const {
      return past.name(*first) + (count > 1 ? " and " + counted(count - 1, "other op") : std::string());
    }
  };

  Past& past_;
  std::uint64_t tensor_;
  bool is_variable_ = false;  ///< its assigned value is what is asked about
  protocol::Because answer_;
  WrittenMemory memory_{past_};
  std::set<std::uint32_t> records_;
  std::unordered_map<std::uint64_t, std::size_t> uses_;
  std::unordered_map<std::uint64_t, Tensor> exact_;
  std::unordered_map<std::uint64_t, double> errors_;
  std::vector<Loss> losses_;
  DigitsOff result_;
  std::uint64_t bytes_ = 0;
  Ops not_again_, not_wide_, drawn_;
  std::uint64_t ran_again_ = 0;  ///< in float64
  bool too_many_ = false;
};

}  // namespace

protocol::Because how_exact(Past& past, const Subject& subject) {
  return Exactness(past, subject.tensor).explain();
}

}  // namespace tapedeck::debug
