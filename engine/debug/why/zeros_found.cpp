#include "engine/debug/why/zeros_found.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/gradient_hooks.h"
#include "engine/debug/why/view_write.h"
#include "engine/debug/why/zero_causes.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_explained = 8;

class Telling {
 public:
  Telling(Past& past, WrittenMemory& memory, std::size_t& explained)
      : past_(past), memory_(memory), explained_(explained) {}

  ZeroReasons::Told tell(const FoundZeros& found, bool alone) {
    const RecordView* record = found.record;
    const RecordView* forward =
        record && record->head.kind == EventKind::vjp ? past_.record(record->head.forward) : nullptr;
    ZeroCause cause = what_swallowed(found, forward);
    const bool by_vjp = found.kind == ZeroKind::vjp || found.kind == ZeroKind::cancelled;
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
    if (found.kind == ZeroKind::begin)
      reason.sentence = counted(found.swallowed, "element") + " of " + std::to_string(found.count) +
                        " were zero from the begin: " + cause.clause + ".";
    reason.amount = found.share();
    reason.amount_text = share_text(found.share());
    add_example(found, input, forward, reason);
    ZeroReasons::Told told{". " + std::string(alone ? "It " : "Most of it ") + verb_of(found.kind) +
                               (at ? past_.name(*at) : "the backward pass") + ", at " + *reason.amount_text +
                               " of the elements: " + cause.clause + ".",
                           {}};
    told.reasons.push_back(std::move(reason));
    for (protocol::Reason& other : cause.reasons) told.reasons.push_back(std::move(other));
    return told;
  }

 private:
  /// Nothing where its values are gone: then its op's fact is all there is to say.
  std::optional<PastVjp> call_of(const RecordView& vjp) {
    try {
      return vjp_call(past_, vjp);
    } catch (const ValueError&) {
      return std::nullopt;
    }
  }

  /// Why zeros came of it: a clause, and what else there is to see of it.
  ZeroCause what_swallowed(const FoundZeros& found, const RecordView* forward) {
    if (!found.text.empty()) return {found.text, {}};
    if (found.kind == ZeroKind::memory)
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
    const bool is_explained = explained_++ < most_explained;
    const std::optional<PastVjp> call = is_explained ? call_of(vjp) : std::nullopt;
    const ZerosOfVjp zeros{vjp, forward, call ? &*call : nullptr, found.slot, found.places};
    if (found.kind == ZeroKind::cancelled) return {why_cancelled(past_, zeros), {}};
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

  static std::string role_of(ZeroKind kind) {
    return kind == ZeroKind::sum     ? "cancelled"
           : kind == ZeroKind::hook  ? "hook"
           : kind == ZeroKind::begin ? "begin"
                                     : "swallowed";
  }

  static std::string verb_of(ZeroKind kind) {
    switch (kind) {
      case ZeroKind::sum:
        return "is a sum whose contributions cancel each other, made by ";
      case ZeroKind::hook:
        return "was made by a hook, in ";
      case ZeroKind::begin:
        return "was there from the begin of ";
      default:
        return "was swallowed in ";
    }
  }

  void add_example(const FoundZeros& found, const Tensor& input, const RecordView* forward,
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

  Past& past_;
  WrittenMemory& memory_;
  std::size_t& explained_;
};

}  // namespace

ZeroReasons::Told ZeroReasons::tell(const FoundZeros& found, bool alone) {
  return Telling(past_, memory_, explained_).tell(found, alone);
}

}  // namespace tapedeck::debug
