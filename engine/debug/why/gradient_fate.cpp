#include "engine/debug/why/gradient_fate.h"

#include <algorithm>
#include <cmath>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/written_memory.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/source_location.h"
#include "engine/record/trace/tensor_specs.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::size_t most_edits_told = 8, most_edits = 200;
constexpr std::uint32_t most_ops_of_arrival = 4;

bool is_same_shape(Past& past, std::uint64_t a, std::uint64_t b) {
  const auto spec = [&](std::uint64_t id) {
    return spec_of(past.recorder().trace().tensors().get(id).spec());
  };
  return spec(a).shape == spec(b).shape;
}

/// Of AccumulateGrad itself: no op of a hook.
bool adds_to_grad(const RecordView& record) {
  return record.head.backward && !record.head.custom_gradient;
}

std::size_t count_of(Past& past, std::uint64_t tensor) {
  return static_cast<std::size_t>(
      element_count(spec_of(past.recorder().trace().tensors().get(tensor).spec()).shape));
}

struct Write {
  const RecordView* record = nullptr;
  ForeignWrite tensors;
};

std::vector<Write> writes_since(Past& past, const Arrival& arrival) {
  const SharedMemory memory(past, past.recorder().trace().newest());
  const std::uint64_t grad = grad_behind(past, arrival);
  const RecordView* made = past.maker(grad);
  const std::uint32_t since = std::max(arrival.record->number, made ? made->number : 0);
  std::vector<Write> found;
  for (const ForeignWrite& write : memory.writes_into(grad))
    if (const RecordView* record = write.record > since ? past.record(write.record) : nullptr)
      found.push_back({record, write});
  return found;
}

struct Change {
  std::size_t count = 0, changed = 0, zeros_made = 0, zeros = 0;
  std::optional<double> factor = {};  ///< of all that were not zero
};

std::optional<Change> change_of(Past& past, std::uint64_t before, std::uint64_t after) {
  try {
    const std::vector<double> a = past.value(before).to_vector(), b = past.value(after).to_vector();
    if (a.size() != b.size()) return std::nullopt;
    Change change;
    change.count = a.size();
    bool common = true;
    for (std::size_t i = 0; i < a.size(); ++i) {
      change.changed += a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i]));
      change.zeros_made += a[i] != 0 && b[i] == 0;
      change.zeros += b[i] == 0;
      if (a[i] == 0 && b[i] == 0) continue;
      const double factor = b[i] / a[i];
      common = common && std::isfinite(factor) &&
               (!change.factor || std::abs(factor - *change.factor) <= 1e-3 * std::abs(*change.factor));
      if (common && !change.factor) change.factor = factor;
    }
    if (!common) change.factor.reset();
    return change;
  } catch (const ValueError&) {
    return std::nullopt;
  }
}

/// Where the program released the memory of the newest of its values; empty: it has not, as far as is known.
std::string released_text(Past& past, std::uint64_t tensor) {
  const Trace& trace = past.recorder().trace();
  const std::uint32_t gone = trace.tensors().life(trace.tensors().life(tensor).root).gone;
  if (gone == 0) return {};
  const RecordView *before = past.record(gone - 1), *behind = past.record(gone);
  std::string text = " The program has dropped it since";
  if (before) text += ", behind " + past.name(*before);
  if (behind) text += (before ? " and before " : ", before ") + past.name(*behind);
  return text +
         ": its grad was set to None there, as zero_grad() does unless set_to_none=False, or became another "
         "tensor.";
}

/// Whether anything ran that made `grad` of what arrived: a view, a copy or a sum.
bool is_kept(Past& past, const Arrival& arrival) {
  const RecordView* next = past.record(arrival.record->number + 1);
  return next && next->head.kind == EventKind::op && next->head.parent == arrival.record->head.parent &&
         next->head.op && !is_arrival(*next->head.op) && adds_to_grad(*next);
}

}  // namespace

std::uint64_t grad_behind(Past& past, const Arrival& arrival) {
  std::uint64_t grad = arrival.gradient;
  for (std::uint32_t next = 1; next <= most_ops_of_arrival; ++next) {
    const RecordView* record = past.record(arrival.record->number + next);
    if (!record || record->head.kind != EventKind::op || record->head.parent != arrival.record->head.parent ||
        !record->head.op || is_arrival(*record->head.op) || !adds_to_grad(*record))
      break;
    const bool reads = std::ranges::count(record->inputs, grad) > 0;
    if (reads && short_name(*record->head.op) != "new_empty_strided" && !record->outputs.empty() &&
        record->outputs[0])
      return record->outputs[0];
    if (!reads) break;
  }
  return grad;
}

std::string change_text(Past& past, std::uint64_t before, std::uint64_t after, std::size_t whole) {
  const auto change = change_of(past, before, after);
  if (!change) return "wrote into it";
  const std::string all = counted(whole, "element");
  if (change->changed > 0 && change->count < whole)
    return change->zeros_made > 0
               ? "wrote zeros into " + std::to_string(change->zeros_made) + " of its " + all +
                     ", through a view"
               : "changed " + std::to_string(change->changed) + " of its " + all + ", through a view";
  if (change->changed == 0) return "left its values as they were";
  if (change->zeros_made > 0 && change->zeros == change->count) return "wrote zeros into it";
  if (change->zeros_made > 0)
    return "wrote zeros into " + std::to_string(change->zeros_made) + " of its " + all;
  if (change->factor && change->count > 1) return "multiplied it by " + short_number(*change->factor);
  if (change->count == 1)
    return "changed it from " + element_text(past.value(before), 0) + " to " +
           element_text(past.value(after), 0);
  return "changed " + std::to_string(change->changed) + " of its " + all;
}

void tell_fate(Past& past, const Arrival& arrival, protocol::Because& answer) {
  if (!is_kept(past, arrival)) {
    answer.sentence +=
        " But PyTorch made no grad of it: no op ran where it arrived. So it does where requires_grad was set "
        "to "
        "False between the forward pass and this one.";
    return;
  }
  std::vector<Write> writes = writes_since(past, arrival);
  const std::uint64_t grad = grad_behind(past, arrival);
  const std::string dropped = released_text(past, writes.empty() ? grad : writes.back().tensors.after);
  std::erase_if(writes, [](const Write& write) { return adds_to_grad(*write.record); });
  if (writes.empty() && dropped.empty()) {
    answer.sentence += std::string(" No recorded op has written into it since") +
                       (past.recorder().file() ? "." : ", and it is still in memory.");
    return;
  }
  const std::size_t first = writes.size() > most_edits_told ? writes.size() - most_edits_told : 0;
  for (std::size_t i = writes.size(); i-- > first;) {
    const Write& write = writes[i];
    const auto change = change_of(past, write.tensors.before, write.tensors.after);
    const bool zeroed = change && change->zeros_made > 0;
    const std::string text =
        change_text(past, write.tensors.before, write.tensors.after, count_of(past, grad));
    const bool is_last = i + 1 == writes.size();
    if (is_last)
      answer.sentence += " Since then " + past.name(*write.record) + " " + text +
                         (writes.size() > 1 ? ", the last of " + counted(writes.size(), "write") + "." : ".");
    else if (zeroed)
      answer.sentence += " Before that " + past.name(*write.record) + " " + text + ".";
    answer.reasons.push_back(
        past.reason(*write.record, zeroed ? "set to zero" : "written since", "It " + text + "."));
    answer.reasons.back().tensor = protocol::if_there(past.info(write.tensors.after));
  }
  answer.sentence += dropped;
}

std::optional<EditedGradient> edited_gradient(Past& past, std::uint64_t tensor) {
  EditedGradient edited;
  if (!has_foreign_ops()) return std::nullopt;
  std::optional<SharedMemory> memory;  // only where a tensor has no record
  for (std::size_t back = 0; back < most_edits && tensor; ++back) {
    past.step(back);
    if (auto arrival = arrival_of(past, tensor)) {
      if (edited.edits.empty()) return std::nullopt;
      edited.arrival = *arrival;
      return edited;
    }
    const RecordView* maker = past.maker(tensor);
    std::uint64_t older = 0;
    if (!maker) {
      if (past.assignment(tensor)) return std::nullopt;  // a variable's value
      if (!memory) memory.emplace(past, past.recorder().trace().newest());
      maker = past.record(memory->writer_of(tensor));
      older = maker ? memory->older_value(tensor) : 0;
    } else {
      const ForeignOp* op = foreign_op_of(*maker);
      if (!op || maker->head.kind != EventKind::op || maker->head.tape != 0) return std::nullopt;
      past.recorder().trace().glance(maker->number, maker->number, [&](const RecordGlance& glance) {
        for (const ForeignWrite& write : writes_of(*op, glance))
          if (write.after == tensor) older = write.before;
      });
      for (std::size_t i = 0; !op->writes && older == 0 && i < maker->inputs.size(); ++i)
        if (maker->inputs[i] && is_same_shape(past, maker->inputs[i], tensor)) older = maker->inputs[i];
    }
    if (!maker) return std::nullopt;
    edited.edits.push_back(maker);
    tensor = older;
  }
  return std::nullopt;
}

protocol::Because of_edited(Past& past, const EditedGradient& edited, const Subject& subject) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  const std::string variable = tensor_text(past.recorder(), edited.arrival.variable);
  const RecordView& last = *edited.edits.front();
  std::string& sentence = answer.sentence;
  sentence =
      "This was the gradient of " + variable + ", and " + past.name(last) + " " +
      change_text(past, grad_behind(past, edited.arrival), subject.tensor, count_of(past, subject.tensor)) +
      (edited.edits.size() > 1 ? ", the last of " + counted(edited.edits.size(), "op") + " that did." : ".");
  for (const RecordView* edit : edited.edits) {
    if (answer.reasons.size() == most_edits_told) break;
    answer.reasons.push_back(
        past.reason(*edit, "written since", "It made this of the gradient, or wrote into it."));
  }
  try {
    const Tensor now = past.value(subject.tensor);
    const auto zeros = static_cast<std::size_t>(std::ranges::count(now.to_vector(), 0.0));
    const auto count = static_cast<std::size_t>(now.count());
    sentence += zeros == 0 ? " None of its " + counted(count, "element") + " is zero."
                           : " Of its " + counted(count, "element") + ", " + std::to_string(zeros) +
                                 (zeros == 1 ? " is zero." : " are zero.");
    const Tensor came = past.value(edited.arrival.gradient);
    const auto before = static_cast<std::size_t>(std::ranges::count(came.to_vector(), 0.0));
    const RecordView* playback = past.around(*edited.arrival.record, EventKind::playback);
    sentence += " In " + (playback ? pass_text(past, *playback) : std::string("a backward pass")) +
                " it arrived with " + (before == 0 ? "none" : std::to_string(before)) + " of them zero.";
    if (before > 0) {
      const protocol::Because zero =
          why_zero(past, {edited.arrival.gradient, {}, edited.arrival.record->number});
      sentence += " " + zero.sentence;
      answer.complete = zero.complete;
      answer.reasons.insert(answer.reasons.end(), zero.reasons.begin(), zero.reasons.end());
    }
  } catch (const ValueError& error) {
    answer.complete = false;
    sentence += " Its values cannot be had: " + std::string(error.what());
  }
  answer.reasons.push_back(
      past.reason(*edited.arrival.record, "arrived", "The gradient arrived at its variable here."));
  answer.reasons.back().tensor = protocol::if_there(past.info(edited.arrival.gradient));
  return answer;
}

}  // namespace tapedeck::debug
