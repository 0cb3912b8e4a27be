// Where breakpoints would have stopped, looked for in the records: reverse continue, and search in the past.
#pragma once

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// As many records as can be looked at in about 50 ms, or one whose value takes longer. The ops inside of a
/// built-in VJP are no stops, as in a program that runs. Of a line, that is the first op of each pass (or the
/// first that fulfils its condition); passes without another line's op between them are one. Throws
/// Cancelled, and BadRequest for a comparison that is none.
protocol::FoundHit find_hit(const Recorder& recorder, const protocol::FindHit& request,
                            const CancelFlag* cancel, const FindTensor& find);

}  // namespace tapedeck::debug
