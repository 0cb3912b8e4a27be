// Pictures of the glyphs that canvases draw, in one texture together with what ImGui needs for its shapes.
#pragma once

#include <imgui.h>

#include <QImage>
#include <QOpenGLTexture>
#include <memory>
#include <unordered_map>

#include "inspector/ui/canvas/canvas_fonts.h"

namespace tapedeck::inspector {

/// One for all canvases: glyphs are keyed by their size in device pixels, so screens of several densities
/// share it. Glyphs are drawn when a frame first asks for them. Shapes and letters lie in one texture, so
/// that a frame is few draw calls. UI thread only; the OpenGL context must be current.
class GlyphAtlas {
 public:
  GlyphAtlas();
  GlyphAtlas(const GlyphAtlas&) = delete;

  const CanvasFonts& fonts() const { return fonts_; }
  ImFontAtlas* shapes() { return &shapes_; }

  struct Glyph {
    QRect box;  ///< device pixels, from the pen on the baseline; null: nothing to draw
    ImVec2 uv0, uv1;
  };
  /// `quarter`: how many quarters of a pixel (0 … 3) the pen stands to the right of a whole one.
  const Glyph& glyph(FontRole role, int pixels, uint character, int quarter);

  /// False: the frame that was just painted asked for more than there was room for. Then there is room now,
  /// and the frame must be painted again.
  bool complete();
  /// Sends what is new to the graphics card.
  void upload();

 private:
  void reserve(int height);
  void place(Glyph& glyph, const QImage& picture);

  CanvasFonts fonts_;
  ImFontAtlas shapes_;
  QImage pixels_;  ///< the whole texture
  QRect room_;     ///< the part that the glyphs may use
  std::unique_ptr<QOpenGLTexture> texture_;
  std::unordered_map<quint64, Glyph> glyphs_;
  int x_ = 0, y_ = 0, row_height_ = 0;  ///< of the row of glyphs that is being filled
  int dirty_from_ = 0, dirty_to_ = 0;   ///< rows that the graphics card does not have yet
  bool overflow_ = false;
  bool emptied_ = false;  ///< the frame that is painted began with an empty atlas
};

}  // namespace tapedeck::inspector
