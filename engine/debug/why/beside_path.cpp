#include "engine/debug/why/beside_path.h"

#include <algorithm>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_gradient.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/foreign_path.h"

namespace tapedeck::debug {
namespace {

/// Sums of gradients, and how they come to their variables.
bool is_the_playbacks_own(const RecordView& record) {
  const std::string name = short_name(*record.head.op);
  return is_stop_of_playback(*record.head.op) || name == "add" || name == "add_" || name == "detach" ||
         name == "clone" || name == "ones_like" || name == "new_empty_strided" || name == "copy_" ||
         name == "AccumulateGrad";
}

/// The hooks whose gradients came into the VJPs on the path, came out of them, or arrived.
void add_hooks(Past& past, const GradientPath& path, std::uint64_t gradient, BesidePath& beside) {
  std::set<std::uint32_t> seen;
  const auto look = [&](std::uint64_t tensor) {
    while (const auto hook = hook_change(past, tensor)) {
      if (!seen.insert(hook->op->number).second) return;
      beside.has_hooks = true;
      if (changes_values(past, *hook)) beside.hooks.push_back(*hook);
      tensor = hook->before;
    }
  };
  for (const OnPath& on : path.vjps) {
    for (const std::uint64_t cotangent : on.vjp->inputs) look(cotangent);
    for (std::size_t i = 0; i < std::min(on.slots.size(), on.vjp->outputs.size()); ++i)
      if (on.slots[i]) look(on.vjp->outputs[i]);
  }
  look(gradient);
  std::ranges::sort(beside.hooks, {}, [](const HookChange& hook) { return hook.op->number; });
}

}  // namespace

BesidePath beside_in(Past& past, const RecordView& playback, const GradientPath& path,
                     std::uint64_t gradient) {
  BesidePath beside;
  if (!is_foreign_playback(past, playback)) return beside;
  add_hooks(past, path, gradient, beside);
  for (const std::uint32_t number : records_inside(past, playback)) {
    const RecordView* record = past.record(number);
    if (!record) continue;
    if (record->head.kind == EventKind::vjp)
      beside.view_writes += path.guessed && record->name() == "autograd.CopySlices" &&
                            std::none_of(path.vjps.begin(), path.vjps.end(),
                                         [&](const OnPath& on) { return on.vjp->number == number; });
    if (record->head.kind != EventKind::op || record->head.parent != playback.number || !record->head.op ||
        (is_the_playbacks_own(*record) && !record->head.custom_gradient))
      continue;
    if (record->head.custom_gradient && beside.has_hooks) continue;  // of those that are named
    if (beside.ops++ == 0) beside.first = record;
  }
  return beside;
}

}  // namespace tapedeck::debug
