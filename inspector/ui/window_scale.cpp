#include "inspector/ui/window_scale.h"

#include <QApplication>
#include <QSettings>
#include <algorithm>
#include <array>
#include <cmath>

#include "inspector/ui/flat_style.h"

namespace tapedeck::inspector {
namespace {

constexpr std::array scales = {50, 67, 75, 80, 90, 100, 110, 125, 150, 175, 200, 250, 300};
constexpr int usual_scale = 100;
constexpr char setting[] = "scale";

int current_scale = usual_scale;

void apply(int percent) {
  usualFont();  // before the first change
  percent = std::clamp(percent, scales.front(), scales.back());
  if (percent == current_scale) return;
  current_scale = percent;
  QFont font = usualFont();
  if (font.pointSizeF() > 0)
    font.setPointSizeF(font.pointSizeF() * percent / usual_scale);
  else
    font.setPixelSize(std::max(1, font.pixelSize() * percent / usual_scale));
  QApplication::setFont(font);
  QApplication::setFont(font, "QDockWidgetTitle");  // desktops give titles a font of their own
  // A style is asked for its metrics once: a new one is asked again.
  if (qobject_cast<FlatStyle*>(QApplication::style())) QApplication::setStyle(new FlatStyle);
}

}  // namespace

const QFont& usualFont() {
  static const QFont font = QApplication::font();
  return font;
}

int windowScale() {
  return current_scale;
}

void setWindowScale(int percent) {
  apply(percent);
  QSettings().setValue(setting, current_scale);
}

void applySavedScale() {
  bool number = false;
  const int saved = QSettings().value(setting, usual_scale).toInt(&number);
  apply(number ? saved : usual_scale);
}

int nextScale(int percent) {
  const auto* const found = std::upper_bound(scales.begin(), scales.end(), percent);
  return found == scales.end() ? scales.back() : *found;
}

int previousScale(int percent) {
  const auto* const found = std::lower_bound(scales.begin(), scales.end(), percent);
  return found == scales.begin() ? scales.front() : *(found - 1);
}

int scaled(int pixels) {
  return static_cast<int>(std::lround(pixels * (static_cast<double>(current_scale) / usual_scale)));
}

}  // namespace tapedeck::inspector
