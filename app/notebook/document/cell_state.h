// What a cell is doing.
#pragma once

namespace tapedeck::app {

enum class CellState { idle, queued, busy, done, failed };

}  // namespace tapedeck::app
