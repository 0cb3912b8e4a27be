#include "inspector/ui/appearance.h"

#include <QApplication>
#include <QSettings>
#include <QStyle>

#include "inspector/ui/flat_style.h"

namespace tapedeck::inspector {
namespace {

QPalette makePalette(QColor window, QColor base, QColor button, QColor text, QColor faint, QColor accent) {
  QPalette palette;
  palette.setColor(QPalette::Window, window);
  palette.setColor(QPalette::WindowText, text);
  palette.setColor(QPalette::Base, base);
  palette.setColor(QPalette::AlternateBase, window);
  palette.setColor(QPalette::Text, text);
  palette.setColor(QPalette::Button, button);
  palette.setColor(QPalette::ButtonText, text);
  palette.setColor(QPalette::BrightText, Qt::white);
  palette.setColor(QPalette::ToolTipBase, base);
  palette.setColor(QPalette::ToolTipText, text);
  palette.setColor(QPalette::PlaceholderText, faint);
  palette.setColor(QPalette::Highlight, accent);
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, accent);
  palette.setColor(QPalette::LinkVisited, accent);
  palette.setColor(QPalette::Light, button.lighter(115));
  palette.setColor(QPalette::Midlight, button.lighter(107));
  palette.setColor(QPalette::Mid, button.darker(125));
  palette.setColor(QPalette::Dark, button.darker(150));
  palette.setColor(QPalette::Shadow, Qt::black);
  for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
    palette.setColor(QPalette::Disabled, role, faint);
  palette.setColor(QPalette::Disabled, QPalette::Highlight, button.darker(115));
  palette.setColor(QPalette::Disabled, QPalette::HighlightedText, text);  // white would vanish on it
  return palette;
}

bool desktopIsDark() {
  static const bool dark = QGuiApplication::palette().color(QPalette::Window).lightness() < 128;
  return dark;
}

}  // namespace

QPalette lightPalette() {
  return makePalette(QColor(0xf3f4f6), Qt::white, QColor(0xf0f1f3), QColor(0x1d2329), QColor(0x6d7782),
                     QColor(0x1f6fb2));
}

QPalette darkPalette() {
  return makePalette(QColor(0x24272c), QColor(0x1b1e22), QColor(0x30343a), QColor(0xe4e7ea), QColor(0x8e97a1),
                     QColor(0x3d8fd6));
}

void applyAppearance(Appearance appearance) {
  const bool dark = appearance == Appearance::dark || (appearance == Appearance::system && desktopIsDark());
  if (!qobject_cast<FlatStyle*>(QApplication::style())) QApplication::setStyle(new FlatStyle);
  QApplication::setPalette(dark ? darkPalette() : lightPalette());
}

Appearance savedAppearance() {
  const QString name = QSettings().value("theme", "system").toString();
  return name == "light" ? Appearance::light : name == "dark" ? Appearance::dark : Appearance::system;
}

void saveAppearance(Appearance appearance) {
  QSettings().setValue("theme", appearance == Appearance::light  ? "light"
                                : appearance == Appearance::dark ? "dark"
                                                                 : "system");
}

}  // namespace tapedeck::inspector
