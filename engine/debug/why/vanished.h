// A zero that is the cause of a NaN or Inf: whether it came of numbers that are none.
#pragma once

#include "engine/debug/why/elements.h"

namespace tapedeck::debug {

/// A sentence where the zero at that place was too small for its dtype, or came of an infinity; with the op
/// as its place. Nothing where it is an honest zero, or it cannot be known. Throws ValueError and Cancelled.
std::optional<protocol::Reason> why_vanished(Past& past, Elementwise& elementwise, std::uint64_t tensor,
                                             std::int64_t place);

}  // namespace tapedeck::debug
