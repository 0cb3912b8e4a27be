// A backward pass of PyTorch's that refused, because what an op keeps for its gradient had been overwritten.
#pragma once

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// Whether the record, a playback or a VJP, failed with that error.
bool is_overwritten(const RecordView& record);

/// The op that wrote, and the one that keeps what it wrote into. Throws Cancelled.
protocol::Because which_overwrote(Past& past, const RecordView& failed);

}  // namespace tapedeck::debug
