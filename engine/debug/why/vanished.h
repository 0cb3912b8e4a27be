// Explains a zero that caused a NaN or infinity: whether it was computed from numbers other than zero.
#pragma once

#include "engine/debug/why/elements.h"

namespace tapedeck::debug {

/// A sentence if the zero at that place underflowed, or was computed from an infinity; with the op as its
/// place. Nothing for an exact zero, and if it is unknown. Throws ValueError and Cancelled.
std::optional<protocol::Reason> why_vanished(Past& past, Elementwise& elementwise, std::uint64_t tensor,
                                             std::int64_t place);

}  // namespace tapedeck::debug
