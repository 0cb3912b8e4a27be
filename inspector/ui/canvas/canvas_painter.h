// Drawing on a canvas in Qt's types: a thin layer over ImGui's draw list.
#pragma once

#include <QColor>
#include <QImage>
#include <QPointF>
#include <QRectF>
#include <QString>
#include <QStringList>
#include <span>

#include "inspector/ui/canvas/font_role.h"
#include "inspector/ui/theme.h"

struct ImDrawList;

namespace tapedeck::inspector {

class CanvasTextures;
class GlyphAtlas;

/// Valid inside one CanvasWidget::paintCanvas. Coordinates are logical pixels from the widget's top left
/// corner.
class CanvasPainter {
 public:
  /// `ratio`: device pixels per logical one.
  CanvasPainter(ImDrawList* list, GlyphAtlas& glyphs, CanvasTextures& textures, const Theme& theme,
                QSizeF size, double ratio)
      : list_(list), glyphs_(glyphs), textures_(textures), theme_(theme), size_(size), ratio_(ratio) {}

  const Theme& theme() const { return theme_; }
  QSizeF size() const { return size_; }

  void fill(const QRectF& rect, const QColor& color, double radius = 0);
  void outline(const QRectF& rect, const QColor& color, double width = 1, double radius = 0);
  void dashedOutline(const QRectF& rect, const QColor& color, double width, double dash);
  void line(QPointF from, QPointF to, const QColor& color, double width = 1);
  void polyline(std::span<const QPointF> points, const QColor& color, double width);
  void dashed(std::span<const QPointF> points, const QColor& color, double width, double dash, double gap);
  void triangle(QPointF a, QPointF b, QPointF c, const QColor& color);
  void triangleOutline(QPointF a, QPointF b, QPointF c, const QColor& color, double width);
  /// Diagonal lines, clipped to the rectangle.
  void hatch(const QRectF& rect, const QColor& color, double spacing = 5);

  // Text sizes are the em in logical pixels, as in CSS; drawn in the nearest whole number of device pixels,
  // from a whole pixel on.
  /// Draws with its top left corner at `at`; returns the width.
  double text(QPointF at, const QString& text, double size, const QColor& color,
              FontRole role = FontRole::regular);
  /// Horizontally aligned and vertically centred in the rectangle; cut with "…" where it is wider.
  void textIn(const QRectF& rect, const QString& text, double size, const QColor& color,
              Qt::Alignment alignment = Qt::AlignCenter, FontRole role = FontRole::regular);
  /// Broken into lines at spaces, in the middle of the rectangle.
  void paragraph(const QRectF& rect, const QString& text, double size, const QColor& color);
  double textWidth(const QString& text, double size, FontRole role = FontRole::regular) const;
  QString elided(const QString& text, double width, double size, FontRole role = FontRole::regular) const;

  /// Every pixel of the image becomes a sharp rectangle. `opacity` dims what is out of date.
  void image(const QRectF& rect, const QImage& image, double opacity = 1);

  /// A box in front of everything, beside `at` and inside the canvas: the first line bold, parts before a tab
  /// faint and aligned.
  void tooltip(QPointF at, const QStringList& lines);

  void clip(const QRectF& rect);
  void unclip();

 private:
  ImDrawList* list_;
  GlyphAtlas& glyphs_;
  CanvasTextures& textures_;
  const Theme& theme_;
  QSizeF size_;
  double ratio_;
};

}  // namespace tapedeck::inspector
