// Why is this gradient None, or zero? Which gradient is meant, from whatever the user looks at.
#include <algorithm>

#include "engine/debug/tile.h"
#include "engine/debug/why/foreign_gradient.h"
#include "engine/debug/why/gradient_fate.h"
#include "engine/debug/why/overwritten.h"
#include "engine/debug/why/why.h"
#include "engine/ops/core/foreign.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

protocol::Because only(std::string sentence) {
  protocol::Because answer;
  answer.question = protocol::Question::gradient;
  answer.sentence = std::move(sentence);
  return answer;
}

bool is_foreign_vjp(const RecordView& vjp) {
  return vjp.head.op && is_foreign(*vjp.head.op);
}

/// Why a node of PyTorch's graph gave no gradient for a floating-point input: a clause.
std::string why_none_of_foreign(Past& past, const RecordView& vjp, std::size_t input) {
  const RecordView* forward = past.record(vjp.head.forward);
  const std::int64_t required =
      forward && forward->head.op
          ? foreign_facts(*forward->head.op, forward->head.attributes) & ForeignFacts::all_requiring
          : 0;
  const std::int64_t bit = ForeignFacts::requires_gradient(input);
  if (required != 0 && bit != 0 && (required & bit) == 0)
    return "it did not require a gradient when the op ran.";
  const RecordView* playback = past.around(vjp, EventKind::playback);
  if (playback && !gives_to_leaves(past, *playback))
    return "nothing that this backward pass was asked for depends on it.";
  return "it required no gradient, or the op has none for it.";
}

std::uint64_t first_tensor(const TensorIds& ids) {
  for (const std::uint64_t id : ids)
    if (id) return id;
  return 0;
}

/// What became of the gradient of one source of a playback.
protocol::Because of_source(Past& past, const RecordView& playback, std::size_t which, std::uint64_t source) {
  if (which < playback.outputs.size() && playback.outputs[which])
    return why_zero(past, {playback.outputs[which], {}, playback.number});
  const std::uint64_t target = first_tensor(playback.inputs);
  protocol::Because answer = why_none(past, target, source);
  if (answer.reasons.empty()) answer.reasons.push_back(past.reason(playback, "asked here", answer.sentence));
  return answer;
}

/// The whole playback: the first source without a gradient, else the first gradient.
protocol::Because of_playback(Past& past, const RecordView& playback) {
  const std::vector<std::uint64_t> sources = past.recorder().data_flow().sources_of(playback.number);
  if (is_overwritten(playback)) return which_overwrote(past, playback);
  if (playback.state == RecordState::failed ||
      (playback.state == RecordState::done && is_foreign_playback(past, playback) &&
       gives_to_leaves(past, playback)))
    return of_foreign_playback(past, playback);
  if (playback.state != RecordState::done)
    return only("This playback has not ended: its gradients are not there yet.");
  for (std::size_t i = 0; i < playback.outputs.size(); ++i)
    if (playback.outputs[i] == 0 && i < sources.size()) return of_source(past, playback, i, sources[i]);
  const std::uint64_t gradient = first_tensor(playback.outputs);
  if (gradient == 0) return only("This playback was asked for no gradient that is known here.");
  return why_zero(past, {gradient, {}, playback.number});
}

/// One VJP that gave None for an input.
protocol::Because of_vjp(Past& past, const RecordView& vjp) {
  if (is_overwritten(vjp)) return which_overwrote(past, vjp);
  if (vjp.state == RecordState::failed)
    return only(past.name(vjp) + " ended with an exception, so its gradients are not there: " + vjp.error);
  const RecordView* forward = past.record(vjp.head.forward);
  for (std::size_t i = 0; i < vjp.outputs.size(); ++i) {
    if (vjp.outputs[i]) continue;
    const std::uint64_t input = forward && i < forward->inputs.size() ? forward->inputs[i] : 0;
    const protocol::TensorInfo info = past.info(input);
    const bool floating = info.dtype.find("float") != std::string::npos;
    const std::string of = input ? tensor_text(past.recorder(), input) : "input " + std::to_string(i);
    std::string sentence = "The VJP of " + vjp.name() + " gave None for " + of + ": ";
    if (!floating)
      sentence += "integers and booleans have no gradient.";
    else if (is_foreign_vjp(vjp))
      sentence += why_none_of_foreign(past, vjp, i);
    else if (vjp.head.custom_gradient)
      sentence +=
          "its own gradient function returned None for this argument, or nothing that was asked for depends "
          "on it.";
    else
      sentence += "nothing that this playback was asked for depends on it, so the VJP skipped the work.";
    protocol::Because answer = only(sentence);
    answer.reasons.push_back(past.reason(vjp, "VJP", sentence));
    if (forward) {
      answer.reasons.push_back(past.reason(*forward, "forward op", "The op whose VJP it is."));
      answer.reasons.back().tensor = protocol::if_there(info);
    }
    return answer;
  }
  return why_zero(past, {first_tensor(vjp.outputs), {}, vjp.number});
}

}  // namespace

protocol::Because why_no_gradient(Past& past, const Subject& subject) {
  const RecordView* looked_at = past.record(subject.record);
  if (subject.tensor == 0) {
    if (!looked_at) throw BadRequest("why: neither a tensor nor a record that is known was given");
    if (looked_at->head.kind == EventKind::playback) return of_playback(past, *looked_at);
    if (looked_at->head.kind == EventKind::vjp) return of_vjp(past, *looked_at);
    throw BadRequest("why: record " + std::to_string(subject.record) + " is neither a playback nor a VJP");
  }
  const RecordView* maker = past.maker(subject.tensor);
  if (maker && maker->head.backward) return why_zero(past, subject);
  if (looked_at && is_overwritten(*looked_at)) return which_overwrote(past, *looked_at);
  if (const auto edited = edited_gradient(past, subject.tensor)) return of_edited(past, *edited, subject);
  // A tensor of the forward pass: the gradient with respect to it.
  const DataFlowLog& data_flow = past.recorder().data_flow();
  const RecordView* playback = looked_at ? past.around(*looked_at, EventKind::playback) : nullptr;
  if (!playback) playback = foreign_playback_for(past, subject.tensor, looked_at);
  if (!playback) playback = past.record(data_flow.playback_for(subject.tensor));
  if (!playback) playback = past.record(data_flow.newest_playback());
  if (!playback)
    return only("No gradient was asked for since the recording began, so there is none that could be zero.");
  const std::vector<std::uint64_t> sources = data_flow.sources_of(playback->number);
  const auto found = std::find(sources.begin(), sources.end(), subject.tensor);
  if (is_foreign_playback(past, *playback)) {
    if (playback->state != RecordState::done) return of_playback(past, *playback);
    const auto which = static_cast<std::size_t>(found - sources.begin());
    if (found == sources.end() || gives_to_leaves(past, *playback) || which >= playback->outputs.size() ||
        playback->outputs[which] == 0)
      return of_foreign_tensor(past, *playback, subject.tensor);
  }
  if (found != sources.end())
    return of_source(past, *playback, static_cast<std::size_t>(found - sources.begin()), subject.tensor);
  protocol::Because answer = why_none(past, first_tensor(playback->inputs), subject.tensor);
  answer.reasons.push_back(
      past.reason(*playback, "asked here", "This playback was asked for other gradients."));
  return answer;
}

}  // namespace tapedeck::debug
