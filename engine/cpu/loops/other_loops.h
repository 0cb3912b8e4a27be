// Loops of the dtypes that only some ops take: string, uint64, complex64 and complex128.
#pragma once

#include "engine/cpu/dispatch.h"

namespace tapedeck::cpu {

/// Adds them to the table. They are compiled once, for the baseline instruction set.
void add_other_loops(LoopTable& table);

}  // namespace tapedeck::cpu
