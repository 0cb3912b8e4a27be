#include "engine/debug/why/gradient_hooks.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_ops_of_hook = 1000;

/// Not what a backward pass runs again of the forward one, which makes no gradients.
bool is_of_hook(Past& past, const RecordView& record) {
  if (record.head.kind != EventKind::op || !record.head.backward || !record.head.op ||
      !foreign_op_of(record) || is_arrival(*record.head.op))
    return false;
  const RecordView* parent = past.record(record.head.parent);
  if (!parent || (parent->head.kind != EventKind::vjp && parent->head.kind != EventKind::playback))
    return false;
  return record.head.custom_gradient || is_module_hook(*parent);
}

Shape shape_of(Past& past, std::uint64_t tensor) {
  return spec_of(past.recorder().trace().tensors().get(tensor).spec()).shape;
}

}  // namespace

bool is_module_hook(const RecordView& vjp) {
  return vjp.head.kind == EventKind::vjp && vjp.name() == "autograd.BackwardHookFunction";
}

std::optional<HookChange> hook_change(Past& past, std::uint64_t gradient) {
  const RecordView* made = gradient ? past.maker(gradient) : nullptr;
  if (!made || !is_of_hook(past, *made)) return std::nullopt;
  HookChange change{made, 0, gradient};
  const RecordView* parent = past.record(made->head.parent);
  std::vector<const RecordView*> waiting{made};
  std::set<std::uint32_t> seen{made->number};
  while (!waiting.empty() && seen.size() < most_ops_of_hook) {
    const RecordView* op = waiting.back();
    waiting.pop_back();
    for (const std::uint64_t input : op->inputs) {
      if (input == 0) continue;
      const RecordView* maker = past.maker(input);
      if (maker && maker->head.parent == made->head.parent && is_of_hook(past, *maker)) {
        if (seen.insert(maker->number).second) waiting.push_back(maker);
        continue;
      }
      const bool came_in = is_module_hook(*parent) && std::ranges::count(parent->inputs, input) > 0;
      const bool is_gradient = came_in || (maker ? maker->head.backward : past.giver(input) != nullptr);
      if (is_gradient && shape_of(past, input) == shape_of(past, gradient)) change.before = input;
    }
  }
  return change;
}

std::string hook_name(Past& past, const HookChange& change) {
  const RecordView* parent = past.record(change.op->head.parent);
  return parent && is_module_hook(*parent) ? "a full backward hook of a module" : "a hook of the program";
}

std::string hook_factor(Past& past, const HookChange& change) {
  if (change.before == 0) return {};
  try {
    const std::vector<double> before = past.value(change.before).to_vector();
    const std::vector<double> after = past.value(change.after).to_vector();
    std::optional<double> factor;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
      if (before[i] == 0 && after[i] == 0) continue;
      const double here = after[i] / before[i];
      if (!std::isfinite(here) || (factor && std::abs(here - *factor) > 1e-3 * std::abs(*factor))) return {};
      if (!factor) factor = here;
    }
    if (!factor) return {};
    const std::string number = short_number(std::abs(*factor));
    return ", ×" + (*factor < 0 ? "−" + number : number) + " in every element";
  } catch (const ValueError&) {
    return {};
  }
}

bool changes_values(Past& past, const HookChange& change) {
  if (change.before == 0) return true;
  try {
    const std::vector<double> before = past.value(change.before).to_vector();
    const std::vector<double> after = past.value(change.after).to_vector();
    return !std::ranges::equal(before, after,
                               [](double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); });
  } catch (const ValueError&) {
    return true;
  }
}

}  // namespace tapedeck::debug
