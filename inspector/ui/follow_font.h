// Lengths that are made from a widget's font, and made anew when it changes.
#pragma once

#include <functional>

class QWidget;

namespace tapedeck::inspector {

/// Calls `measure` now and each time the font of `widget` changes: windows are scaled while they are open.
void followFont(QWidget* widget, std::function<void()> measure);

}  // namespace tapedeck::inspector
