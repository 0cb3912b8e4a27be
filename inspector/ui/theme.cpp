#include "inspector/ui/theme.h"

#include "inspector/ui/appearance.h"

namespace tapedeck::inspector {

namespace {

Tint tint(const QColor& background, const char* light, const char* dark, bool is_dark) {
  const QColor stroke(is_dark ? dark : light);
  return {mix(background, stroke, is_dark ? 0.20 : 0.11), stroke};
}

void addTints(Theme& theme) {
  const QColor& back = theme.background;
  theme.forward = tint(back, "#1f5fae", "#7db1f2", theme.dark);
  theme.backward = tint(back, "#b34700", "#f2a35e", theme.dark);
  theme.variable = tint(back, "#1b7340", "#6fcf97", theme.dark);
  theme.constant = tint(back, "#5b6570", "#a8b3bf", theme.dark);
  theme.custom = tint(back, "#7b35b8", "#c79bf5", theme.dark);
  theme.success = theme.variable.stroke;
  theme.warning = tint(back, "#8a6100", "#f2cc60", theme.dark);
  theme.error = tint(back, "#c01f2e", "#ff8a80", theme.dark);
}

}  // namespace

QColor mix(const QColor& under, const QColor& over, double amount) {
  const auto channel = [amount](int a, int b) { return static_cast<int>(a + (b - a) * amount + 0.5); };
  return QColor(channel(under.red(), over.red()), channel(under.green(), over.green()),
                channel(under.blue(), over.blue()));
}

Theme Theme::fromPalette(const QPalette& palette) {
  Theme theme;
  theme.background = palette.color(QPalette::Active, QPalette::Base);
  theme.text = palette.color(QPalette::Active, QPalette::Text);
  theme.dark = theme.background.lightness() < theme.text.lightness();
  theme.panel = mix(theme.background, theme.text, theme.dark ? 0.08 : 0.03);
  theme.border = mix(theme.background, theme.text, 0.24);
  theme.grid = mix(theme.background, theme.text, 0.09);
  theme.axis = mix(theme.background, theme.text, 0.5);
  theme.faintText = mix(theme.background, theme.text, 0.66);
  theme.accent = palette.color(QPalette::Active, QPalette::Highlight);
  theme.selection = mix(theme.background, theme.accent, theme.dark ? 0.45 : 0.28);
  addTints(theme);
  return theme;
}

Theme Theme::light() {
  return fromPalette(lightPalette());
}

Theme Theme::darkened() {
  return fromPalette(darkPalette());
}

}  // namespace tapedeck::inspector
