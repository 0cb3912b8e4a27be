// Answers about traces as files: saving one, and what one that is open says of itself.
#pragma once

#include <optional>

#include "engine/debug/jobs.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// What a trace file answers to requests that would run something, or save it, and a live session to those
/// that would read a trace file; nothing for others.
std::optional<protocol::Reply> refused_by_file(const Recorder& recorder, const protocol::Request& request);

protocol::Reply save_trace(const Recorder& recorder, const protocol::SaveTrace& request,
                           const CancelFlag& cancel, const Jobs::Report& report);
protocol::Reply describe_file(const Recorder& recorder);
protocol::Reply source_of(const Recorder& recorder, const protocol::GetSource& request);

}  // namespace tapedeck::debug
