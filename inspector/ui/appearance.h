// Light and dark, for the whole program.
#pragma once

#include <QPalette>

namespace tapedeck::inspector {

enum class Appearance { system, light, dark };

/// Sets style and palette of the application. `system`: dark where the desktop's own palette is dark.
void applyAppearance(Appearance appearance);
Appearance savedAppearance();
void saveAppearance(Appearance appearance);

QPalette lightPalette();
QPalette darkPalette();

}  // namespace tapedeck::inspector
