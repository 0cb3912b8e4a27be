// Why a variable gets no gradient, or zeros: the analysis of Why at the step where that began.
#include <algorithm>

#include "engine/debug/health/health.h"
#include "engine/debug/tile.h"
#include "engine/debug/why/why.h"
#include "engine/record/replay/replay.h"

namespace tapedeck::debug {
namespace {

/// The gradient of a variable in one playback.
struct AskedGradient {
  std::uint32_t playback = 0;
  std::uint64_t target = 0, source = 0, gradient = 0;
};

std::optional<AskedGradient> asked_gradient(const Recorder& recorder, std::uint32_t playback,
                                            const HealthSubject& variable) {
  const HealthPast past{recorder.trace(), recorder.values(), recorder.data_flow()};
  RecordView record;
  if (!recorder.trace().read(playback, record) || record.inputs.empty()) return std::nullopt;
  const std::vector<std::uint64_t> sources = recorder.data_flow().sources_of(playback);
  for (std::size_t i = 0; i < std::min(sources.size(), record.outputs.size()); ++i) {
    const auto subject = variable_subject(past, sources[i]);
    if (subject && subject->same_as(variable))
      return AskedGradient{playback, record.inputs[0], sources[i], record.outputs[i]};
  }
  return std::nullopt;
}

}  // namespace

void HealthReader::explain(protocol::HealthFinding& finding, const Run& run, Past& past) {
  const auto add = [&](const Reason& reason) {
    finding.sentence += " At step " + std::to_string(finding.since) + ": " + reason.sentence;
    if (reason.place.record == 0) return;
    finding.record = reason.place.record;
    finding.op = reason.place.op;
    finding.cell = reason.place.cell;
    finding.file = reason.place.file;
    finding.line = reason.place.line;
    if (reason.place.tensor) finding.tensor = reason.place.tensor;
  };
  const std::size_t step = run.first + finding.since - 1;
  const std::pair key{finding.subject, step};
  {
    const std::lock_guard lock(gone_mutex_);
    if (const auto known = explained_.find(key); known != explained_.end()) return add(known->second);
  }
  const auto data = recorder_.health().read({static_cast<std::uint32_t>(finding.subject)});
  std::uint32_t playback = 0;
  {
    const std::lock_guard lock(steps_mutex_);
    if (finding.since == 0 || step > steps_.size()) return;
    playback = steps_.at(step).playback;
  }
  if (playback == 0) return;  // the program plays no tape
  const auto asked = data.empty() ? std::nullopt : asked_gradient(recorder_, playback, data[0].subject);
  if (!asked) return;
  Reason found;
  try {
    const protocol::Because because = asked->gradient ? why_zero(past, {asked->gradient, {}, asked->playback})
                                                      : why_none(past, asked->target, asked->source);
    found.sentence = because.sentence;
    for (const protocol::Reason& reason : because.reasons) {
      if (!reason.record) continue;
      found.place.record = *reason.record;
      found.place.op = reason.op;
      found.place.cell = reason.cell;
      found.place.file = reason.file;
      found.place.line = reason.line;
      found.place.tensor = reason.tensor;
      break;
    }
  } catch (const ValueError&) {  // the values on the way are gone: the finding has no reason
  } catch (const BadRequest&) {
  }
  if (!found.sentence.empty()) add(found);
  const std::lock_guard lock(gone_mutex_);
  if (!found.sentence.empty()) explained_[key] = std::move(found);
}

}  // namespace tapedeck::debug
