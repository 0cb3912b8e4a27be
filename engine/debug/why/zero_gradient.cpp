// Why is this gradient zero? The VJPs on the way to it that made zeros of what was not zero. An element that
// stays zero whatever comes in at the other side was swallowed by the VJP itself: so each VJP runs again with
// cotangents that are nowhere zero.
#include <algorithm>
#include <deque>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_vjps = 2000;

/// The smallest number that has all its digits.
double smallest_of(DType dtype) {
  return dtype == DType::float64 ? 2.3e-308 : dtype == DType::float16 ? 6.2e-5 : 1.2e-38;
}

std::uint64_t count_zeros(const Tensor& tensor) {
  std::uint64_t zeros = 0;
  visit_elements(tensor, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) zeros += values[i] == 0;
  });
  return zeros;
}

/// Ones of both signs, in no order, where it is zero: sums of them do not cancel.
Tensor nowhere_zero(const Tensor& cotangent) {
  if (!cotangent) return cotangent;
  std::vector<double> values = cotangent.to_vector();
  std::uint64_t state = 0x9e3779b97f4a7c15;
  for (double& value : values) {
    state = state * 6364136223846793005 + 1442695040888963407;
    if (value == 0) value = 0.5 + static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
  }
  const Tensor wide = Tensor::from_values<double>(values, cotangent.shape());
  return in_dtype(wide, cotangent.dtype());
}

class Zeros {
 public:
  Zeros(Past& past, const Subject& subject) : past_(past), subject_(subject) {}

  protocol::Because explain() {
    answer_.question = protocol::Question::gradient;
    answer_.amount = "share";
    const Tensor value = past_.value(subject_.tensor);
    if (!is_zero(value)) return std::move(answer_);
    waiting_.push_back({subject_.tensor, place_});
    try {
      while (!waiting_.empty() && done_.size() < most_vjps) {
        past_.step(done_.size());
        const Waiting next = waiting_.front();
        waiting_.pop_front();
        visit(next);
      }
    } catch (const ValueError& error) {
      answer_.complete = false;
      missing_ = error.what();
    }
    if (!waiting_.empty()) answer_.complete = false;
    finish(value);
    return std::move(answer_);
  }

 private:
  /// Whether there is a zero to be explained; else the answer says so.
  bool is_zero(const Tensor& value) {
    if (!subject_.element.empty()) {
      place_ = place_of(value.shape(), subject_.element);
      if (element(value, *place_) == 0) return true;
      answer_.sentence = "This element of the gradient is " + element_text(value, *place_) + ", not zero.";
      return false;
    }
    const std::uint64_t zeros = count_zeros(value);
    if (zeros > 0) return true;
    const auto count = static_cast<std::uint64_t>(value.count());
    const std::uint64_t not_finite = count_not_finite(value);
    std::string& sentence = answer_.sentence;
    if (count == 1) {
      sentence = "The gradient is there; it is " + element_text(value, 0) + ", not zero.";
      return false;
    }
    sentence = "The gradient is there, and none of its " + counted(count, "element") + " is zero";
    if (not_finite > 0)
      sentence += "; " + (not_finite == count ? "all" : std::to_string(not_finite) + " of them") +
                  (not_finite == 1 ? " is" : " are") + " NaN or infinite";
    sentence += ".";
    return false;
  }

  /// A gradient that is zero: at a place, or somewhere.
  struct Waiting {
    std::uint64_t tensor = 0;
    std::optional<std::int64_t> place;
  };

  void visit(const Waiting& zero) {
    if (!seen_.insert(zero.tensor).second) return;
    const RecordView* maker = past_.maker(zero.tensor);
    if (!maker) return;
    const RecordView* vjp = past_.around(*maker, EventKind::vjp);
    if (vjp && done_.insert(vjp->number).second) return visit_vjp(*vjp, zero);
    if (vjp) return;
    // A sum of gradients, or what the program did with one: follow what has zeros.
    for (const std::uint64_t input : maker->inputs)
      if (const RecordView* before = past_.maker(input); before && before->head.backward)
        waiting_.push_back({input, same_shape(input, zero.tensor) ? zero.place : std::nullopt});
  }

  bool same_shape(std::uint64_t a, std::uint64_t b) const {
    return past_.info(a).shape == past_.info(b).shape;
  }

  void visit_vjp(const RecordView& vjp, const Waiting& zero) {
    const std::uint64_t tensor = zero.tensor;
    const auto slot = static_cast<std::size_t>(std::find(vjp.outputs.begin(), vjp.outputs.end(), tensor) -
                                               vjp.outputs.begin());
    const std::optional<PastVjp> call = slot < vjp.outputs.size() ? vjp_call(past_, vjp) : std::nullopt;
    bool all = false;
    if (vjp.head.op && is_foreign(*vjp.head.op) && slot < vjp.outputs.size()) try {
        all = look_at_foreign(vjp, call, slot, zero.place);
      } catch (const Error& error) {
        ++not_again_;
        if (not_again_text_.empty()) not_again_text_ = past_.name(vjp) + ": " + error.what();
      }
    else
      all = call ? look_at(vjp, *call, slot, zero.place) : look_at_custom(vjp, tensor);
    if (all) return;
    const RecordView* forward = past_.record(vjp.head.forward);
    const bool by_element = call && forward && elementwise_.is(*forward, call->inputs);
    for (const std::uint64_t cotangent : vjp.inputs)
      if (cotangent)
        waiting_.push_back(
            {cotangent, by_element && same_shape(cotangent, tensor) ? zero.place : std::nullopt});
  }

  /// Whether the VJP explains every zero of its output.
  bool look_at(const RecordView& vjp, const PastVjp& call, std::size_t slot,
               const std::optional<std::int64_t>& place) {
    PastVjp full = call;
    for (Tensor& cotangent : full.cotangents) cotangent = nowhere_zero(cotangent);
    return compare(vjp, slot, place, gradients_of(full)[slot], in_wider_numbers(call, slot));
  }

  /// A node of PyTorch's graph: what it ran, runs again.
  bool look_at_foreign(const RecordView& vjp, const std::optional<PastVjp>& call, std::size_t slot,
                       const std::optional<std::int64_t>& place) {
    Tensors cotangents;
    for (const std::uint64_t id : vjp.inputs)
      cotangents.push_back(id ? nowhere_zero(past_.value(id)) : Tensor());
    const Tensor possible = foreign_vjp_again(past_, vjp, cotangents)[slot];
    return compare(vjp, slot, place, possible, call ? in_wider_numbers(*call, slot) : std::vector<double>());
  }

  bool compare(const RecordView& vjp, std::size_t slot, const std::optional<std::int64_t>& place,
               const Tensor& largest, const std::vector<double>& exact) {
    const std::vector<double> given = past_.value(vjp.outputs[slot]).to_vector();
    const std::vector<double> possible = largest.to_vector();
    const double smallest = smallest_of(past_.value(vjp.outputs[slot]).dtype());
    Found found{&vjp, vjp.outputs[slot], slot, place ? 1 : given.size(), 0, 0, 0, -1};
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] != 0) continue;
      if (place && static_cast<std::int64_t>(i) != *place) continue;
      ++found.zeros;
      const bool too_small = !exact.empty() && exact[i] != 0 && std::abs(exact[i]) < smallest;
      if (too_small)
        ++found.too_small;
      else if (possible[i] == 0)
        ++found.swallowed;  // also where its slope was rounded to zero
      if ((too_small || possible[i] == 0) && found.example < 0) found.example = static_cast<std::int64_t>(i);
    }
    const bool all = found.zeros == found.swallowed + found.too_small;
    if (found.swallowed + found.too_small > 0) found_.push_back(found);
    return all;
  }

  /// Empty where they cannot be had.
  std::vector<double> in_wider_numbers(const PastVjp& call, std::size_t slot) const {
    if (call.inputs.empty() || call.cotangents.empty() || !call.cotangents[0] ||
        call.cotangents[0].dtype() == DType::float64)
      return {};
    try {
      const Tensor exact = gradients_of(in_float64(call))[slot];
      return exact ? exact.to_vector() : std::vector<double>();
    } catch (const Error&) {  // it has no kernel for these dtypes together
      return {};
    }
  }

  /// The user's gradient, whose ops say nothing about what it could have been: it counts where all came out
  /// zero of something that was not.
  bool look_at_custom(const RecordView& vjp, std::uint64_t tensor) {
    const Tensor gradient = past_.value(tensor);
    const std::uint64_t zeros = count_zeros(gradient);
    bool any = false;
    for (const std::uint64_t id : vjp.inputs)
      if (id) {
        const Tensor cotangent = past_.value(id);
        any = any || count_zeros(cotangent) < static_cast<std::uint64_t>(cotangent.count());
      }
    if (zeros < static_cast<std::uint64_t>(gradient.count()) || !any) return false;
    found_.push_back({&vjp, tensor, 0, static_cast<std::size_t>(zeros), zeros, zeros, 0, 0});
    return true;
  }

  struct Found {
    const RecordView* vjp = nullptr;
    std::uint64_t tensor = 0;
    std::size_t slot = 0, count = 0;
    std::uint64_t zeros = 0, swallowed = 0, too_small = 0;
    std::int64_t example = -1;  ///< one of its zeros
    double share() const { return static_cast<double>(swallowed + too_small) / static_cast<double>(count); }
  };

  /// A Function of a PyTorch program, whose forward record is an op inside of it.
  static bool is_own_function(const Found& found, const RecordView* forward) {
    return forward && found.vjp->head.op && is_foreign(*found.vjp->head.op) &&
           found.vjp->head.op != forward->head.op;
  }

  protocol::Reason tell(const Found& found) {
    const RecordView* forward = past_.record(found.vjp->head.forward);
    const protocol::TensorInfo gradient = past_.info(found.tensor);
    const Shape shape(std::span<const std::int64_t>(gradient.shape));
    const bool small = found.too_small > found.swallowed;
    std::string what;
    if (found.vjp->head.custom_gradient || is_own_function(found, forward))
      what = "the gradient function that the program gave it returned zeros";
    else if (small)
      what = "the number is too small for " + gradient.dtype + " and became zero (underflow)";
    else if (const OpDef* op = found.vjp->head.op)
      what = fact_text(op->facts.flat, *op, *dtype_from_name(gradient.dtype));
    if (!small && forward && found.example >= 0 && found.slot < forward->inputs.size() &&
        std::isnan(element(past_.value(forward->inputs[found.slot]), found.example)))
      what += "; the input is NaN there";
    const bool by_vjp = !forward || is_own_function(found, forward);
    protocol::Reason reason = past_.reason(by_vjp ? *found.vjp : *forward, "swallowed",
                                           counted(found.swallowed + found.too_small, "element") + " of " +
                                               std::to_string(found.count) + " became zero in the VJP of " +
                                               found.vjp->name() + ": " + what + ".");
    reason.amount = found.share();
    reason.amount_text = share_text(found.share());
    reason.tensor = protocol::if_there(gradient);
    if (found.example >= 0) reason.element = protocol::if_there(index_of(shape, found.example));
    if (forward && found.example >= 0 && forward->head.op && found.slot < forward->inputs.size()) {
      const Tensor input = past_.value(forward->inputs[found.slot]);
      const auto& names = forward->head.op->inputs;
      reason.operands.push_back(names[std::min(found.slot, names.size() - 1)].name +
                                index_text(input.shape(), found.example) + " = " +
                                element_text(input, found.example));
      reason.tensor = protocol::if_there(past_.info(forward->inputs[found.slot]));
    }
    reasons_text_ = what;
    return reason;
  }

  void finish(const Tensor& value) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.share() > b.share(); });
    const auto count = static_cast<std::uint64_t>(value.count());
    const std::uint64_t zeros = count_zeros(value);
    std::string& sentence = answer_.sentence;
    if (place_)
      sentence = "This element of the gradient is zero";
    else if (zeros == count)
      sentence = "The whole gradient is zero (" + counted(count, "element") + ")";
    else
      sentence = share_text(static_cast<double>(zeros) / static_cast<double>(count)) +
                 " of this gradient's elements are zero (" + std::to_string(zeros) + " of " +
                 std::to_string(count) + ")";
    for (const Found& found : found_) {
      protocol::Reason reason = tell(found);
      if (answer_.reasons.empty()) {
        const RecordView* forward = past_.record(found.vjp->head.forward);
        sentence += ". " + std::string(found_.size() > 1 ? "Most of it" : "It") + " was swallowed in " +
                    past_.name(forward && !is_own_function(found, forward) ? *forward : *found.vjp) +
                    ", at " + *reason.amount_text + " of the elements: " + reasons_text_ + ".";
      }
      answer_.reasons.push_back(std::move(reason));
    }
    if (found_.empty() && missing_.empty() && not_again_ == 0)
      sentence +=
          ". No op on the way made zeros of something else: zero came in at the playback's begin, or "
          "contributions cancel each other.";
    if (found_.empty() && not_again_ > 0) sentence += ".";
    if (not_again_ > 0) {
      answer_.complete = false;
      sentence += " What became zero in " + counted(not_again_, "VJP") +
                  " is not known: it cannot run again here (" + not_again_text_ + ").";
    }
    if (!missing_.empty()) sentence += ". It cannot be traced further back: " + missing_;
    if (!waiting_.empty()) sentence += " Only the nearest " + counted(most_vjps, "VJP") + " were looked at.";
  }

  Past& past_;
  const Subject& subject_;
  protocol::Because answer_;
  std::optional<std::int64_t> place_;
  Elementwise elementwise_;
  std::deque<Waiting> waiting_;
  std::set<std::uint64_t> seen_;
  std::set<std::uint32_t> done_;
  std::vector<Found> found_;
  std::uint64_t not_again_ = 0;
  std::string missing_, reasons_text_, not_again_text_;
};

}  // namespace

protocol::Because why_zero(Past& past, const Subject& subject) {
  return Zeros(past, subject).explain();
}

}  // namespace tapedeck::debug
