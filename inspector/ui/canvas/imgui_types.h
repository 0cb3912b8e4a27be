// Qt's points and colours as ImGui's.
#pragma once

#include <imgui.h>

#include <QColor>
#include <QPointF>

namespace tapedeck::inspector {

inline ImVec2 toImGui(QPointF point) {
  return {static_cast<float>(point.x()), static_cast<float>(point.y())};
}
inline ImU32 toImGui(const QColor& color, double opacity = 1) {
  return IM_COL32(color.red(), color.green(), color.blue(), static_cast<int>(color.alpha() * opacity + 0.5));
}

}  // namespace tapedeck::inspector
