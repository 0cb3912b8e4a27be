#include "engine/debug/why/goes_beside.h"

#include <algorithm>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_ops_beside = 200;  // of one input of an op on the path

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

bool stops_gradients(const OpDef& op) {
  return op.stops_gradient || (is_foreign(op) && short_name(op) == "detach");
}

bool is_of_floats(Past& past, std::uint64_t tensor) {
  const TensorOrigin origin = past.recorder().trace().tensors().get(tensor);
  return origin.spec() == 0 || is_floating(spec_of(origin.spec()).dtype);
}

/// Back from an input that is not on the path to where it left it: through floating-point numbers, because
/// what an index or a mask makes of numbers has slope 0 as it is.
void look_beside(Past& past, const GradientPath& path, std::uint64_t input, std::set<std::uint64_t>& leaves,
                 std::set<std::uint32_t>& stops) {
  const bool follows = is_of_floats(past, input);
  std::set<std::uint64_t> seen{input};
  std::vector<std::uint64_t> waiting{input};
  while (!waiting.empty() && seen.size() < most_ops_beside) {
    const std::uint64_t tensor = waiting.back();
    waiting.pop_back();
    const RecordView* maker = past.maker(tensor);
    if (!maker && tensor == input && !past.assignment(tensor)) leaves.insert(tensor);
    if (!follows || !maker || !maker->head.op || maker->head.backward) continue;
    const bool leaves_path = std::any_of(maker->inputs.begin(), maker->inputs.end(),
                                         [&](std::uint64_t id) { return path.tensors.contains(id); });
    if (leaves_path && stops_gradients(*maker->head.op)) stops.insert(maker->number);
    if (leaves_path || !is_foreign(*maker->head.op)) continue;
    for (const std::uint64_t id : maker->inputs)
      if (id && is_of_floats(past, id) && seen.insert(id).second) waiting.push_back(id);
  }
}

}  // namespace

std::string what_goes_beside(Past& past, const GradientPath& path) {
  std::string text;
  std::set<std::uint64_t> leaves;
  std::set<std::uint32_t> stops;
  std::uint64_t first = UINT64_MAX;  // that an op on the path made: a print before it is not a way around
  for (const OnPath& on : path.vjps)
    for (const std::uint64_t output : past.record(on.vjp->head.forward)->outputs)
      first = std::min(first, output);
  for (const OnPath& on : path.vjps)
    for (const std::uint64_t input : past.record(on.vjp->head.forward)->inputs)
      if (!path.tensors.contains(input)) look_beside(past, path, input, leaves, stops);
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
