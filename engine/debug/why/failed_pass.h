// Backward passes of PyTorch that ended with an exception.
#pragma once

#include "engine/debug/why/why.h"

namespace tapedeck::debug {

/// What PyTorch refused, where its text says only that it did: the op that ended the graph of a result that
/// requires no gradient; the earlier pass that freed what this one needs. Else the exception's text.
protocol::Because of_failed_pass(Past& past, const RecordView& playback);

}  // namespace tapedeck::debug
