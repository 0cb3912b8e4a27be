#include "engine/debug/why/failed_pass.h"

#include <algorithm>
#include <charconv>

#include "engine/debug/why/elements.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

constexpr std::string_view requires_none = "does not require grad and does not have a grad_fn";
constexpr std::string_view second_time = "backward through the graph a second time";
constexpr std::uint32_t records_at_a_time = 4096;
constexpr std::size_t most_paths_told = 8;

/// "element 0 of tensors does not require grad": the target that it means.
std::uint64_t target_named(const RecordView& playback) {
  constexpr std::string_view words = "element ";
  const std::size_t at = playback.error.find(words);
  std::size_t which = 0;
  if (at != std::string::npos)
    std::from_chars(playback.error.data() + at + words.size(), playback.error.data() + playback.error.size(),
                    which);
  return which < playback.inputs.size() ? playback.inputs[which] : 0;
}

/// Calls `visit` with glances of the records from `first` to before `end`.
template <class Visit>
void visit_records(Past& past, std::uint32_t first, std::uint32_t end, Visit&& visit) {
  const Trace& trace = past.recorder().trace();
  for (first = std::max(first, std::max(1u, trace.oldest_kept())); first < end; first += records_at_a_time) {
    check_cancelled(past.cancel());
    trace.glance(first, std::min(end - 1, first + records_at_a_time - 1), visit);
  }
}

void add_path(Past& past, const RecordView& record, const std::string& why, protocol::Because& answer) {
  answer.reasons.push_back(past.reason(record, "stopped", "The graph ends here: " + why + "."));
  if (!record.outputs.empty())
    answer.reasons.back().tensor = protocol::if_there(past.info(record.outputs[0]));
}

/// The last number that Python read of a tensor with a graph: what it makes of it is a constant.
void tell_number_read(Past& past, const RecordView& playback, protocol::Because& answer) {
  std::uint32_t read = 0;
  visit_records(past, 1, playback.number, [&](const RecordGlance& glance) {
    if (!glance.head.op || short_name(*glance.head.op) != "_local_scalar_dense" || glance.inputs.empty())
      return;
    const RecordView* maker = past.maker(glance.inputs[0]);
    if (maker && maker->head.tape != 0) read = glance.number;
  });
  const RecordView* record = past.record(read);
  if (!record) return;
  answer.sentence += " Python read a number of a tensor that has one in " + past.name(*record) +
                     ": what is made of that number is a constant.";
  answer.reasons.push_back(
      past.reason(*record, "left the graph", "Python read a number here: what comes back is a constant."));
}

void tell_no_graph(Past& past, const RecordView& playback, protocol::Because& answer) {
  const std::uint64_t target = target_named(playback);
  answer.sentence +=
      " was refused: " +
      (target ? tensor_text(past.recorder(), target) : std::string("the tensor that it begins from")) +
      " requires no gradient and has no graph.";
  const ForeignPath without(past, playback, {});
  std::set<std::uint64_t> variables;
  for (const std::uint64_t leaf : without.leaves())
    if (past.assignment(leaf) && !past.info(leaf).name.ends_with(" (buffer)")) variables.insert(leaf);
  if (variables.empty()) {
    if (!without.is_made_by_records()) {
      answer.complete = false;
      answer.sentence +=
          " No recorded op made it: it is a leaf, or its forward pass ran before recording began.";
    } else {
      answer.sentence +=
          " Nothing that it was made of is known to require a gradient: requires_grad=True, or "
          "requires_grad_() "
          "before the forward pass, begins a graph.";
      tell_number_read(past, playback, answer);
    }
    return;
  }
  const ForeignPath path(past, playback, variables);
  // An op that reads a shape cuts nothing that would have been a gradient.
  std::vector<ForeignPath::Break> breaks = path.breaks();
  const auto reads_shapes = [](const ForeignPath::Break& broken) {
    const ForeignOp* op = foreign_op_of(*broken.record);
    return op && op->reads_shapes_alone;
  };
  if (!std::ranges::all_of(breaks, reads_shapes)) std::erase_if(breaks, reads_shapes);
  for (const ForeignPath::Break& broken : breaks) {
    if (answer.reasons.size() == most_paths_told) break;
    if (answer.reasons.empty())
      answer.sentence +=
          " The graph of what it was made of ends at " + past.name(*broken.record) + ": " + broken.why + ".";
    add_path(past, *broken.record, broken.why, answer);
  }
  if (breaks.size() > 1)
    answer.sentence += " " + counted(breaks.size() - 1, "other path") +
                       (breaks.size() == 2 ? " ends" : " end") + " elsewhere.";
  if (breaks.empty()) {
    answer.complete = false;
    answer.sentence += " Where its graph ends is not known: the records show no break.";
  }
}

/// The VJP that the pass failed in; 0: none is known.
std::uint32_t failed_vjp(Past& past, const RecordView& playback) {
  std::uint32_t found = 0;
  visit_records(past, playback.number + 1, past.recorder().trace().newest() + 1,
                [&](const RecordGlance& glance) {
                  if (found == 0 && glance.head.kind == EventKind::vjp &&
                      glance.state == RecordState::failed && glance.head.thread == playback.head.thread)
                    found = glance.number;
                });
  return found;
}

/// Whether the pass that the VJP ran in was to keep what its nodes saved.
bool kept_graph(const RecordView& vjp) {
  for (std::size_t i = 0; i < vjp.head.attributes.size(); ++i)
    if (const auto* kept = std::get_if<bool>(&vjp.head.attributes[i])) return *kept;
  return false;
}

void tell_second_time(Past& past, const RecordView& playback, protocol::Because& answer) {
  const RecordView* failed = past.record(failed_vjp(past, playback));
  const RecordView* forward = failed ? past.record(failed->head.forward) : nullptr;
  const RecordView* first = nullptr;
  if (forward)
    visit_records(past, forward->number + 1, playback.number, [&](const RecordGlance& glance) {
      if (glance.head.kind != EventKind::vjp || glance.head.forward != forward->number ||
          glance.state != RecordState::done)
        return;
      const RecordView* vjp = past.record(glance.number);
      if (!first || (vjp && !kept_graph(*vjp))) first = vjp;
    });
  const RecordView* before = first ? past.around(*first, EventKind::playback) : nullptr;
  answer.sentence += " was refused: it came";
  if (forward) {
    answer.sentence += " to " + past.name(*forward);
    answer.reasons.push_back(
        past.reason(*forward, "keeps it", "Its gradient needs what it kept, and that is freed."));
  }
  answer.sentence += " a second time, and what is kept there for the gradient has been freed";
  if (!before) {
    answer.complete = false;
    answer.sentence += " by an earlier backward pass, which is not in the record.";
  } else {
    answer.sentence += " by " + pass_text(past, *before) + ", which ran without retain_graph=True.";
    answer.reasons.push_back(
        past.reason(*before, "freed it", "This backward pass freed what the graph kept."));
  }
  answer.sentence +=
      " Two passes through one graph need retain_graph=True in the first; where a result is carried from one "
      "step "
      "into the next, detach() it there.";
}

}  // namespace

protocol::Because of_failed_pass(Past& past, const RecordView& playback) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  answer.sentence = "The " + pass_text(past, playback).substr(4);
  if (playback.error.find(requires_none) != std::string::npos)
    tell_no_graph(past, playback, answer);
  else if (playback.error.find(second_time) != std::string::npos)
    tell_second_time(past, playback, answer);
  else
    answer.sentence += " ended with an exception, so its gradients are not there: " + playback.error;
  answer.reasons.push_back(past.reason(playback, "failed here", playback.error));
  return answer;
}

}  // namespace tapedeck::debug
