#include "engine/debug/why/update_source.h"

#include <algorithm>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/ops/core/foreign.h"
#include "engine/ops/core/run_op.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_ops_of_an_update = 500;

struct UpdateGradient {
  std::uint64_t gradient = 0;
  const RecordView* arrival = nullptr;  ///< the playback that gave it; where it is gone, what made it
};

std::optional<UpdateGradient> gradient_of_update(Past& past, const RecordView& update, std::size_t slot) {
  const ForeignOp* op = foreign_op_of(update);
  if (!op || !op->writes || update.head.backward) return std::nullopt;
  std::set<std::uint64_t, std::greater<>> waiting;  // the newest first: that of this step
  std::vector<std::size_t> places = inputs_of_slot(update, slot);
  if (places.empty())
    for (std::size_t k = 0; k < update.inputs.size(); ++k) places.push_back(k);
  for (std::size_t k = 1; k < places.size(); ++k) waiting.insert(update.inputs[places[k]]);
  std::set<std::uint64_t> seen;
  while (!waiting.empty() && seen.size() < most_ops_of_an_update) {
    check_cancelled(past.cancel());
    const std::uint64_t tensor = *waiting.begin();
    waiting.erase(waiting.begin());
    if (tensor == 0 || !seen.insert(tensor).second) continue;
    const RecordView* maker = past.maker(tensor);
    const RecordView* given = maker ? maker : past.giver(tensor);
    if (given && given->head.backward) {
      const RecordView* playback = past.around(*given, EventKind::playback);
      return UpdateGradient{tensor, playback ? playback : given};
    }
    if (!maker || !foreign_op_of(*maker)) continue;
    const std::vector<std::size_t> own = inputs_of_slot(*maker, Past::output_of(*maker, tensor));
    for (const std::size_t k : own) waiting.insert(maker->inputs[k]);
    if (own.empty()) waiting.insert(maker->inputs.begin(), maker->inputs.end());
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::size_t> inputs_of_slot(const RecordView& record, std::size_t slot) {
  const ForeignOp* op = foreign_op_of(record);
  if (!op || !short_name(*op->row).starts_with("_foreach_")) return {};
  const auto arguments = arguments_of(*op, record.head.attributes, record.inputs.size());
  std::vector<std::size_t> found;
  for (std::size_t k = 0, at = 0; k < arguments.size(); ++k) {
    at = k > 0 && arguments[k] == arguments[k - 1] ? at + 1 : 0;
    if (!arguments[k]->is_list || at == slot) found.push_back(k);
  }
  return found;
}

std::optional<protocol::Reason> gradient_taken(Past& past, const RecordView& update, std::size_t slot,
                                               std::int64_t place) {
  const auto taken = gradient_of_update(past, update, slot);
  if (!taken) return std::nullopt;
  const std::string name = past.name(*taken->arrival);
  protocol::Reason reason = past.reason(*taken->arrival, "gradient",
                                        "The update takes a gradient that came with the backward pass" +
                                            name.substr(std::min(name.find(" ("), name.size())) + ".");
  const protocol::TensorInfo info = past.info(taken->gradient);
  const Shape shape{std::span<const std::int64_t>(info.shape)};
  reason.tensor = protocol::if_there(info);
  if (place >= element_count(shape)) return reason;
  reason.element = protocol::if_there(index_of(shape, place));
  reason.value = element_text(past.value(taken->gradient), place);
  return reason;
}

bool follow_assignment(Past& past, std::uint64_t& tensor) {
  const auto assignment = past.assignment(tensor);
  if (!assignment || assignment->value == 0 || assignment->value == tensor) return false;
  const RecordView* maker = past.maker(assignment->value);
  if (!maker || (maker->head.op && short_name(*maker->head.op) == "lift_fresh")) return false;
  tensor = assignment->value;
  return true;
}

bool draws_numbers(const RecordView& record, const Tensors& inputs) {
  if (!record.head.op) return false;
  if (!is_foreign(*record.head.op)) return record.head.op->form == Form::drawn;
  try {
    replay_op(*record.head.op, inputs, record.head.attributes);
  } catch (const RandomOpError&) {
    return true;
  } catch (const Error&) {  // it cannot run for another reason
  }
  return false;
}

}  // namespace tapedeck::debug
