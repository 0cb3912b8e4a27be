// Colours, dashes and markers of the curves: told apart also without colour, readable on light and dark.
#pragma once

#include <QColor>
#include <QPainterPath>
#include <QPen>

#include "inspector/ui/theme.h"

namespace tapedeck::plots {

/// Of the series at a position in the list; colours repeat after 8 series, colour and dash together after 40.
QColor curveColor(const inspector::Theme& theme, int series);
QPen curvePen(const inspector::Theme& theme, int series);
/// Of a branch's curve beside the original's at that position: its colour, in short dashes.
QPen branchPen(const inspector::Theme& theme, int series);
/// Around (0, 0), about 7 pixels across.
QPainterPath curveMarker(int series);

}  // namespace tapedeck::plots
