#include "inspector/ui/canvas/canvas_textures.h"

namespace tapedeck::inspector {

ImTextureID CanvasTextures::texture(const QImage& image) {
  Slot& slot = slots_[image.cacheKey()];
  slot.used = true;
  if (!slot.texture) {
    const QImage pixels = image.convertToFormat(QImage::Format_RGBA8888);
    auto texture = std::make_unique<QOpenGLTexture>(QOpenGLTexture::Target2D);
    texture->setFormat(QOpenGLTexture::RGBA8_UNorm);
    texture->setSize(pixels.width(), pixels.height());
    texture->setMipLevels(1);
    texture->allocateStorage(QOpenGLTexture::RGBA, QOpenGLTexture::UInt8);
    texture->setData(QOpenGLTexture::RGBA, QOpenGLTexture::UInt8, pixels.constBits());
    texture->setMinMagFilters(QOpenGLTexture::Nearest, QOpenGLTexture::Nearest);
    texture->setWrapMode(QOpenGLTexture::ClampToEdge);
    slot.texture = std::move(texture);
  }
  return reinterpret_cast<ImTextureID>(static_cast<std::uintptr_t>(slot.texture->textureId()));
}

void CanvasTextures::endFrame() {
  std::erase_if(slots_, [](const auto& entry) { return !entry.second.used; });
  for (auto& [key, slot] : slots_) slot.used = false;
}

}  // namespace tapedeck::inspector
