// Finds the records that match a filter. Reads the trace's own records, at some nanoseconds each, not
// messages.
#pragma once

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// Searches from the request's first record on for about 50 ms, or longer for a single value. The result
/// agrees with protocol::matches on describe()'s records; with `find` values are compared as well. Throws
/// Cancelled.
protocol::FoundRecords find_records(const Recorder& recorder, const protocol::FindRecords& request,
                                    const CancelFlag* cancel = nullptr, const FindTensor& find = {});

}  // namespace tapedeck::debug
