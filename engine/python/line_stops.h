// The Python program beside its ops: breakpoints on lines, by Python's line events, and what names hold where
// a breakpoint's condition asks for them.
#pragma once

#include "engine/record/recorder.h"

namespace tapedeck::python {

/// From now on this recorder's breakpoints learn of lines and names. Needs Python's lock, as all functions
/// here. Python reports lines only while a breakpoint waits for one or a step to another line is under way; a
/// thread that another tool traces (a debugger, a coverage tool) is not traced here.
void watch_program(Recorder& recorder);
/// No longer; also in a forked child, where the recorder is gone.
void leave_program();
/// Looks whether breakpoints wait for other lines now. One comparison where they don't. `cells`: there may be
/// a new cell, of which they wait for lines.
void look_for_line_stops(bool cells = false);

}  // namespace tapedeck::python
