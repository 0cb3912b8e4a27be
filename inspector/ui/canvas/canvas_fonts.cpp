#include "inspector/ui/canvas/canvas_fonts.h"

#include <QFont>
#include <QFontDatabase>
#include <QGlyphRun>
#include <QTextLayout>
#include <algorithm>
#include <cmath>

namespace tapedeck::inspector {

namespace {

constexpr int reference_pixels = 100;
constexpr std::size_t maximum_shapes = 50'000;

QFont preferred(const char* family, QFontDatabase::SystemFont otherwise, bool bold) {
  // DejaVu has the arrows and the mathematics that op formulas need, and the metrics that the graph's layout
  // uses.
  QFont font = QFontDatabase::hasFamily(QLatin1String(family)) ? QFont(QLatin1String(family))
                                                               : QFontDatabase::systemFont(otherwise);
  font.setBold(bold);
  font.setHintingPreference(QFont::PreferVerticalHinting);
  font.setStyleStrategy(
      static_cast<QFont::StyleStrategy>(QFont::PreferAntialias | QFont::NoSubpixelAntialias));
  return font;
}

QRawFont rawFont(QFont font, int pixels) {
  font.setPixelSize(pixels);
  return QRawFont::fromFont(font);
}

double advanceOf(const QRawFont& font, quint32 glyph) {
  const QVector<QPointF> advances = font.advancesForGlyphIndexes({glyph}, QRawFont::UseDesignMetrics);
  return advances.isEmpty() ? 0 : advances.front().x();
}

}  // namespace

CanvasFonts::CanvasFonts() {
  families_[static_cast<std::size_t>(FontRole::regular)].font =
      preferred("DejaVu Sans", QFontDatabase::GeneralFont, false);
  families_[static_cast<std::size_t>(FontRole::bold)].font =
      preferred("DejaVu Sans", QFontDatabase::GeneralFont, true);
  families_[static_cast<std::size_t>(FontRole::mono)].font =
      preferred("DejaVu Sans Mono", QFontDatabase::FixedFont, false);
  for (Family& family : families_) {
    const QRawFont font = rawFont(family.font, reference_pixels);
    family.ascent = font.ascent() / reference_pixels;
    family.descent = font.descent() / reference_pixels;
  }
}

int CanvasFonts::pixels(double size, double ratio) {
  return std::clamp(static_cast<int>(std::lround(size * ratio)), 1, 400);
}

double CanvasFonts::lineHeight(FontRole role, double size) const {
  const Family& family = families_[static_cast<std::size_t>(role)];
  return size * (family.ascent + family.descent);
}

double CanvasFonts::ascent(FontRole role, int pixels) const {
  return families_[static_cast<std::size_t>(role)].ascent * pixels;
}

double CanvasFonts::textWidth(FontRole role, double size, double ratio, const QString& text) const {
  const int used = pixels(size, ratio);
  double width = 0;
  for (const uint character : text.toUcs4()) width += shape(role, used, character).advance;
  return width / ratio;
}

const QRawFont& CanvasFonts::raw(FontRole role, int pixels) const {
  const auto [found, made] = raw_.try_emplace(key(role, pixels, 0));
  if (made) found->second = rawFont(families_[static_cast<std::size_t>(role)].font, pixels);
  return found->second;
}

const CanvasFonts::Shape& CanvasFonts::shape(FontRole role, int pixels, uint character) const {
  const quint64 wanted = key(role, pixels, character);
  if (const auto found = shapes_.find(wanted); found != shapes_.end()) return found->second;
  if (shapes_.size() > maximum_shapes) shapes_.clear();
  Shape& made = shapes_[wanted];
  const QRawFont& font = raw(role, pixels);
  made.font = font;
  if (font.supportsCharacter(character)) {
    const QVector<quint32> glyphs =
        font.glyphIndexesForString(QString::fromUcs4(reinterpret_cast<const char32_t*>(&character), 1));
    if (!glyphs.isEmpty()) made.glyph = glyphs.front();
  } else {
    QFont plain = families_[static_cast<std::size_t>(role)].font;
    plain.setPixelSize(pixels);
    QTextLayout layout(QString::fromUcs4(reinterpret_cast<const char32_t*>(&character), 1), plain);
    layout.beginLayout();
    layout.createLine();
    layout.endLayout();
    const QList<QGlyphRun> runs = layout.glyphRuns();
    if (!runs.isEmpty() && !runs.front().glyphIndexes().isEmpty()) {
      made.font = runs.front().rawFont();
      made.glyph = runs.front().glyphIndexes().front();
    }
  }
  made.advance = advanceOf(made.font, made.glyph);
  return made;
}

}  // namespace tapedeck::inspector
