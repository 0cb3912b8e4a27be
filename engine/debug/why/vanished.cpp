#include "engine/debug/why/vanished.h"

#include "engine/debug/why/not_finite.h"
#include "engine/debug/why/vjp_again.h"
#include "engine/ops/core/run_op.h"

namespace tapedeck::debug {
namespace {

constexpr int most_ops_to_infinity = 50;

/// An op with the values that it read for one element of its result.
struct ReadElement {
  const RecordView* record = nullptr;
  Tensors inputs;
  std::vector<ReadPlaces> places;
  Tensor value;
};

std::optional<ReadElement> read_element(Past& past, Elementwise& elementwise, std::uint64_t tensor,
                                        std::int64_t place) {
  ReadElement found;
  found.record = past.maker(tensor);
  if (!found.record || found.record->head.kind != EventKind::op || !found.record->head.op)
    return std::nullopt;
  found.inputs = past.inputs(*found.record);
  found.value = past.value(tensor);
  const Output output{Past::output_of(*found.record, tensor), found.value};
  found.places = places_read(elementwise, *found.record, found.inputs, output, place);
  return found;
}

/// Back to the op that made it of finite numbers; nothing where it cannot be followed.
std::string born_infinite(Past& past, Elementwise& elementwise, std::uint64_t tensor, std::int64_t place) {
  for (int ops = 0; ops < most_ops_to_infinity; ++ops) {
    check_cancelled(past.cancel());
    const auto at = read_element(past, elementwise, tensor, place);
    if (!at) return {};
    std::optional<std::size_t> next;
    for (std::size_t k = 0; k < at->inputs.size() && !next; ++k)
      if (const auto found = first_of(at->inputs[k], NotFinite::infinite, at->places[k])) {
        next = k;
        place = *found;
      }
    if (next) {
      tensor = at->record->inputs[*next];
      continue;
    }
    const std::string call = call_text(*at->record, at->inputs, at->places);
    std::vector<double> numbers;
    for (std::size_t k = 0; k < at->inputs.size(); ++k)
      if (at->places[k] && at->places[k]->size() == 1)
        numbers.push_back(element(at->inputs[k], at->places[k]->front()));
    const std::string what =
        what_happened(*at->record->head.op, numbers, NotFinite::infinite, at->value.dtype());
    return " The infinity in it was born in " + past.name(*at->record) + (call.empty() ? "" : ": " + call) +
           (what.empty() ? "" : "; there " + what) + ".";
  }
  return {};
}

}  // namespace

std::optional<protocol::Reason> why_vanished(Past& past, Elementwise& elementwise, std::uint64_t tensor,
                                             std::int64_t place) {
  const auto at = read_element(past, elementwise, tensor, place);
  if (!at || !is_floating(at->value.dtype()) || element(at->value, place) != 0) return std::nullopt;
  const std::string call = call_text(*at->record, at->inputs, at->places);
  if (call.empty()) return std::nullopt;
  std::string infinity;
  bool infinite = false;
  for (std::size_t k = 0; k < at->inputs.size() && !infinite; ++k)
    if (const auto found = first_of(at->inputs[k], NotFinite::infinite, at->places[k])) {
      infinite = true;
      infinity = born_infinite(past, elementwise, at->record->inputs[k], *found);
    }
  std::string sentence = "The 0.0 in it was made by " + past.name(*at->record) + ": " + call;
  if (!infinite) {
    Tensors exact;
    for (const Tensor& input : at->inputs) exact.push_back(to_float64(input));
    try {
      const Tensors made = replay_op(*at->record->head.op, exact, to_float64(at->record->head.attributes));
      const double value = element(made[Past::output_of(*at->record, tensor)], place);
      if (value == 0) return std::nullopt;
      sentence += " is " + short_number(value) + " in float64, too small for " +
                  std::string(dtype_name(at->value.dtype()));
    } catch (const Error&) {  // it has no kernel for float64
      return std::nullopt;
    }
  }
  protocol::Reason reason = past.reason(*at->record, "vanished", sentence + "." + infinity);
  reason.tensor = protocol::if_there(past.info(tensor));
  reason.element = protocol::if_there(index_of(at->value.shape(), place));
  reason.operands = {call};
  reason.value = element_text(at->value, place);
  return reason;
}

}  // namespace tapedeck::debug
