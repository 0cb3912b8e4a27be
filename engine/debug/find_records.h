// Which records a filter lets through. Looks at the trace's own records, some nanoseconds each, not at
// messages.
#pragma once

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// As many records from the request's first on as can be looked at in about 50 ms, or one whose value takes
/// longer. Gives what protocol::matches gives for each record that describe() makes; with `find` also what
/// values decide. Throws Cancelled.
protocol::FoundRecords find_records(const Recorder& recorder, const protocol::FindRecords& request,
                                    const CancelFlag* cancel = nullptr, const FindTensor& find = {});

}  // namespace tapedeck::debug
