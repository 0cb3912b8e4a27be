// Pictures of a canvas on the graphics card.
#pragma once

#include <imgui.h>

#include <QImage>
#include <QOpenGLTexture>
#include <memory>
#include <unordered_map>

namespace tapedeck::inspector {

/// Textures by QImage::cacheKey: an image that is drawn frame after frame is sent once; one that a frame does
/// not draw is dropped after it. All functions need the canvas' context to be current.
class CanvasTextures {
 public:
  ImTextureID texture(const QImage& image);
  void endFrame();
  void clear() { slots_.clear(); }

 private:
  struct Slot {
    std::unique_ptr<QOpenGLTexture> texture;
    bool used = true;
  };
  std::unordered_map<qint64, Slot> slots_;
};

}  // namespace tapedeck::inspector
