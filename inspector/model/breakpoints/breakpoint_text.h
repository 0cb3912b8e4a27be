// Breakpoints in words.
#pragma once

#include "inspector/model/breakpoints/breakpoints_model.h"

namespace tapedeck::inspector {

/// What a breakpoint is for, in words: "line 3", "op matmul", "NaN or infinity".
QString breakpointText(const protocol::Breakpoint& breakpoint);
/// It stops after each op whose result has a NaN or an infinity.
bool watchesNotFinite(const protocol::Breakpoint& breakpoint);
std::string notFiniteCondition();
/// What runs of its line without an op mean for it; empty: there were none, or it asks for no op.
QString withoutOpText(const BreakpointEntry& entry);

}  // namespace tapedeck::inspector
