// The letters of all canvases: which glyph of which font shows a character, and how wide it is.
#pragma once

#include <QRawFont>
#include <array>
#include <unordered_map>

#include "inspector/ui/canvas/font_role.h"

namespace tapedeck::inspector {

/// Every text is drawn in a font made for its size: whole device pixels an em, hinted vertically, so that the
/// thin strokes (minus signs above all) are on rows of pixels instead of between them. UI thread only.
class CanvasFonts {
 public:
  struct Shape {
    QRawFont font;
    quint32 glyph = 0;
    double advance = 0;  ///< device pixels, not rounded
  };

  CanvasFonts();

  // Sizes are those of CSS and SVG: the em, in logical pixels; `ratio` is device pixels per logical one.
  static int pixels(double size, double ratio);
  double lineHeight(FontRole role, double size) const;
  /// Of a text in logical pixels.
  double textWidth(FontRole role, double size, double ratio, const QString& text) const;
  /// Baseline below the top of a line, in pixels, for a font of that many pixels.
  double ascent(FontRole role, int pixels) const;
  /// A character that the role's font lacks comes from whatever font of the system has it.
  const Shape& shape(FontRole role, int pixels, uint character) const;

  static quint64 key(FontRole role, int pixels, uint character) {
    return (static_cast<quint64>(role) << 48) | (static_cast<quint64>(pixels) << 32) | character;
  }

 private:
  struct Family {
    QFont font;
    double ascent = 0, descent = 0;  ///< of one em
  };
  const QRawFont& raw(FontRole role, int pixels) const;

  std::array<Family, 3> families_;
  mutable std::unordered_map<quint64, QRawFont> raw_;
  mutable std::unordered_map<quint64, Shape> shapes_;
};

}  // namespace tapedeck::inspector
