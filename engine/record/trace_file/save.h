// Saves a recorder's data as a trace file while the program runs.
#pragma once

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace_file/format.h"

namespace tapedeck::trace_file {

/// Throws TraceFileError where `path` is that of a folder, or of a file that is there and has something else
/// than a trace, which save() would lose.
void check_place(const std::string& path);

/// Saves the records up to the newest that has finished when it starts. Writes to a temporary file beside
/// `path` and renames it at the end, so an older file stays unchanged until then and if this throws. The next
/// save to `path` removes temporary files of processes that died. Reads one value at a time. Callable from
/// any thread. `progress` counts records and values. Throws TraceFileError (a sentence with the path and the
/// cause) and Cancelled.
protocol::TraceSaved save(const Recorder& recorder, const protocol::SaveTrace& request,
                          const CancelFlag* cancel = nullptr, const ReplayProgress& progress = {});

}  // namespace tapedeck::trace_file
