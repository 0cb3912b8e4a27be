// Why is this gradient zero? The VJPs on the way to it that made zeros of what was not zero. An element that
// stays zero whatever comes in at the other side was swallowed by the VJP itself: so each VJP runs again with
// cotangents that are nowhere zero.
#include <algorithm>
#include <deque>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/gradient_hooks.h"
#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/view_write.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/why.h"
#include "engine/debug/why/zero_vjp.h"
#include "engine/debug/why/zeros_found.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_vjps = 2000;

class Zeros {
 public:
  Zeros(Past& past, const Subject& subject) : past_(past), subject_(subject) {}

  protocol::Because explain() {
    answer_.question = protocol::Question::gradient;
    answer_.amount = "share";
    const Tensor value = past_.value(subject_.tensor);
    if (!is_zero(value)) return std::move(answer_);
    waiting_.push_back({.tensor = subject_.tensor, .place = place_});
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
    std::optional<std::int64_t> place = {};
    const RecordView* into = nullptr;      ///< the VJP that it came into
    std::optional<std::size_t> slot = {};  ///< which gradient of its VJP it was before a hook changed it
  };

  void visit(const Waiting& zero) {
    if (!seen_.insert(zero.tensor).second) return;
    if (const auto change = hook_change(past_, zero.tensor)) return visit_hook(*change, zero);
    const RecordView* maker = past_.maker(zero.tensor);
    const RecordView* vjp = maker ? past_.around(*maker, EventKind::vjp) : past_.giver(zero.tensor);
    if (vjp && done_.insert(vjp->number).second) return visit_vjp(*vjp, zero);
    if (vjp) return;
    if (zero.into && !(maker ? maker->head.backward : is_gradient(zero.tensor)))
      return visit_given(*zero.into, zero);
    if (!maker) return visit_memory(zero);
    if (is_sum(*maker) && visit_sum(*maker, zero)) return;
    // A sum of gradients, or what the program did with one: follow what has zeros.
    if (const ForeignOp* op = foreign_op_of(*maker);
        op && short_name(*op->row) == "copy_" && maker->inputs.size() == 2)
      return follow(maker->inputs[1], zero);
    for (const std::uint64_t input : maker->inputs)
      if (const RecordView* before = past_.maker(input);
          before ? before->head.backward : is_gradient(input)) {
        if (!is_sum(*maker)) visit_beside(*maker, input, zero);
        follow(input, zero);
      }
  }

  /// An op of PyTorch's that no VJP ran, and no hook that is known as one.
  void visit_beside(const RecordView& op, std::uint64_t input, const Waiting& zero) {
    if (!op.head.backward || !foreign_op_of(op) || !same_shape(input, zero.tensor)) return;
    const std::vector<double> before = past_.value(input).to_vector();
    FoundZeros found = zeros_where(ZeroKind::hook, &op, zero, [&](std::size_t i) { return before[i] != 0; });
    if (found.swallowed == 0) return;
    found.text =
        "no VJP ran it, so that it is of a hook, or of a node that no record made; the gradient was " +
        example_of(input, found) + " before it";
    found_.push_back(std::move(found));
  }

  void follow(std::uint64_t tensor, const Waiting& zero) {
    waiting_.push_back(
        {.tensor = tensor, .place = same_shape(tensor, zero.tensor) ? zero.place : std::nullopt});
  }

  /// Of the zeros of a tensor those that `is_made` is true of, and how many there are.
  template <class IsMade>
  FoundZeros zeros_where(ZeroKind kind, const RecordView* record, const Waiting& zero, IsMade&& is_made) {
    const std::vector<double> values = past_.value(zero.tensor).to_vector();
    FoundZeros found{
        .kind = kind, .record = record, .tensor = zero.tensor, .count = zero.place ? 1 : values.size()};
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] != 0 || (zero.place && static_cast<std::int64_t>(i) != *zero.place)) continue;
      ++found.zeros;
      if (!is_made(i)) continue;
      ++found.swallowed;
      found.add(i);
    }
    return found;
  }

  void visit_hook(const HookChange& change, const Waiting& zero) {
    std::vector<double> before;
    if (change.before) before = past_.value(change.before).to_vector();
    FoundZeros found = zeros_where(ZeroKind::hook, change.op, zero,
                                   [&](std::size_t i) { return i >= before.size() || before[i] != 0; });
    found.text =
        hook_name(past_, change) +
        (change.before ? " made zeros there of a gradient that was " + example_of(change.before, found)
                       : " gave this gradient in place of the one that came");
    const std::uint64_t left = found.zeros - found.swallowed;
    if (found.swallowed > 0) found_.push_back(std::move(found));
    if (left == 0 || change.before == 0) return;
    std::optional<std::size_t> slot;
    if (const RecordView* vjp = past_.around(*change.op, EventKind::vjp))
      if (const auto at = std::ranges::find(vjp->outputs, change.after); at != vjp->outputs.end())
        slot = static_cast<std::size_t>(at - vjp->outputs.begin());
    waiting_.push_back({change.before, zero.place, zero.into, slot});
  }

  std::string example_of(std::uint64_t tensor, const FoundZeros& found) {
    if (found.places.empty()) return "another";
    const Tensor value = past_.value(tensor);
    const std::string index = index_text(value.shape(), found.places.front());
    return element_text(value, found.places.front()) + (index.empty() ? "" : " at " + index);
  }

  /// No VJP gave it: the backward pass began with it, or a hook put it there.
  void visit_given(const RecordView& into, const Waiting& zero) {
    const RecordView* forward = past_.record(into.head.forward);
    const RecordView* playback = past_.around(into, EventKind::playback);
    const bool is_first = playback && into.number == playback->number + 1;
    const bool is_target =
        forward && playback && std::ranges::any_of(forward->outputs, [&](std::uint64_t id) {
          return id && std::ranges::count(playback->inputs, id) > 0;
        });
    const RecordView* maker = past_.maker(zero.tensor);
    const bool at_begin = is_first || is_target;
    const bool is_forgotten = !maker && past_.recorder().trace().tensors().get(zero.tensor).producer() != 0;
    if (!at_begin && (is_forgotten || !into.head.op || !is_foreign(*into.head.op))) return;
    FoundZeros found = zeros_where(at_begin ? ZeroKind::begin : ZeroKind::hook, at_begin ? playback : maker,
                                   zero, [](std::size_t) { return true; });
    found.text =
        at_begin ? "the backward pass was given zeros there to begin with (the gradient= of backward(), or "
                   "grad_outputs= of autograd.grad())"
                 : "no VJP gave this gradient, and no op in the backward pass made it: a hook of the "
                   "program, or PyTorch itself, put it in place of another";
    if (found.swallowed > 0) found_.push_back(std::move(found));
  }

  /// What a playback adds up, or AccumulateGrad adds to `grad`.
  static bool is_sum(const RecordView& record) {
    if (!record.head.backward || !record.head.op || record.inputs.size() < 2) return false;
    const std::string name = short_name(*record.head.op);
    return record.head.op->form == Form::sum || name == "add" || name == "add_";
  }

  /// Whether all of its zeros are sums of contributions that cancel.
  bool visit_sum(const RecordView& sum, const Waiting& zero) {
    std::vector<std::vector<double>> terms;
    for (const std::uint64_t input : sum.inputs)
      if (input && same_shape(input, zero.tensor)) terms.push_back(past_.value(input).to_vector());
    if (terms.size() < 2) return false;
    FoundZeros found = zeros_where(ZeroKind::sum, &sum, zero, [&](std::size_t i) {
      return std::ranges::any_of(terms, [&](const auto& term) { return term[i] != 0; });
    });
    const bool all = found.swallowed == found.zeros;
    if (found.swallowed == 0) return false;
    for (const std::uint64_t input : sum.inputs)
      if (input && same_shape(input, zero.tensor))
        found.text +=
            (found.text.empty() ? "" : " and ") + example_of(input, found) + " of " + giver_text(input);
    found_.push_back(std::move(found));
    return all;
  }

  std::string giver_text(std::uint64_t tensor) {
    const RecordView* maker = past_.maker(tensor);
    const RecordView* vjp = maker ? past_.around(*maker, EventKind::vjp) : past_.giver(tensor);
    const RecordView* forward = vjp ? past_.record(vjp->head.forward) : nullptr;
    if (forward) return past_.name(*forward);
    if (maker && is_sum(*maker)) return "a sum of others";
    return maker && maker->head.backward ? past_.name(*maker) : "what was there before";
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
        if (!is_filled(source->tensor, 1))
          waiting_.push_back({.tensor = source->tensor, .place = source->place});
        return;
      }
    for (const ElementSource& source : memory_.sources(zero.tensor))
      if (!is_filled(source.tensor, source.elements)) waiting_.push_back({.tensor = source.tensor});
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
      found_.push_back({.kind = ZeroKind::memory,
                        .record = maker,
                        .tensor = tensor,
                        .count = static_cast<std::size_t>(value.count()),
                        .zeros = zeros,
                        .swallowed = zeros,
                        .places = {0}});
    return true;
  }

  bool same_shape(std::uint64_t a, std::uint64_t b) const {
    return past_.info(a).shape == past_.info(b).shape;
  }

  void visit_vjp(const RecordView& vjp, const Waiting& zero) {
    const std::uint64_t tensor = zero.tensor;
    const std::size_t slot = zero.slot.value_or(
        static_cast<std::size_t>(std::ranges::find(vjp.outputs, tensor) - vjp.outputs.begin()));
    const std::optional<PastVjp> call = slot < vjp.outputs.size() ? vjp_call(past_, vjp) : std::nullopt;
    VjpZeros zeros(past_, memory_, {vjp, call ? &*call : nullptr, slot, tensor, zero.place});
    bool all = false;
    try {
      all = zeros.look();
    } catch (const Error& error) {
      if (!vjp.head.op || !is_foreign(*vjp.head.op)) throw;
      ++not_again_;
      if (not_again_text_.empty()) not_again_text_ = past_.name(vjp) + ": " + error.what();
    }
    for (FoundZeros& found : zeros.found) found_.push_back(std::move(found));
    if (all) return;
    const RecordView* forward = past_.record(vjp.head.forward);
    const bool by_element =
        call ? forward && elementwise_.is(*forward, call->inputs)
             : forward && slot == 0 && is_write_into_view(vjp, *forward) && writes_by_element(*forward);
    for (const std::uint64_t cotangent : vjp.inputs)
      if (cotangent)
        waiting_.push_back({.tensor = cotangent,
                            .place = by_element && same_shape(cotangent, tensor) ? zero.place : std::nullopt,
                            .into = &vjp});
  }

  bool writes_by_element(const RecordView& forward) {
    try {
      return elementwise_.is(forward, past_.inputs(forward));
    } catch (const ValueError&) {
      return false;
    }
  }

  void finish(const Tensor& value) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const FoundZeros& a, const FoundZeros& b) { return a.share() > b.share(); });
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
    for (const FoundZeros& found : found_) {
      ZeroReasons::Told told = reasons_.tell(found, found_.size() == 1);
      if (&found == &found_.front()) sentence += told.sentence;
      for (protocol::Reason& reason : told.reasons) answer_.reasons.push_back(std::move(reason));
    }
    if (found_.empty() && missing_.empty() && not_again_ == 0)
      sentence += ". No op on the way that is recorded made zeros of something else.";
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
  ZeroReasons reasons_{past_, memory_};
  std::deque<Waiting> waiting_;
  std::set<std::uint64_t> seen_;
  std::set<std::uint32_t> done_;
  std::vector<FoundZeros> found_;
  std::uint64_t not_again_ = 0;
  std::string missing_, not_again_text_;
};

}  // namespace

protocol::Because why_zero(Past& past, const Subject& subject) {
  return Zeros(past, subject).explain();
}

}  // namespace tapedeck::debug
