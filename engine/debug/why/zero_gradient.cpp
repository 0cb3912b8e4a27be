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
#include "engine/debug/why/zero_causes.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/ops.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_vjps = 2000, most_explained = 8, most_places = 100'000;

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

  enum class Kind { vjp, cancelled, memory, sum, hook, begin };
  struct Found {
    Kind kind = Kind::vjp;
    const RecordView* record = nullptr;  ///< nullptr of a hook whose ops are not known, and of the begin
    std::uint64_t tensor = 0;
    std::size_t slot = 0, count = 0;
    std::uint64_t zeros = 0, swallowed = 0, too_small = 0;
    std::vector<std::int64_t> places = {};  ///< of its zeros; of very many the first
    std::string text = {};                  ///< why, where it is known already
    double share() const { return static_cast<double>(swallowed + too_small) / static_cast<double>(count); }
    void add(std::size_t place) {
      if (places.size() < most_places) places.push_back(static_cast<std::int64_t>(place));
    }
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
      if (const RecordView* before = past_.maker(input); before ? before->head.backward : is_gradient(input))
        follow(input, zero);
  }

  void follow(std::uint64_t tensor, const Waiting& zero) {
    waiting_.push_back(
        {.tensor = tensor, .place = same_shape(tensor, zero.tensor) ? zero.place : std::nullopt});
  }

  /// Of the zeros of a tensor those that `is_made` is true of, and how many there are.
  template <class IsMade>
  Found zeros_where(Kind kind, const RecordView* record, const Waiting& zero, IsMade&& is_made) {
    const std::vector<double> values = past_.value(zero.tensor).to_vector();
    Found found{
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
    Found found = zeros_where(Kind::hook, change.op, zero,
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

  std::string example_of(std::uint64_t tensor, const Found& found) {
    if (found.places.empty()) return "another";
    const Tensor value = past_.value(tensor);
    const std::string index = index_text(value.shape(), found.places.front());
    return element_text(value, found.places.front()) + (index.empty() ? "" : " at " + index);
  }

  /// No VJP gave it: the backward pass began with it, or a hook put it there.
  void visit_given(const RecordView& into, const Waiting& zero) {
    const RecordView* forward = past_.record(into.head.forward);
    const RecordView* playback = past_.around(into, EventKind::playback);
    const bool at_begin = forward && playback && std::ranges::any_of(forward->outputs, [&](std::uint64_t id) {
                            return id && std::ranges::count(playback->inputs, id) > 0;
                          });
    const RecordView* maker = past_.maker(zero.tensor);
    Found found = zeros_where(at_begin ? Kind::begin : Kind::hook, at_begin ? playback : maker, zero,
                              [](std::size_t) { return true; });
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
    Found found = zeros_where(Kind::sum, &sum, zero, [&](std::size_t i) {
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
      found_.push_back({.kind = Kind::memory,
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
    bool all = false;
    if (vjp.head.op && is_foreign(*vjp.head.op) && slot < vjp.outputs.size()) try {
        all = look_at_foreign(vjp, call, slot, zero);
      } catch (const Error& error) {
        ++not_again_;
        if (not_again_text_.empty()) not_again_text_ = past_.name(vjp) + ": " + error.what();
      }
    else
      all = call ? look_at(vjp, *call, slot, zero) : look_at_custom(vjp, tensor);
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

  /// Whether the VJP explains every zero of its output.
  bool look_at(const RecordView& vjp, const PastVjp& call, std::size_t slot, const Waiting& zero) {
    const auto with = [&](Tensor (*change)(const Tensor&)) {
      PastVjp other = call;
      for (Tensor& cotangent : other.cotangents) cotangent = change(cotangent);
      return gradients_of(other)[slot];
    };
    return compare(vjp, slot, zero, with, in_wider_numbers(call, slot));
  }

  /// A node of PyTorch's graph: what it ran, runs again.
  bool look_at_foreign(const RecordView& vjp, const std::optional<PastVjp>& call, std::size_t slot,
                       const Waiting& zero) {
    const auto with = [&](Tensor (*change)(const Tensor&)) {
      Tensors cotangents;
      for (const std::uint64_t id : vjp.inputs) cotangents.push_back(id ? change(past_.value(id)) : Tensor());
      return foreign_vjp_again(past_, memory_, vjp, cotangents, {&zero.tensor, 1})[0];
    };
    return compare(vjp, slot, zero, with, call ? in_wider_numbers(*call, slot) : std::vector<double>());
  }

  /// `with` gives the gradient for cotangents that a function changed.
  template <class With>
  bool compare(const RecordView& vjp, std::size_t slot, const Waiting& zero, With&& with,
               const std::vector<double>& exact) {
    const Tensor gradient = past_.value(zero.tensor);
    const std::vector<double> given = gradient.to_vector(), possible = with(&nowhere_zero).to_vector();
    const double smallest = smallest_of(gradient.dtype());
    Found found{.record = &vjp, .tensor = zero.tensor, .slot = slot, .count = zero.place ? 1 : given.size()};
    Found cancelled = found;
    cancelled.kind = Kind::cancelled;
    std::vector<double> otherwise;  // of a cotangent in other proportions
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (given[i] != 0 || (zero.place && static_cast<std::int64_t>(i) != *zero.place)) continue;
      ++found.zeros;
      if (!exact.empty() && exact[i] != 0 && std::abs(exact[i]) < smallest) {
        ++found.too_small;
        found.add(i);
      } else if (possible[i] == 0) {  // also where its slope was rounded to zero
        if (otherwise.empty()) otherwise = with(&in_other_proportions).to_vector();
        Found& of = otherwise[i] != 0 && !std::isnan(otherwise[i]) ? cancelled : found;
        ++of.swallowed;
        of.add(i);
      }
    }
    cancelled.zeros = found.zeros;
    const bool all = found.zeros == found.swallowed + found.too_small + cancelled.swallowed;
    for (Found* one : {&found, &cancelled})
      if (one->swallowed + one->too_small > 0) found_.push_back(std::move(*one));
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
    found_.push_back({.record = &vjp,
                      .tensor = tensor,
                      .count = static_cast<std::size_t>(zeros),
                      .zeros = zeros,
                      .swallowed = zeros,
                      .places = {0}});
    return true;
  }

  /// Why zeros came of it: a clause, and what else there is to see of it.
  ZeroCause what_swallowed(const Found& found, const RecordView* forward) {
    if (!found.text.empty()) return {found.text, {}};
    if (found.kind == Kind::memory)
      return {"these elements are no part of the view that the gradient came from", {}};
    const RecordView& vjp = *found.record;
    if (is_module_hook(vjp)) return {"a full backward hook of a module returned zeros there", {}};
    if (vjp.head.custom_gradient)
      return {"the gradient function that the program gave it returned zeros", {}};
    if (found.too_small > found.swallowed)
      return {
          "the number is too small for " + past_.info(found.tensor).dtype + " and became zero (underflow)",
          {}};
    if (forward && is_write_into_view(vjp, *forward)) {
      if (const ForeignOp* write = foreign_op_of(*forward); write && replaces(*write))
        return {"it wrote over these elements through a view, so that what they were before does not count",
                {}};
      return {"it wrote into these elements through a view, and its slope is zero there", {}};
    }
    if (const RecordView* writer = overwritten_since(vjp, forward)) {
      protocol::Reason reason = past_.reason(*writer, "overwrote", "It wrote into what the op keeps.");
      return {past_.name(*writer) +
                  " changed what this op keeps for its gradient after it ran, without PyTorch noticing (as "
                  "writes "
                  "through .data do): with what is there now the gradient is zero",
              {std::move(reason)}};
    }
    const bool is_explained = told_++ < most_explained;
    const std::optional<PastVjp> call = is_explained ? vjp_call(past_, vjp) : std::nullopt;
    const ZerosOfVjp zeros{vjp, forward, call ? &*call : nullptr, found.slot, found.places};
    if (found.kind == Kind::cancelled) return {why_cancelled(past_, zeros), {}};
    return why_flat(past_, memory_, zeros);
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
        if (!writer && id) writer = assigned_since(id, *forward);
        if (writer && writer->number > forward->number && !writer->head.backward &&
            (kept.contains(memory_.shared().memory_of(id)) || past_.assignment(id)))
          return writer;
      }
    return nullptr;
  }

  /// Of a variable's value what wrote it, where the op read an older one of the same variable.
  const RecordView* assigned_since(std::uint64_t tensor, const RecordView& forward) {
    const auto assignment = past_.assignment(tensor);
    if (!assignment || std::ranges::none_of(forward.inputs, [&](std::uint64_t id) {
          const auto older = id && id != tensor ? past_.assignment(id) : std::nullopt;
          return older && older->variable == assignment->variable;
        }))
      return nullptr;
    const RecordView* maker = past_.maker(assignment->value);
    return maker ? maker : past_.record(memory_.shared().writer_of(assignment->value));
  }

  struct Told {
    std::string sentence;  ///< ". It was swallowed in …"
    std::vector<protocol::Reason> reasons;
  };

  Told tell(const Found& found) {
    const RecordView* record = found.record;
    const RecordView* forward =
        record && record->head.kind == EventKind::vjp ? past_.record(record->head.forward) : nullptr;
    ZeroCause cause = what_swallowed(found, forward);
    const bool by_vjp = found.kind == Kind::vjp || found.kind == Kind::cancelled;
    // Of a write through a view the gradient is that of the whole, and the input is the view.
    const bool has_input = by_vjp && forward && !found.places.empty() &&
                           found.slot < forward->inputs.size() && forward->inputs[found.slot] &&
                           !is_write_into_view(*record, *forward);
    const Tensor input = has_input ? past_.value(forward->inputs[found.slot]) : Tensor();
    if (input && found.too_small <= found.swallowed && std::isnan(element(input, found.places.front())))
      cause.clause += "; the input is NaN there";
    const RecordView* at = forward ? forward : record;
    protocol::Reason reason = at ? past_.reason(*at, role_of(found.kind), {}) : protocol::Reason();
    reason.role = role_of(found.kind);
    if (!at) reason.op = "a hook";
    const std::string in = !at      ? std::string("a hook")
                           : by_vjp ? "the VJP of " + record->name()
                                    : record->name();
    reason.sentence = counted(found.swallowed + found.too_small, "element") + " of " +
                      std::to_string(found.count) + " became zero in " + in + ": " + cause.clause + ".";
    if (found.kind == Kind::begin)
      reason.sentence = counted(found.swallowed, "element") + " of " + std::to_string(found.count) +
                        " were zero from the begin: " + cause.clause + ".";
    reason.amount = found.share();
    reason.amount_text = share_text(found.share());
    add_example(found, input, forward, reason);
    Told told{". " + std::string(found_.size() > 1 ? "Most of it " : "It ") + verb_of(found.kind) +
                  (at ? past_.name(*at) : "the backward pass") + ", at " + *reason.amount_text +
                  " of the elements: " + cause.clause + ".",
              {}};
    told.reasons.push_back(std::move(reason));
    for (protocol::Reason& other : cause.reasons) told.reasons.push_back(std::move(other));
    return told;
  }

  static std::string role_of(Kind kind) {
    return kind == Kind::sum     ? "cancelled"
           : kind == Kind::hook  ? "hook"
           : kind == Kind::begin ? "begin"
                                 : "swallowed";
  }

  static std::string verb_of(Kind kind) {
    switch (kind) {
      case Kind::sum:
        return "is a sum whose contributions cancel each other, made by ";
      case Kind::hook:
        return "was made by a hook, in ";
      case Kind::begin:
        return "was there from the begin of ";
      default:
        return "was swallowed in ";
    }
  }

  void add_example(const Found& found, const Tensor& input, const RecordView* forward,
                   protocol::Reason& reason) {
    const protocol::TensorInfo gradient = past_.info(found.tensor);
    const Shape shape(std::span<const std::int64_t>(gradient.shape));
    reason.tensor = protocol::if_there(gradient);
    if (found.places.empty()) return;
    const std::int64_t example = found.places.front();
    reason.element = protocol::if_there(index_of(shape, example));
    if (!input || !forward->head.op) return;
    const auto& names = forward->head.op->inputs;
    reason.operands.push_back(names[std::min(found.slot, names.size() - 1)].name +
                              index_text(input.shape(), example) + " = " + element_text(input, example));
    reason.tensor = protocol::if_there(past_.info(forward->inputs[found.slot]));
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
      Told told = tell(found);
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
  std::deque<Waiting> waiting_;
  std::set<std::uint64_t> seen_;
  std::set<std::uint32_t> done_;
  std::vector<Found> found_;
  std::uint64_t not_again_ = 0;
  std::size_t told_ = 0;
  std::string missing_, not_again_text_;
};

}  // namespace

protocol::Because why_zero(Past& past, const Subject& subject) {
  return Zeros(past, subject).explain();
}

}  // namespace tapedeck::debug
