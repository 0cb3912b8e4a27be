// What a cell is doing, and whether its outputs are up to date.
#pragma once

namespace tapedeck::app {

enum class CellState { idle, queued, busy, done, failed, killed /* its session ended while it ran */ };

/// Why the outputs of a cell may not be those of the notebook as it is now.
enum class CellMark {
  none,
  edited,   ///< its text differs from the text that ran
  earlier,  ///< an earlier session ran it
  outdated  ///< may be out of date: a name that it read was assigned again since
};

}  // namespace tapedeck::app
