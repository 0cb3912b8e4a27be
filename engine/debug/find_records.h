// Which records a filter lets through. Looks at the trace's own records, some nanoseconds each, not at
// messages.
#pragma once

#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// As many records from the request's first on as can be looked at in about 50 ms. Gives what
/// protocol::matches gives for each record that describe() makes. Throws Cancelled.
protocol::FoundRecords find_records(const Recorder& recorder, const protocol::FindRecords& request,
                                    const CancelFlag* cancel = nullptr);

}  // namespace tapedeck::debug
