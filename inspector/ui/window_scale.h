// How large text and icons are in all windows.
#pragma once

#include <QFont>

namespace tapedeck::inspector {

/// The program's font as the desktop has it, before scaling: what the sizes on canvases are made for.
const QFont& usualFont();

/// In percent of the usual size, from 50 to 300.
int windowScale();
/// Sets the application's font and the style's metrics, in all windows at once, and keeps the scale in the
/// settings. A percentage beyond the bounds is the nearest of them.
void setWindowScale(int percent);
/// Sets what the settings have; where they have none, or nonsense, the usual size.
void applySavedScale();

/// The next larger and the next smaller scale of those that browsers offer; at the ends the same.
int nextScale(int percent);
int previousScale(int percent);

/// A length in pixels of the usual size, scaled.
int scaled(int pixels);

}  // namespace tapedeck::inspector
