// The VJPs that a gradient came through.
#include <algorithm>

#include "engine/debug/why/view_write.h"
#include "engine/debug/why/vjp_check.h"
#include "engine/debug/why/written_memory.h"
#include "engine/ops/core/foreign.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t path_records_at_once = 4096;

/// The VJPs that the playback itself ran, in its order.
std::vector<std::uint32_t> vjps_of(Past& past, const RecordView& playback) {
  std::vector<std::uint32_t> numbers;
  const Trace& trace = past.recorder().trace();
  const std::uint32_t newest = trace.newest();
  bool beyond = false;
  for (std::uint32_t first = playback.number + 1; first <= newest && !beyond; first += path_records_at_once) {
    check_cancelled(past.cancel());
    trace.glance(first, std::min(newest, first + path_records_at_once - 1), [&](const RecordGlance& glance) {
      if (glance.head.thread != playback.head.thread) return;
      beyond = beyond || glance.head.depth <= playback.head.depth;
      if (!beyond && glance.head.parent == playback.number && glance.head.kind == EventKind::vjp &&
          glance.state == RecordState::done)
        numbers.push_back(glance.number);
    });
  }
  return numbers;
}

/// Which tensors of the forward pass depend on those asked about: results of ops that did, and what has
/// elements of such tensors because it was written through a view.
class Dependents {
 public:
  Dependents(Past& past, std::set<std::uint64_t>& tensors) : past_(past), memory_(past), tensors_(tensors) {}

  bool contains(std::uint64_t tensor) {
    if (tensor == 0) return false;
    if (tensors_.contains(tensor)) return true;
    for (const ElementSource& source : memory_.sources(tensor))
      if (source.tensor < tensor && contains(source.tensor)) {
        tensors_.insert(tensor);
        return true;
      }
    return false;
  }

  /// Of what a write went into: whether the whole depends that it is a view of.
  bool whole_of_view(std::uint64_t tensor) {
    for (int back = 0; back < most_views_of_views; ++back) {
      if (contains(tensor)) return true;
      const RecordView* maker = past_.maker(tensor);
      const ForeignOp* op = maker ? foreign_op_of(*maker) : nullptr;
      if (!op || maker->inputs.empty() ||
          std::none_of(op->results.begin(), op->results.end(), [](const ForeignValue& result) {
            return result.is_tensor && !result.alias.empty() && !result.written;
          }))
        return false;
      tensor = maker->inputs[0];
    }
    return false;
  }

  bool has_guessed() const { return memory_.has_guessed(); }

 private:
  static constexpr int most_views_of_views = 100;
  Past& past_;
  WrittenMemory memory_;
  std::set<std::uint64_t>& tensors_;
};

}  // namespace

GradientPath path_from(Past& past, const RecordView& playback, std::set<std::uint64_t> tensors) {
  GradientPath path;
  Dependents dependents(past, tensors);
  std::vector<std::uint32_t> numbers = vjps_of(past, playback);
  // From the last to the first: in the order of the forward pass.
  for (auto number = numbers.rbegin(); number != numbers.rend(); ++number) {
    check_cancelled(past.cancel());
    const RecordView* vjp = past.record(*number);
    const RecordView* forward = vjp ? past.record(vjp->head.forward) : nullptr;
    if (!forward) {
      ++path.forgotten;
      continue;
    }
    // A custom gradient that gave None has lost what flowed there. A built-in one that did has none to give,
    // unless it gave rows, which leave no gradient of the whole.
    const bool gave_rows = forward->head.op && std::all_of(vjp->outputs.begin(), vjp->outputs.end(),
                                                           [](std::uint64_t id) { return id == 0; });
    const bool into_view = is_write_into_view(*vjp, *forward);
    OnPath on{vjp, {}};
    for (std::size_t i = 0; i < std::min(forward->inputs.size(), vjp->outputs.size()); ++i) {
      const bool depends = i == 0 && into_view ? dependents.whole_of_view(forward->inputs[i])
                                               : dependents.contains(forward->inputs[i]);
      on.slots.push_back(depends && (vjp->outputs[i] != 0 || gave_rows || !forward->head.op));
    }
    for (const std::uint64_t variable : variables_of_slots(past, *forward, *vjp))
      on.slots.push_back(variable ? tensors.contains(variable) : vjp->outputs[on.slots.size()] != 0);
    if (std::none_of(on.slots.begin(), on.slots.end(), [](bool slot) { return slot; })) continue;
    tensors.insert(forward->outputs.begin(), forward->outputs.end());
    path.vjps.push_back(std::move(on));
  }
  std::reverse(path.vjps.begin(), path.vjps.end());
  path.guessed = dependents.has_guessed();
  path.tensors = std::move(tensors);
  return path;
}

const RecordView* first_vjp_of(Past& past, const RecordView& forward) {
  if (forward.head.tape == 0) return nullptr;
  const Trace& trace = past.recorder().trace();
  const std::uint32_t newest = trace.newest();
  std::uint32_t found = 0;
  for (std::uint32_t first = forward.number + 1; first <= newest && found == 0;
       first += path_records_at_once) {
    check_cancelled(past.cancel());
    trace.glance(first, std::min(newest, first + path_records_at_once - 1), [&](const RecordGlance& glance) {
      if (found == 0 && glance.head.kind == EventKind::vjp && glance.head.forward == forward.number &&
          glance.state == RecordState::done)
        found = glance.number;
    });
  }
  return past.record(found);
}

}  // namespace tapedeck::debug
