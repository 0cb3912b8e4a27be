// The colours of notebook, panels and plots, made from the Qt palette so that they follow light and dark.
#pragma once

#include <QColor>
#include <QPalette>

namespace tapedeck::inspector {

/// A fill, and the darker (on dark: lighter) stroke of the same hue for outlines and small text. Every stroke
/// has at least 4.5:1 contrast with the background.
struct Tint {
  QColor fill;
  QColor stroke;
};

struct Theme {
  bool dark = false;
  QColor background;
  QColor panel;   ///< boxes that lie over the canvas: legend, tooltip
  QColor border;  ///< quiet lines
  QColor grid;    ///< the quietest lines
  QColor axis;    ///< lines that values are read from
  QColor text;
  QColor faintText;  ///< secondary text, still readable
  QColor accent;     ///< the cursor, focus, selection
  QColor selection;  ///< behind selected cells

  Tint forward;   ///< ops of the forward pass
  Tint backward;  ///< gradients
  Tint variable;
  Tint constant;
  Tint custom;  ///< custom gradients
  QColor success;
  Tint warning;  ///< infinities, pending ops
  Tint error;    ///< failed ops, NaN

  static Theme fromPalette(const QPalette& palette);
  /// Paper: what files are written in.
  static Theme light();
  /// The result of fromPalette for a usual dark palette.
  static Theme darkened();

  bool operator==(const Theme& other) const {
    return dark == other.dark && background == other.background && text == other.text &&
           accent == other.accent;
  }
};

/// `amount` of `over` on `under`, both opaque.
QColor mix(const QColor& under, const QColor& over, double amount);

}  // namespace tapedeck::inspector
