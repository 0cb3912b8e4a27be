#include "engine/debug/why/foreign_gradient.h"

#include <algorithm>
#include <set>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/failed_pass.h"
#include "engine/debug/why/foreign_memory.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/gradient_fate.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::uint32_t first_foreign_tape = 1u << 30;  // of engine/python/torch
constexpr std::size_t most_older_values = 10'000;
constexpr std::uint32_t passes_glanced_at_once = 4096;

bool is_all_zero(const Tensor& value) {
  bool zero = value.count() > 0;
  visit_elements(value, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) zero = zero && values[i] == 0;
  });
  return zero;
}

bool has_zeros(const Tensor& value) {
  bool found = false;
  visit_elements(value, [&](const auto* values, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) found = found || values[i] == 0;
  });
  return found;
}

/// The newest arrival at one of them before that playback.
const RecordView* earlier_arrival(Past& past, const RecordView& playback,
                                  const std::set<std::uint64_t>& values) {
  const Trace& trace = past.recorder().trace();
  std::uint32_t found = 0;
  for (std::uint32_t first = std::max(1u, trace.oldest_kept()); first < playback.number; first += 4096) {
    past.step(first, playback.number);
    trace.glance(first, std::min(playback.number - 1, first + 4095), [&](const RecordGlance& glance) {
      if (glance.head.op && is_arrival(*glance.head.op) && glance.inputs.size() == 2 &&
          values.contains(glance.inputs[0]))
        found = glance.number;
    });
  }
  return past.record(found);
}

/// Says which gradient the tensor got.
protocol::Because of_arrival(Past& past, const RecordView& playback, const Arrival& arrival,
                             const std::string& text) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  const std::string where = "In " + pass_text(past, playback) + " a gradient arrived at " + text;
  protocol::Reason reason =
      past.reason(*arrival.record, "arrived", "The gradient arrived at its variable here.");
  reason.tensor = protocol::if_there(past.info(arrival.gradient));
  try {
    const Tensor value = past.value(arrival.gradient);
    if (has_zeros(value)) {
      answer = why_zero(past, {arrival.gradient, {}, playback.number});
      answer.sentence = where + ". " + answer.sentence;
    } else {
      answer.sentence = where + ", and none of its " +
                        counted(static_cast<std::uint64_t>(value.count()), "element") + " is zero.";
    }
  } catch (const ValueError& error) {
    answer.complete = false;
    answer.sentence = where + ". Its value cannot be had: " + error.what();
  }
  answer.reasons.push_back(std::move(reason));
  tell_fate(past, arrival, answer);
  return answer;
}

/// What retain_grad() put into the tensor's grad: before its VJP runs it copies the cotangent, in no hook of
/// the program.
const RecordView* retained(Past& past, const RecordView& vjp, std::uint64_t cotangent) {
  const RecordView* before = &vjp;
  for (std::uint32_t back = 1; before && back <= 8; ++back) {
    before = past.record(vjp.number - back);
    if (!before || before->head.parent != vjp.head.parent || before->head.kind == EventKind::vjp)
      return nullptr;
    if (before->head.kind == EventKind::op && before->head.op && !before->head.custom_gradient &&
        short_name(*before->head.op) == "clone" && before->inputs.size() == 1 &&
        before->inputs[0] == cotangent)
      return before;
  }
  return nullptr;
}

/// The gradient with respect to a result of a taped op.
protocol::Because of_result(Past& past, const RecordView& maker, const RecordView& vjp,
                            std::uint64_t cotangent, const std::string& text) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  const RecordView* copy = retained(past, vjp, cotangent);
  answer.sentence = "The gradient came as far as " + text + ", and the backward pass went on through " +
                    past.name(vjp) + ". ";
  answer.sentence +=
      copy ? "It is no leaf: " + past.name(maker) +
                 " made it of other tensors. But retain_grad() was called on it, so its grad is a copy of "
                 "what came, "
                 "made by " +
                 past.name(*copy) + "."
           : "Where its grad is None all the same, that is because it is no leaf: " + past.name(maker) +
                 " made it of other tensors, and PyTorch keeps grad for leaves alone. It is kept where "
                 "retain_grad() is called before backward(); where a leaf was meant (x = x.to(…)), the "
                 "gradient "
                 "is in the tensor that x was before.";
  protocol::Reason reached = past.reason(vjp, "came here", "The gradient with respect to it came in here.");
  reached.tensor = protocol::if_there(past.info(cotangent));
  protocol::Reason made = past.reason(maker, "not a leaf", "It made the tensor of others.");
  made.tensor = protocol::if_there(past.info(maker.outputs.empty() ? 0 : maker.outputs[0]));
  answer.reasons = {std::move(made), std::move(reached)};
  try {
    if (const Tensor value = past.value(cotangent); is_all_zero(value)) {
      const protocol::Because zero = why_zero(past, {cotangent, {}, vjp.number});
      answer.sentence += " What came is zero. " + zero.sentence;
      answer.reasons.insert(answer.reasons.end(), zero.reasons.begin(), zero.reasons.end());
    }
  } catch (const ValueError&) {  // that it came is what was asked
  }
  return answer;
}

const RecordView& outermost(Past& past, const RecordView& playback) {
  const RecordView* found = &playback;
  for (const RecordView* at = past.record(playback.head.parent); at; at = past.record(at->head.parent))
    if (at->head.kind == EventKind::playback) found = at;
  return *found;
}

bool has_tensor(const RecordView& record, std::uint64_t tensor) {
  return std::ranges::count(record.inputs, tensor) > 0 || std::ranges::count(record.outputs, tensor) > 0;
}

/// As optimisers do, and initialisers: autograd records none of it.
bool is_write_of_variable(const RecordView& record) {
  const ForeignOp* op = foreign_op_of(record);
  return op && op->writes && record.head.tape == 0;
}

/// The newest backward pass of PyTorch's that began before that record.
const RecordView* foreign_playback_before(Past& past, std::uint32_t number) {
  const std::vector<RequestedGradients> requests = past.recorder().data_flow().gradient_requests();
  for (auto request = requests.rbegin(); request != requests.rend(); ++request) {
    const RecordView* playback = request->playback < number ? past.record(request->playback) : nullptr;
    if (playback && is_foreign_playback(past, *playback)) return &outermost(past, *playback);
  }
  return nullptr;
}

/// Looks for the backward pass that a tensor belongs to, in records in their order.
class PassesAfter {
 public:
  /// The op whose VJP takes or gives the tensor's gradient, and the record that passes come after.
  PassesAfter(std::uint64_t tensor, std::uint32_t op, const RecordView& after)
      : derived_{tensor}, op_(op), after_(after.number), newest_before_(tensor) {
    for (const std::uint64_t id : after.outputs) newest_before_ = std::max(newest_before_, id);
  }

  void look(const RecordGlance& glance) {
    const auto is_derived = [&](std::uint64_t id) { return id != 0 && derived_.contains(id); };
    if (glance.head.kind == EventKind::playback) {
      if (glance.number <= after_) return;
      if (dependent_ == 0 && std::ranges::any_of(glance.inputs, is_derived)) dependent_ = glance.number;
      if (later_ == 0 && std::ranges::any_of(glance.inputs, [&](auto id) { return id > newest_before_; }))
        later_ = glance.number;
      return;
    }
    if (glance.head.kind == EventKind::vjp) {
      if (reached_ == 0 && glance.number > after_ && glance.head.forward == op_) reached_ = glance.number;
      return;
    }
    // What an optimiser writes depends on everything, and all later steps on that.
    const ForeignOp* op = glance.head.op ? foreign_of(*glance.head.op) : nullptr;
    if (glance.head.backward || (op && op->writes && glance.head.tape == 0)) return;
    if (std::ranges::any_of(glance.inputs, is_derived))
      derived_.insert(glance.outputs.begin(), glance.outputs.end());
  }

  std::uint32_t reached() const { return reached_; }      ///< a VJP of the op; 0: none
  std::uint32_t dependent() const { return dependent_; }  ///< the first pass whose result depends on it
  std::uint32_t later() const { return later_; }          ///< the first whose result is newer than the record

 private:
  std::set<std::uint64_t> derived_;
  const std::uint32_t op_, after_;
  std::uint64_t newest_before_;  ///< the newest tensor when the record ended
  std::uint32_t reached_ = 0, dependent_ = 0, later_ = 0;
};

}  // namespace

bool is_foreign_playback(Past& past, const RecordView& playback) {
  if (playback.head.kind != EventKind::playback) return false;
  for (const std::uint64_t target : playback.inputs)
    if (const RecordView* maker = past.maker(target)) return foreign_op_of(*maker) != nullptr;
  return playback.head.tape >= first_foreign_tape;
}

const RecordView* newest_foreign_playback(Past& past) {
  const RecordView* playback = past.record(past.recorder().data_flow().newest_playback());
  return playback && is_foreign_playback(past, *playback) ? &outermost(past, *playback) : nullptr;
}

const RecordView* foreign_playback_for(Past& past, std::uint64_t tensor, const RecordView* looked_at) {
  const RecordView* maker = past.maker(tensor);
  if (maker && (!foreign_op_of(*maker) || maker->head.backward || is_write_of_variable(*maker)))
    maker = nullptr;
  const bool asked_there = looked_at && !looked_at->head.backward && has_tensor(*looked_at, tensor);
  const RecordView* from = asked_there ? looked_at : maker;
  const RecordView* newest = newest_foreign_playback(past);
  if (!from || !newest) return newest;
  if (asked_there && is_write_of_variable(*from) && std::ranges::count(from->inputs, tensor) > 0) {
    const RecordView* before = foreign_playback_before(past, from->number);  // whose gradient it used
    return before ? before : newest;
  }
  PassesAfter passes(tensor, maker ? maker->number : from->number, *from);
  const Trace& trace = past.recorder().trace();
  const std::uint32_t last = trace.newest();
  for (std::uint32_t first = maker ? maker->number + 1 : from->number; first <= last;
       first += passes_glanced_at_once) {
    check_cancelled(past.cancel());
    trace.glance(first, std::min(last, first + passes_glanced_at_once - 1),
                 [&](const RecordGlance& glance) { passes.look(glance); });
    if (passes.reached() != 0) break;
  }
  const RecordView* reached = past.record(passes.reached());
  const RecordView* playback = reached ? past.around(*reached, EventKind::playback) : nullptr;
  if (!playback) playback = past.record(passes.dependent());
  if (!playback) playback = past.record(passes.later());
  return playback && is_foreign_playback(past, *playback) ? &outermost(past, *playback) : newest;
}

std::vector<Arrival> arrivals_in(Past& past, const RecordView& playback) {
  std::vector<Arrival> found;
  for (const std::uint32_t number : records_inside(past, playback)) {
    const RecordView* record = past.record(number);
    if (record && record->head.kind == EventKind::op && record->head.op && is_arrival(*record->head.op) &&
        record->inputs.size() == 2)
      found.push_back({record, record->inputs[0], record->inputs[1]});
  }
  return found;
}

std::optional<Arrival> arrival_of(Past& past, std::uint64_t gradient) {
  // The tensor itself, what it is a view of, or what was added to it.
  std::uint32_t made = 0;  // what AccumulateGrad made `grad` by
  for (int back = 0; back < 3; ++back) {
    const RecordView* maker = past.maker(gradient);
    if (!maker || !maker->head.backward) return std::nullopt;
    const RecordView* playback = past.around(*maker, EventKind::playback);
    if (!playback) return std::nullopt;
    if (maker->head.parent == playback->number) made = std::max(made, maker->number);
    // Where two variables have one gradient, it arrived at this one just before its `grad` was made.
    std::optional<Arrival> found;
    for (const Arrival& arrival : arrivals_in(past, *playback)) {
      const bool is_it =
          arrival.gradient == gradient ||
          (maker->number > arrival.record->number &&
           std::ranges::count(maker->inputs, arrival.gradient) > 0 && maker->head.parent == playback->number);
      if (is_it && (!found || arrival.record->number < made)) found = arrival;
    }
    if (found) return found;
    if (maker->head.parent != playback->number || maker->inputs.empty()) return std::nullopt;
    gradient = maker->inputs[0];
  }
  return std::nullopt;
}

bool gives_to_leaves(Past& past, const RecordView& playback) {
  return past.recorder().data_flow().sources_of(playback.number).empty() ||
         !arrivals_in(past, playback).empty();
}

std::set<std::uint64_t> values_of_foreign(Past& past, std::uint64_t tensor) {
  std::set<std::uint64_t> values{tensor};
  // A variable's values and the results that were assigned to it are the same tensor of the program's.
  std::optional<std::uint64_t> variable;
  if (const auto assignment = past.assignment(tensor)) variable = assignment->variable;
  const std::vector<Assignment> assignments = past.recorder().data_flow().assignments();
  for (const Assignment& assignment : assignments)
    if (assignment.value == tensor) variable = assignment.variable;
  if (variable) {
    for (const Assignment& assignment : assignments)
      if (assignment.variable == *variable) values.insert({assignment.leaf, assignment.value});
    return values;
  }
  std::optional<SharedMemory> memory;  // only where a tensor has no record
  while (values.size() < most_older_values) {
    past.step(values.size());
    const RecordView* maker = past.maker(tensor);
    std::uint64_t older = 0;
    if (const ForeignOp* op = maker ? foreign_op_of(*maker) : nullptr;
        op && op->writes && maker->head.tape == 0) {
      past.recorder().trace().glance(maker->number, maker->number, [&](const RecordGlance& glance) {
        for (const ForeignWrite& write : writes_of(*op, glance))
          if (write.after == tensor) older = write.before;
      });
    } else if (!maker) {
      if (!memory) memory.emplace(past, past.recorder().trace().newest());
      if (memory->writer_of(tensor)) older = memory->older_value(tensor);
    }
    if (older == 0 || !values.insert(older).second) break;
    tensor = older;
  }
  return values;
}

protocol::Because of_foreign_playback(Past& past, const RecordView& playback) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  if (playback.state == RecordState::failed) return of_failed_pass(past, playback);
  const std::vector<Arrival> arrivals = arrivals_in(past, playback);
  if (arrivals.empty()) {
    answer.sentence =
        "In this backward pass no gradient arrived at any tensor's grad. Ask about a tensor that "
        "should have got one.";
    return answer;
  }
  std::size_t zero = 0, unknown = 0;
  std::optional<Arrival> first;
  for (const Arrival& arrival : arrivals) {
    past.step(zero, arrivals.size());
    try {
      if (!is_all_zero(past.value(arrival.gradient))) continue;
      if (!first) first = arrival;
      ++zero;
    } catch (const ValueError&) {
      ++unknown;
    }
  }
  const std::string count =
      "In this backward pass gradients arrived at " + counted(arrivals.size(), "tensor");
  if (first) {
    answer = why_zero(past, {first->gradient, {}, playback.number});
    answer.sentence = count + "; " + std::to_string(zero) + (zero == 1 ? " of them is" : " of them are") +
                      " zero as a whole. The first, of " + tensor_text(past.recorder(), first->variable) +
                      ": " + answer.sentence;
  } else {
    answer.sentence = count + ", and none of them is zero as a whole.";
    for (const Arrival& arrival : arrivals) {
      if (answer.reasons.size() == 20) break;
      answer.reasons.push_back(
          past.reason(*arrival.record, "arrived", "A gradient arrived at its variable here."));
      answer.reasons.back().tensor = protocol::if_there(past.info(arrival.gradient));
    }
  }
  if (unknown > 0) {
    answer.complete = false;
    answer.sentence += " The values of " + counted(unknown, "gradient") + " cannot be had.";
  }
  answer.sentence += " Why a tensor got none: ask about that tensor.";
  return answer;
}

protocol::Because of_foreign_tensor(Past& past, const RecordView& playback, std::uint64_t tensor) {
  const std::set<std::uint64_t> values = values_of_foreign(past, tensor);
  const std::string text = tensor_text(past.recorder(), tensor);
  for (const Arrival& arrival : arrivals_in(past, playback))
    if (values.contains(arrival.variable)) return of_arrival(past, playback, arrival, text);
  const RecordView* maker = past.maker(tensor);
  ForeignPath path(past, playback, values);
  if (maker && foreign_op_of(*maker) && maker->head.tape != 0)
    if (const RecordView* vjp = path.vjp_of(maker->number)) {
      const std::size_t slot = Past::output_of(*maker, tensor);
      if (slot < vjp->inputs.size() && vjp->inputs[slot])
        return of_result(past, *maker, *vjp, vjp->inputs[slot], text);
    }
  protocol::Because answer = path.explain(text);
  if (const RecordView* earlier = earlier_arrival(past, playback, values)) {
    answer.sentence +=
        " An earlier backward pass had one for it: it arrived at op " + std::to_string(earlier->number) + ".";
    answer.reasons.push_back(
        past.reason(*earlier, "arrived before", "A gradient of an earlier backward pass arrived here."));
    answer.reasons.back().tensor = protocol::if_there(past.info(earlier->inputs[1]));
  }
  return answer;
}

}  // namespace tapedeck::debug
