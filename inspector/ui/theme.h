// Light and dark, for the whole program.
#pragma once

#include <QPalette>

namespace tapedeck::app {

enum class Theme { system, light, dark };

/// Sets style and palette of the application. `system`: dark where the desktop's own palette is dark.
void applyTheme(Theme theme);
Theme savedTheme();
void saveTheme(Theme theme);

QPalette lightPalette();
QPalette darkPalette();

}  // namespace tapedeck::app
