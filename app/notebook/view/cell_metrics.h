// The spaces inside a cell, in logical pixels.
#pragma once

#include "app/notebook/output/notebook_theme.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app::cell_metrics {

constexpr int above = 3;
constexpr int below = 3;
constexpr int right = 10;
constexpr int frame = 1;     ///< line around the source
constexpr int padding = 6;   ///< between that line and the text
constexpr int bar_left = 3;  ///< the bar that marks the current cell
constexpr int bar_width = 4;

// As large as the window's scale has its icons, times what the theme has them larger.

/// Height of a cell's tools.
inline int tools(const NotebookTheme& theme) {
  return inspector::scaled(qRound(22 * theme.icons));
}
/// Between cells: with `above` and `below` the tools' own place.
inline int gap(const NotebookTheme& theme) {
  return tools(theme) - 4;
}
/// The same above the first cell.
inline int top_of_notebook(const NotebookTheme& theme) {
  return tools(theme);
}
inline int most_width() {
  return inspector::scaled(1600);
}

}  // namespace tapedeck::app::cell_metrics
