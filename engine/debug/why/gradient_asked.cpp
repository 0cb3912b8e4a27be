#include "engine/debug/why/gradient_asked.h"

#include <algorithm>

#include "engine/debug/why/foreign_gradient.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/debug/why/gradient_fate.h"
#include "engine/debug/why/vjp_check.h"
#include "engine/record/trace/tensor_text.h"

namespace tapedeck::debug {
namespace {

bool is_among(const TensorIds& ids, std::uint64_t id) {
  return id != 0 && std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The tensor, or all known values of the variable whose value it is: it may have been assigned to since.
std::set<std::uint64_t> with_older_values(Past& past, std::uint64_t tensor) {
  std::set<std::uint64_t> tensors{tensor};
  if (const auto assignment = past.assignment(tensor))
    tensors.merge(past.recorder().data_flow().values_of(assignment->variable));
  return tensors;
}

/// A gradient that arrived at a variable of a PyTorch program.
GradientAsked about_arrival(Past& past, const RecordView& playback, const Arrival& arrival) {
  GradientAsked asked;
  asked.playback = &playback;
  asked.gradient = arrival.gradient;
  asked.tensors = {arrival.variable};
  asked.of = tensor_text(past.recorder(), arrival.variable);
  return asked;
}

/// All that arrived in the backward pass.
GradientAsked about_arrivals(Past& past, const RecordView& playback) {
  const std::vector<Arrival> arrivals = arrivals_in(past, playback);
  GradientAsked asked;
  if (arrivals.empty()) {
    asked.refusal =
        playback.state == RecordState::done
            ? "In this backward pass no gradient arrived at any tensor: there is none that could be "
              "checked."
            : "This backward pass has not ended well: its gradients are not there.";
    return asked;
  }
  if (arrivals.size() == 1) return about_arrival(past, playback, arrivals.front());
  asked.playback = &playback;
  for (const Arrival& arrival : arrivals) asked.tensors.insert(arrival.variable);
  asked.of = "the " + std::to_string(arrivals.size()) + " tensors at which one arrived";
  return asked;
}

/// The arrival that a tensor of a PyTorch program leads to: as a gradient, or as the variable.
std::optional<GradientAsked> about_foreign(Past& past, const Subject& subject, const RecordView* record) {
  if (record && record->head.op && is_arrival(*record->head.op) && record->inputs.size() == 2 &&
      (subject.tensor == 0 || is_among(record->inputs, subject.tensor)))
    if (const RecordView* playback = past.around(*record, EventKind::playback))
      return about_arrival(past, *playback, {record, record->inputs[0], record->inputs[1]});
  if (subject.tensor == 0) return std::nullopt;
  if (const auto arrival = arrival_of(past, subject.tensor))
    return about_arrival(past, *past.around(*arrival->record, EventKind::playback), *arrival);
  if (const auto edited = edited_gradient(past, subject.tensor)) {
    GradientAsked asked =
        about_arrival(past, *past.around(*edited->arrival.record, EventKind::playback), edited->arrival);
    asked.note = " This is said of the gradient as it arrived: " + past.name(*edited->edits.front()) +
                 " made another one of it since.";
    return asked;
  }
  const RecordView* maker = past.maker(subject.tensor);
  if (maker && (!foreign_op_of(*maker) || maker->head.tape != 0 || maker->head.backward)) return std::nullopt;
  const RecordView* playback = foreign_playback_for(past, subject.tensor, record);
  if (!playback) return std::nullopt;
  const std::set<std::uint64_t> values = values_of_foreign(past, subject.tensor);
  for (const Arrival& arrival : arrivals_in(past, *playback))
    if (values.contains(arrival.variable))
      return about_arrival(past, *past.around(*arrival.record, EventKind::playback), arrival);
  return std::nullopt;
}

GradientAsked about_source(Past& past, const RecordView& playback, std::size_t which) {
  const std::vector<std::uint64_t> sources = past.recorder().data_flow().sources_of(playback.number);
  GradientAsked asked;
  if (which >= sources.size()) {
    asked.refusal =
        "What this playback was asked for is no longer known, so the path of its gradient is not.";
    return asked;
  }
  asked.playback = &playback;
  asked.gradient = which < playback.outputs.size() ? playback.outputs[which] : 0;
  asked.tensors = with_older_values(past, sources[which]);
  asked.of = tensor_text(past.recorder(), sources[which]);
  return asked;
}

/// A tensor that a playback made: one of its gradients, a cotangent on the way, or what one VJP gave.
GradientAsked about_gradient(Past& past, std::uint64_t tensor, const RecordView& playback) {
  for (std::size_t i = 0; i < playback.outputs.size(); ++i)
    if (playback.outputs[i] == tensor) return about_source(past, playback, i);
  GradientAsked asked;
  const RecordView* maker = past.maker(tensor);
  asked.vjp = maker ? past.around(*maker, EventKind::vjp) : nullptr;
  if (!asked.vjp)
    asked.refusal =
        "This is a part of a sum of gradients. Ask at the playback, about the whole gradient, or at a VJP.";
  return asked;
}

/// The gradient that came into a VJP: that with respect to its op's output.
GradientAsked about_cotangent(Past& past, const RecordView& vjp, std::uint64_t tensor) {
  GradientAsked asked;
  const RecordView* playback = past.record(vjp.head.parent);
  const RecordView* forward = past.record(vjp.head.forward);
  const auto slot =
      static_cast<std::size_t>(std::find(vjp.inputs.begin(), vjp.inputs.end(), tensor) - vjp.inputs.begin());
  if (!playback || playback->head.kind != EventKind::playback || !forward ||
      slot >= forward->outputs.size()) {
    asked.vjp = &vjp;
    return asked;
  }
  asked.playback = playback;
  asked.tensors = {forward->outputs[slot]};
  asked.of = tensor_text(past.recorder(), forward->outputs[slot]);
  return asked;
}

GradientAsked about_forward(Past& past, const RecordView& forward) {
  GradientAsked asked;
  asked.vjp = first_vjp_of(past, forward);
  if (!asked.vjp)
    asked.refusal =
        forward.head.tape == 0
            ? foreign_op_of(forward)
                  ? "Autograd's graph does not have " + past.name(forward) + ", so it has no gradient here."
                  : "No tape recorded " + past.name(forward) + ", so it has no gradient here."
            : "No playback has come to " + past.name(forward) +
                  " yet: there is no gradient of it that could be checked.";
  return asked;
}

}  // namespace

GradientAsked gradient_asked(Past& past, const Subject& subject) {
  const RecordView* record = past.record(subject.record);
  const RecordView* maker = subject.tensor ? past.maker(subject.tensor) : nullptr;
  const RecordView* vjp = record ? past.around(*record, EventKind::vjp) : nullptr;
  if (vjp) {
    const bool of_it = subject.tensor == 0 || is_among(vjp->outputs, subject.tensor) ||
                       (maker && past.around(*maker, EventKind::vjp) == vjp);
    GradientAsked asked;
    if (record == vjp && !of_it && is_among(vjp->inputs, subject.tensor))
      return about_cotangent(past, *vjp, subject.tensor);
    if (of_it || (record != vjp && is_among(record->inputs, subject.tensor))) {
      asked.vjp = vjp;
      return asked;
    }
  }
  if (record && record->head.kind == EventKind::playback && is_foreign_playback(past, *record) &&
      gives_to_leaves(past, *record) && (subject.tensor == 0 || is_among(record->inputs, subject.tensor)))
    return about_arrivals(past, *record);
  if (auto asked = about_foreign(past, subject, record)) return std::move(*asked);
  if (record && record->head.kind == EventKind::playback) {
    const bool of_it = is_among(record->outputs, subject.tensor);
    if (of_it || subject.tensor == 0 || is_among(record->inputs, subject.tensor)) {
      for (std::size_t i = 0; i < record->outputs.size(); ++i)
        if (of_it ? record->outputs[i] == subject.tensor : record->outputs[i] != 0)
          return about_source(past, *record, i);
      GradientAsked asked;
      asked.refusal = record->state == RecordState::done
                          ? "This playback gave no gradient: there is none that could be checked."
                          : "This playback has not ended: its gradients are not there yet.";
      return asked;
    }
  }
  if (maker && maker->head.backward)
    if (const RecordView* playback = past.around(*maker, EventKind::playback))
      return about_gradient(past, subject.tensor, *playback);
  if (subject.tensor && !maker) {
    // A value that no op made: the newest gradient with respect to it.
    if (const RecordView* playback = past.record(past.recorder().data_flow().playback_for(subject.tensor))) {
      const std::vector<std::uint64_t> sources = past.recorder().data_flow().sources_of(playback->number);
      const auto found = std::find(sources.begin(), sources.end(), subject.tensor);
      if (found != sources.end())
        return about_source(past, *playback, static_cast<std::size_t>(found - sources.begin()));
    }
  }
  const bool of_record =
      record && (is_among(record->inputs, subject.tensor) || is_among(record->outputs, subject.tensor));
  const RecordView* forward = maker && !of_record ? maker : record;
  // What came out of a function with a custom gradient was made by an op inside, whose own VJP is no part of
  // it.
  if (forward && !of_record)
    if (const RecordView* custom = past.around(*forward, EventKind::custom);
        custom && is_among(custom->outputs, subject.tensor))
      forward = custom;
  if (forward && (forward->head.kind == EventKind::op || forward->head.kind == EventKind::custom))
    return about_forward(past, *forward);
  GradientAsked asked;
  asked.refusal =
      "Only gradients can be checked: select a playback, a VJP, an op that a tape recorded, or a gradient.";
  return asked;
}

}  // namespace tapedeck::debug
