// The glyphs of all canvases: one ImGui font atlas per device pixel ratio, shared by the widgets of that
// ratio.
#pragma once

#include <imgui.h>

#include <QByteArray>
#include <QRawFont>
#include <array>
#include <memory>
#include <vector>

#include "inspector/ui/canvas/font_role.h"

namespace tapedeck::inspector {

/// The font file's bytes as ImGui's rasteriser reads them, put together from the tables that Qt hands out, so
/// that whatever font Qt and fontconfig choose can be used. Empty where the font has no outlines (a bitmap
/// font).
QByteArray fontFileBytes(const QRawFont& font);

class CanvasFonts {
 public:
  /// Made on first use for a ratio; kept while some widget holds it. UI thread only.
  static std::shared_ptr<CanvasFonts> forRatio(double ratio);
  ~CanvasFonts();
  CanvasFonts(const CanvasFonts&) = delete;

  ImFontAtlas* atlas() { return &atlas_; }
  double ratio() const { return ratio_; }
  // Sizes are those of CSS and SVG: the em, in logical pixels. ImGui's is the height of a line.
  /// The rasterised size that is best for text of that size: drawn larger it would blur.
  ImFont* font(FontRole role, double size) const;
  double lineHeight(FontRole role, double size) const;
  /// Width in logical pixels.
  double textWidth(FontRole role, double size, const char* begin, const char* end) const;

 private:
  explicit CanvasFonts(double ratio);
  void add(FontRole role, const QByteArray& bytes, double size, bool everything);

  struct Sized {
    double size;
    ImFont* font;
  };
  double ratio_;
  ImFontAtlas atlas_;
  std::vector<QByteArray> files_;  ///< the atlas reads them while it is built
  std::array<std::vector<Sized>, 3> fonts_;
  std::array<double, 3> line_heights_{};  ///< of one em
};

}  // namespace tapedeck::inspector
