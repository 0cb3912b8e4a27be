// Saves what a recorder has as a trace file, while the program goes on.
#pragma once

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"
#include "engine/record/replay/replay.h"
#include "engine/record/trace_file/format.h"

namespace tapedeck::trace_file {

/// The records up to the newest that has finished when it begins. It is written to a file beside `path`,
/// which is renamed at the end: an older file stays as it was until then, and where this throws. What a
/// process left that died meanwhile is removed by the next save to `path`. Values are read one at a time.
/// From any thread. `progress` counts records and values. Throws TraceFileError: a sentence with the path and
/// the cause; and Cancelled.
protocol::TraceSaved save(const Recorder& recorder, const protocol::SaveTrace& request,
                          const CancelFlag* cancel = nullptr, const ReplayProgress& progress = {});

}  // namespace tapedeck::trace_file
