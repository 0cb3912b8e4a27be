// What a cell is doing.
#pragma once

namespace tapedeck::app {

enum class CellState { idle, queued, busy, done, failed, killed /* its session ended while it ran */ };

}  // namespace tapedeck::app
