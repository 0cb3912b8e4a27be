// Finds where breakpoints would have stopped, in the records: reverse continue, and search in the past.
#pragma once

#include "engine/debug/vjp/vjp_call.h"
#include "engine/protocol/messages.h"
#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck::debug {

/// Searches for about 50 ms, or longer for a single value. The ops inside of a
/// built-in VJP are no stops, as in a program that runs. Of a line, that is the first op of each pass, or the
/// first that fulfils its condition; passes without another line's op between them are one. Where the
/// condition asks for what an op made, it is each op of the line that fulfils it. Throws Cancelled, and
/// BadRequest for an unknown comparison.
protocol::FoundHit find_hit(const Recorder& recorder, const protocol::FindHit& request,
                            const CancelFlag* cancel, const FindTensor& find);

}  // namespace tapedeck::debug
