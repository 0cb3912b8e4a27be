// The margins of a cell's editor, and what is marked there. Scintilla draws higher markers over lower ones.
#pragma once

namespace tapedeck::app {

constexpr int numbers_margin = 0;
constexpr int symbol_margin = 1;

enum Marker {
  plain_breakpoint = 1,
  conditional_breakpoint,
  disabled_breakpoint,
  log_breakpoint,
  pending_arrow,
  pending_line,
  cursor_arrow,
  cursor_line
};

constexpr int breakpoint_mask =
    1 << plain_breakpoint | 1 << conditional_breakpoint | 1 << disabled_breakpoint | 1 << log_breakpoint;

}  // namespace tapedeck::app
