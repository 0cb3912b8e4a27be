// Why is this gradient zero? The VJPs on the way to it that made zeros of what was not zero. An element that
// stays zero whatever comes in at the other side was swallowed by the VJP itself: so each VJP runs again with
// cotangents that are nowhere zero.
#include <algorithm>
#include <deque>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/view_write.h"
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
    const RecordView* vjp = maker ? past_.around(*maker, EventKind::vjp) : past_.giver(zero.tensor);
    if (vjp && done_.insert(vjp->number).second) return visit_vjp(*vjp, zero);
    if (vjp) return;
    if (!maker) return visit_memory(zero);
    // A sum of gradients, or what the program did with one: follow what has zeros.
    if (const ForeignOp* op = foreign_op_of(*maker);
        op && short_name(*op->row) == "copy_" && maker->inputs.size() == 2)
      return follow(maker->inputs[1], zero);
    for (const std::uint64_t input : maker->inputs)
      if (const RecordView* before = past_.maker(input); before ? before->head.backward : is_gradient(input))
        follow(input, zero);
  }

  void follow(std::uint64_t tensor, const Waiting& zero) {
    waiting_.push_back({tensor, same_shape(tensor, zero.tensor) ? zero.place : std::nullopt});
  }

  /// Of a tensor that no op made: whether it was written in a backward pass.
  bool is_gradient(std::uint64_t tensor) {
    if (past_.giver(tensor)) return true;
    for (const ElementSource& source : memory_.sources(tensor))
      if (const RecordView* before = past_.maker(source.tensor); before && before->head.backward) return true;
    return false;
  }

  /// What was written through views, by the playback itself or by the program.
  void visit_memory(const Waiting& zero) {
    if (zero.place)
      if (const auto source = memory_.source(zero.tensor, *zero.place)) {
        if (!is_filled(source->tensor, 1)) waiting_.push_back({source->tensor, source->place});
        return;
      }
    for (const ElementSource& source : memory_.sources(zero.tensor))
      if (!is_filled(source.tensor, source.elements)) waiting_.push_back({source.tensor, std::nullopt});
  }

  /// Whether the playback itself, in no VJP that is known, made the tensor of zeros: for the elements of a
  /// whole that a view of it has not.
  bool is_filled(std::uint64_t tensor, std::int64_t elements) {
    const RecordView* maker = past_.maker(tensor);
    const ForeignOp* op = maker && maker->head.backward ? foreign_op_of(*maker) : nullptr;
    if (!op || past_.around(*maker, EventKind::vjp) || !(op->reads_shapes_alone || maker->inputs.empty()))
      return false;
    const Tensor value = past_.value(tensor);
    const auto zeros = static_cast<std::uint64_t>(elements);
    if (count_zeros(value) < static_cast<std::uint64_t>(value.count())) return false;
    if (done_.insert(maker->number).second)
      found_.push_back({maker, tensor, 0, static_cast<std::size_t>(value.count()), zeros, zeros, 0, 0});
    return true;
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
    const bool by_element =
        call ? forward && elementwise_.is(*forward, call->inputs)
             : forward && slot == 0 && is_write_into_view(vjp, *forward) && writes_by_element(*forward);
    for (const std::uint64_t cotangent : vjp.inputs)
      if (cotangent)
        waiting_.push_back(
            {cotangent, by_element && same_shape(cotangent, tensor) ? zero.place : std::nullopt});
  }

  bool writes_by_element(const RecordView& forward) {
    try {
      return elementwise_.is(forward, past_.inputs(forward));
    } catch (const ValueError&) {
      return false;
    }
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
    const Tensor possible = foreign_vjp_again(past_, memory_, vjp, cotangents)[slot];
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

  /// Why zeros came of it: a clause.
  std::string what_swallowed(const Found& found, const RecordView* forward) {
    if (found.vjp->head.kind == EventKind::op)
      return "these elements are no part of the view that the gradient came from";
    if (found.vjp->head.custom_gradient)
      return "the gradient function that the program gave it returned zeros";
    const protocol::TensorInfo gradient = past_.info(found.tensor);
    if (found.too_small > found.swallowed)
      return "the number is too small for " + gradient.dtype + " and became zero (underflow)";
    if (forward && is_write_into_view(*found.vjp, *forward)) {
      if (const ForeignOp* write = foreign_op_of(*forward); write && replaces(*write))
        return "it wrote over these elements through a view, so that what they were before does not count";
      return "it wrote into these elements through a view, and its slope is zero there";
    }
    if (const RecordView* writer = overwritten_since(*found.vjp, forward))
      return past_.name(*writer) +
             " changed what this op keeps for its gradient after it ran, without PyTorch noticing (as writes "
             "through .data do): with what is there now the gradient is zero";
    const OpDef* op = found.vjp->head.op;
    return op ? fact_text(op->facts.flat, *op, *dtype_from_name(gradient.dtype)) : std::string();
  }

  /// Whether nothing is left of what it writes over.
  static bool replaces(const ForeignOp& write) {
    return write.reads_shapes_alone || short_name(*write.row) == "copy_" || short_name(*write.row) == "fill_";
  }

  /// The op that wrote into what the VJP reads of its forward op, after that had run.
  const RecordView* overwritten_since(const RecordView& vjp, const RecordView* forward) {
    if (!forward || !foreign_op_of(*forward)) return nullptr;
    std::set<std::uint64_t> kept;
    for (const TensorIds* ids : {&forward->inputs, &forward->outputs})
      for (const std::uint64_t id : *ids)
        if (id) kept.insert(memory_.shared().memory_of(id));
    for (const std::uint32_t number : records_inside(past_, vjp))
      for (const std::uint64_t id : past_.record(number)->inputs) {
        const RecordView* writer = id ? past_.record(memory_.shared().writer_of(id)) : nullptr;
        if (writer && writer->number > forward->number && !writer->head.backward &&
            kept.contains(memory_.shared().memory_of(id)))
          return writer;
      }
    return nullptr;
  }

  protocol::Reason tell(const Found& found) {
    const RecordView* forward =
        found.vjp->head.kind == EventKind::vjp ? past_.record(found.vjp->head.forward) : nullptr;
    const protocol::TensorInfo gradient = past_.info(found.tensor);
    const Shape shape(std::span<const std::int64_t>(gradient.shape));
    std::string what = what_swallowed(found, forward);
    // Of a write through a view the gradient is that of the whole, and the input is the view.
    const bool has_input = forward && found.example >= 0 && found.slot < forward->inputs.size() &&
                           !is_write_into_view(*found.vjp, *forward);
    const Tensor input = has_input ? past_.value(forward->inputs[found.slot]) : Tensor();
    if (input && found.too_small <= found.swallowed && std::isnan(element(input, found.example)))
      what += "; the input is NaN there";
    const bool by_playback = found.vjp->head.kind == EventKind::op;
    protocol::Reason reason = past_.reason(
        forward ? *forward : *found.vjp, "swallowed",
        counted(found.swallowed + found.too_small, "element") + " of " + std::to_string(found.count) +
            " became zero in " + (by_playback ? found.vjp->name() : "the VJP of " + found.vjp->name()) +
            ": " + what + ".");
    reason.amount = found.share();
    reason.amount_text = share_text(found.share());
    reason.tensor = protocol::if_there(gradient);
    if (found.example >= 0) reason.element = protocol::if_there(index_of(shape, found.example));
    if (input && forward->head.op) {
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
        const RecordView* forward =
            found.vjp->head.kind == EventKind::vjp ? past_.record(found.vjp->head.forward) : nullptr;
        sentence += ". " + std::string(found_.size() > 1 ? "Most of it" : "It") + " was swallowed in " +
                    past_.name(forward ? *forward : *found.vjp) + ", at " + *reason.amount_text +
                    " of the elements: " + reasons_text_ + ".";
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
  WrittenMemory memory_{past_};
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
