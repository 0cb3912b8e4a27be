#include "inspector/ui/canvas/glyph_atlas.h"

#include <QGlyphRun>
#include <QPainter>
#include <algorithm>
#include <cmath>
#include <cstring>

namespace tapedeck::inspector {

namespace {

constexpr int texture_width = 2048, first_height = 512, most_height = 8192;

/// The glyph in white, its coverage in the alpha channel; `box` is where it lies from the pen.
QImage drawGlyph(const CanvasFonts::Shape& shape, int quarter, QRect* box) {
  const QRectF outline = shape.font.boundingRect(shape.glyph);
  if (outline.isEmpty()) return {};
  *box = outline.toAlignedRect().adjusted(-1, -1, 2, 1);  // hinting and the quarters move it a little
  QImage picture(box->size(), QImage::Format_ARGB32_Premultiplied);
  picture.fill(Qt::transparent);
  QGlyphRun run;
  run.setRawFont(shape.font);
  run.setGlyphIndexes({shape.glyph});
  run.setPositions({QPointF(quarter * 0.25, 0)});
  QPainter painter(&picture);
  painter.setPen(Qt::white);
  painter.drawGlyphRun(-QPointF(box->topLeft()), run);
  painter.end();
  picture = picture.convertToFormat(QImage::Format_RGBA8888);
  for (int y = 0; y < picture.height(); ++y) {
    uchar* const line = picture.scanLine(y);
    for (int x = 0; x < picture.width(); ++x) std::memset(line + 4 * x, 255, 3);
  }
  return picture;
}

}  // namespace

GlyphAtlas::GlyphAtlas() {
  reserve(first_height);
}

/// A new texture: ImGui's own shapes first, then room for glyphs.
void GlyphAtlas::reserve(int height) {
  shapes_.Clear();
  shapes_.TexDesiredWidth = texture_width;
  shapes_.Flags |= ImFontAtlasFlags_NoPowerOfTwoHeight;
  shapes_.AddFontDefault();  // ImGui does not start a frame without one; no text is drawn in it
  const int rect = shapes_.AddCustomRectRegular(texture_width - 8, height);
  unsigned char* bytes = nullptr;
  int width = 0, whole_height = 0;
  shapes_.GetTexDataAsRGBA32(&bytes, &width, &whole_height);
  pixels_ = QImage(bytes, width, whole_height, width * 4, QImage::Format_RGBA8888).copy();
  const ImFontAtlasCustomRect* place = shapes_.GetCustomRectByIndex(rect);
  room_ = QRect(place->X, place->Y, place->Width, place->Height);
  for (int y = room_.top(); y <= room_.bottom(); ++y)
    std::memset(pixels_.scanLine(y) + 4 * room_.left(), 0, 4 * static_cast<std::size_t>(room_.width()));
  shapes_.ClearTexData();
  texture_.reset();
  glyphs_.clear();
  x_ = y_ = row_height_ = 0;
}

const GlyphAtlas::Glyph& GlyphAtlas::glyph(FontRole role, int pixels, uint character, int quarter) {
  const quint64 key = CanvasFonts::key(role, pixels, character) | (static_cast<quint64>(quarter) << 60);
  const auto [found, made] = glyphs_.try_emplace(key);
  if (!made) return found->second;
  const QImage picture = drawGlyph(fonts_.shape(role, pixels, character), quarter, &found->second.box);
  if (!picture.isNull()) place(found->second, picture);
  return found->second;
}

void GlyphAtlas::place(Glyph& glyph, const QImage& picture) {
  const int width = picture.width() + 1, height = picture.height() + 1;
  if (x_ + width > room_.width()) {
    x_ = 0;
    y_ += row_height_;
    row_height_ = 0;
  }
  if (width > room_.width() || y_ + height > room_.height()) {
    overflow_ = true;
    glyph.box = {};
    return;
  }
  const QPoint at = room_.topLeft() + QPoint(x_, y_);
  for (int y = 0; y < picture.height(); ++y)
    std::memcpy(pixels_.scanLine(at.y() + y) + 4 * at.x(), picture.constScanLine(y),
                4 * static_cast<std::size_t>(picture.width()));
  const auto u = [this](int x) { return static_cast<float>(x) / static_cast<float>(pixels_.width()); };
  const auto v = [this](int y) { return static_cast<float>(y) / static_cast<float>(pixels_.height()); };
  glyph.uv0 = {u(at.x()), v(at.y())};
  glyph.uv1 = {u(at.x() + picture.width()), v(at.y() + picture.height())};
  x_ += width;
  row_height_ = std::max(row_height_, height);
  dirty_from_ = dirty_from_ == dirty_to_ ? at.y() : std::min(dirty_from_, at.y());
  dirty_to_ = std::max(dirty_to_, at.y() + height);
}

bool GlyphAtlas::complete() {
  if (!std::exchange(overflow_, false)) {
    emptied_ = false;
    return true;
  }
  const bool too_small = emptied_;
  if (too_small && room_.height() >= most_height) return true;
  reserve(too_small ? room_.height() * 2 : room_.height());
  emptied_ = true;
  return false;
}

void GlyphAtlas::upload() {
  if (!texture_) {
    texture_ = std::make_unique<QOpenGLTexture>(QOpenGLTexture::Target2D);
    texture_->setFormat(QOpenGLTexture::RGBA8_UNorm);
    texture_->setSize(pixels_.width(), pixels_.height());
    texture_->setMipLevels(1);
    texture_->allocateStorage(QOpenGLTexture::RGBA, QOpenGLTexture::UInt8);
    texture_->setMinMagFilters(QOpenGLTexture::Linear, QOpenGLTexture::Linear);
    texture_->setWrapMode(QOpenGLTexture::ClampToEdge);
    dirty_from_ = 0;
    dirty_to_ = pixels_.height();
    shapes_.SetTexID(reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(texture_->textureId())));
  }
  if (dirty_from_ == dirty_to_) return;
  texture_->setData(0, dirty_from_, 0, pixels_.width(), dirty_to_ - dirty_from_, 1, QOpenGLTexture::RGBA,
                    QOpenGLTexture::UInt8, static_cast<const void*>(pixels_.constScanLine(dirty_from_)));
  dirty_from_ = dirty_to_ = 0;
}

}  // namespace tapedeck::inspector
