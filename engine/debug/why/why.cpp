#include "engine/debug/why/why.h"

#include "engine/debug/tile.h"
#include "engine/debug/why/foreign_path.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

/// The tensor that is meant where none is named: the record's first output.
std::uint64_t output_of(Past& past, std::uint64_t number) {
  const RecordView* record = past.record(number);
  if (!record) throw BadRequest("why: there is no record " + std::to_string(number));
  for (const std::uint64_t id : record->outputs)
    if (id) return id;
  if (record->head.op && is_arrival(*record->head.op) && record->inputs.size() == 2) return record->inputs[1];
  if (record->state == RecordState::done)
    throw ValueError("gone",
                     past.name(*record) + " has no tensor of its own to ask about" +
                         (record->head.kind == EventKind::playback
                              ? ": its gradients arrived at other tensors' grad; ask about one of these."
                              : "."));
  throw ValueError("gone", past.name(*record) + " has made no tensor" +
                               (record->state == RecordState::failed ? ": it failed." : " yet."));
}

}  // namespace

protocol::Because answer(Past& past, const protocol::Why& why) {
  using protocol::Question;
  Subject subject{why.tensor.value_or(0), why.element.value_or(std::vector<std::int64_t>()),
                  why.record.value_or(0)};
  if (why.question == Question::gradient) return why_no_gradient(past, subject);
  if (why.question == Question::check) return is_right(past, subject);
  if (subject.tensor == 0) subject.tensor = output_of(past, subject.record);
  switch (why.question) {
    case Question::size:
      return where_sized(past, subject);
    case Question::contributions:
      return what_made(past, subject);
    case Question::exactness:
      return how_exact(past, subject);
    default:
      return where_born(past, subject);
  }
}

}  // namespace tapedeck::debug
