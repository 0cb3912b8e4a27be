// Colours, dashes and markers of the curves: told apart also without colour, readable on light and dark.
#pragma once

#include <QColor>
#include <QPainterPath>
#include <QPalette>
#include <QPen>

namespace tapedeck::plots {

struct PlotTheme {
  bool dark = false;
  QColor background, text, faintText, axis, grid, accent, warning, box;

  static PlotTheme fromPalette(const QPalette& palette);
  static PlotTheme paper();  ///< what files are written in: black on white
  bool operator==(const PlotTheme&) const = default;
};

/// Of the series at a position in the list; colours repeat after 8 series, colour and dash together after 40.
QColor curveColor(const PlotTheme& theme, int series);
QPen curvePen(const PlotTheme& theme, int series);
/// Around (0, 0), about 7 pixels across.
QPainterPath curveMarker(int series);

}  // namespace tapedeck::plots
