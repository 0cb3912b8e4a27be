// Qt's input events as ImGui wants them.
#pragma once

#include <imgui.h>

#include <QCursor>
#include <QEvent>

namespace tapedeck::inspector {

/// Key table and clipboard of a new context.
void prepareInput(ImGuiIO& io);
/// Tells ImGui about the event; true where it was one of input, after which a frame is due.
bool feedEvent(ImGuiIO& io, const QEvent* event);
Qt::CursorShape cursorShape(ImGuiMouseCursor cursor);

}  // namespace tapedeck::inspector
