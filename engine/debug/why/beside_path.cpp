#include "engine/debug/why/beside_path.h"

#include <algorithm>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_gradient.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/record/trace/source_location.h"

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

/// Where a PyTorch program read a number that comes from what is on the path, before the last op on it ran.
std::string numbers_read(Past& past, const GradientPath& path) {
  std::uint32_t found = 0;
  const RecordView* newest = path.vjps.empty() ? nullptr : past.record(path.vjps.front().vjp->head.forward);
  if (!newest || !foreign_op_of(*newest)) return {};
  const std::uint32_t last = newest->number;
  std::set<std::uint64_t> derived = path.tensors;
  derived.erase(0);  // an optional result
  for (std::uint32_t first = std::max(1u, past.recorder().trace().oldest_kept()); first < last; first += 4096)
    past.recorder().trace().glance(first, std::min(last, first + 4095), [&](const RecordGlance& glance) {
      if (glance.head.kind != EventKind::op || !glance.head.op || !is_foreign(*glance.head.op) ||
          std::none_of(glance.inputs.begin(), glance.inputs.end(),
                       [&](auto id) { return derived.contains(id); }))
        return;
      for (const std::uint64_t output : glance.outputs)
        if (output) derived.insert(output);
      if (short_name(*glance.head.op) == "_local_scalar_dense") found = glance.number;
    });
  const RecordView* record = past.record(found);
  return record
             ? " Python read a number on the way, in " + past.name(*record) +
                   ": if what it made of it came back, that is a constant, and its part of the derivative is "
                   "missing here."
             : std::string();
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

std::string around_path(Past& past, const GradientPath& path) {
  std::string text;
  std::set<std::uint64_t> leaves;
  std::set<std::uint32_t> stops;
  std::uint64_t first = UINT64_MAX;  // that an op on the path made: a print before it is not a way around
  for (const OnPath& on : path.vjps)
    for (const std::uint64_t output : past.record(on.vjp->head.forward)->outputs)
      first = std::min(first, output);
  for (const OnPath& on : path.vjps)
    for (const std::uint64_t input : past.record(on.vjp->head.forward)->inputs) {
      if (path.tensors.contains(input)) continue;
      const RecordView* maker = past.maker(input);
      if (!maker && !past.assignment(input)) leaves.insert(input);
      if (maker && maker->head.op &&
          (maker->head.op->stops_gradient ||
           (is_foreign(*maker->head.op) && short_name(*maker->head.op) == "detach")) &&
          std::any_of(maker->inputs.begin(), maker->inputs.end(),
                      [&](std::uint64_t id) { return path.tensors.contains(id); }))
        stops.insert(maker->number);
    }
  if (!stops.empty())
    text += " What goes through " + past.name(*past.record(*stops.begin())) +
            (stops.size() > 1 ? " and " + counted(stops.size() - 1, "other") : std::string()) +
            " is not part of this gradient.";
  text += numbers_read(past, path);
  if (leaves.empty() || path.tensors.empty()) return text;
  for (const ExternalRead& external_read : past.recorder().data_flow().external_reads()) {
    if (external_read.newest < first) break;  // the newest come first
    if (external_read.newest >= *leaves.rbegin() || !path.tensors.contains(external_read.tensor)) continue;
    const std::uint32_t line = location_of(external_read.location).line;
    return text + " Python or NumPy read a value on the way" +
           (line ? " (line " + std::to_string(line) + ")" : std::string()) +
           ": if what it made of it came back, that is a constant to the tape, and its part of the "
           "derivative "
           "is missing here.";
  }
  return text;
}

}  // namespace tapedeck::debug
