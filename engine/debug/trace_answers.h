// Answers about traces as files: saving one, and what one that is open says of itself.
#pragma once

#include <optional>

#include "engine/debug/jobs.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// The refusal of a trace file to run or save something, and of a live session to read a trace file; nullopt
/// for other requests.
std::optional<protocol::Reply> refused_by_file(const Recorder& recorder, const protocol::Request& request);

protocol::Reply save_trace(const Recorder& recorder, const protocol::SaveTrace& request,
                           const CancelFlag& cancel, const Jobs::Report& report);
protocol::Reply describe_file(const Recorder& recorder);
protocol::Reply source_of(const Recorder& recorder, const protocol::GetSource& request);

}  // namespace tapedeck::debug
