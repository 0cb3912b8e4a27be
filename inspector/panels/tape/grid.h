// The grid of a tape's layout: columns of nodes with gaps between them for edges that run up and
// down, rows with channels between them for edges that run across. Logical pixels at zoom 1.
#pragma once

#include <QRectF>

#include "inspector/panels/tape/graph_layout.h"

namespace tapedeck::inspector::grid {

constexpr double column_width = 168, column_gap = 60;
constexpr double row_height = 60;
constexpr double label_strip = 18;     ///< above each row: labels, and the ends of edges
constexpr double channel_height = 30;  ///< between a row's badges and the next one's labels
constexpr double badge_strip = 12;     ///< below each row: badges extend below their nodes
constexpr double row_pitch = row_height + badge_strip + channel_height + label_strip;
constexpr double column_pitch = column_width + column_gap;

inline double columnLeft(int column) {
  return column * column_pitch;
}
inline double rowTop(int row) {
  return row * row_pitch;
}
inline QRectF box(GridCell cell) {
  return {columnLeft(cell.column), rowTop(cell.row), column_width, row_height};
}
/// The channel above a row.
inline double channelTop(int row) {
  return rowTop(row) - label_strip - channel_height;
}
/// Left end of the gap to the left of a column.
inline double gapLeft(int column) {
  return columnLeft(column) - column_gap;
}

}  // namespace tapedeck::inspector::grid
