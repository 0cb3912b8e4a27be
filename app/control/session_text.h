// What the window says of its session, in words.
#pragma once

#include <QString>

#include "app/control/session_memory.h"
#include "app/control/stepper.h"
#include "inspector/model/variables/frames_model.h"

namespace tapedeck::app {

/// For the status bar: "session: paused before matmul, cell [3] line 4".
QString sessionText(const Stepper& stepper, const Kernel& kernel, const inspector::Session& session,
                    const CellRunner& runner);
/// The same after an interrupt, while the cell has not ended: "session: interrupting cell [3]: waits for
/// aten.mm to end, 2 s".
QString interruptText(const Kernel& kernel, const inspector::Session& session, const CellRunner& runner,
                      int seconds);
/// The op that runs now, as far as the window knows; empty: none.
QString runningOp(const inspector::Session& session);

/// What the status bar says of memory, and what its tooltip says that this counts.
struct MemoryWords {
  QString shown, tip;
};
MemoryWords memoryWords(const protocol::Status& status, const SessionMemory& memory);

/// Why variables can't be shown in a running session; empty: they can.
QString noEngineText(const Stepper& stepper);

/// The line that the notebook marks: where the session is paused, or what the cursor's record ran from.
struct MarkedLine {
  QString cell;  ///< empty: none
  int line = 0;
  bool pending = false;  ///< the gate waits there now
  inspector::RecordNumber record = 0;

  bool operator==(const MarkedLine&) const = default;
};
/// While ops run, a mark on their lines would only flicker: only a paused session, or a user who looks back,
/// has a mark. `frames`: the frame that the user chose in the call stack has its own line.
/// `atRest`: nothing runs that could reach another line.
MarkedLine markedLine(const inspector::Session& session, const inspector::FramesModel* frames = nullptr,
                      bool atRest = false);

}  // namespace tapedeck::app
