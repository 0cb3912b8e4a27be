// The spaces inside a cell, in logical pixels.
#pragma once

namespace tapedeck::app::cell_metrics {

constexpr int above = 3;
constexpr int below = 3;
constexpr int right = 10;
constexpr int frame = 1;     ///< line around the source
constexpr int padding = 6;   ///< between that line and the text
constexpr int bar_left = 3;  ///< the bar that marks the current cell
constexpr int bar_width = 4;
constexpr int tools = 22;            ///< height of a cell's tools
constexpr int gap = tools - 4;       ///< between cells: with `above` and `below` the tools' own place
constexpr int top_of_notebook = 22;  ///< the same above the first cell
constexpr int most_width = 1600;

}  // namespace tapedeck::app::cell_metrics
