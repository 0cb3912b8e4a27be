#include "inspector/ui/reserved_keys.h"

namespace tapedeck::inspector {

// From the default shortcuts that GNOME, KDE Plasma, Xfce, Cinnamon and the X server's keyboard rules come
// with.
QString reservedFor(const QKeySequence& keys) {
  if (keys.isEmpty()) return {};
  const Qt::Key key = keys[0].key();
  const Qt::KeyboardModifiers modifiers = keys[0].keyboardModifiers() & ~Qt::KeypadModifier;
  const bool function = key >= Qt::Key_F1 && key <= Qt::Key_F12;
  const bool arrow = key == Qt::Key_Left || key == Qt::Key_Right || key == Qt::Key_Up || key == Qt::Key_Down;
  if (modifiers.testFlag(Qt::MetaModifier))
    return QStringLiteral("desktops keep the Super key for themselves");
  if (function && modifiers == Qt::ControlModifier)
    return QStringLiteral("KDE Plasma and Xfce show windows or go to desktops by Ctrl and a function key");
  if (function && modifiers == Qt::AltModifier)
    return QStringLiteral(
        "GNOME, Xfce and Cinnamon close, move and resize windows by Alt and a function key");
  if (key == Qt::Key_F12 && modifiers == (Qt::AltModifier | Qt::ShiftModifier))
    return QStringLiteral("KDE Plasma switches its effects off and on by Alt+Shift+F12");
  if ((key == Qt::Key_Tab || key == Qt::Key_Backtab || key == Qt::Key_Space) &&
      modifiers.testFlag(Qt::AltModifier))
    return QStringLiteral("desktops switch windows and open menus by Alt with Tab and Space");
  const Qt::KeyboardModifiers control_alt = Qt::ControlModifier | Qt::AltModifier;
  if ((modifiers & control_alt) != control_alt) return {};
  if (function) return QStringLiteral("the system goes to a text console by Ctrl+Alt and a function key");
  if (arrow) return QStringLiteral("desktops go from workspace to workspace by Ctrl+Alt and the arrows");
  switch (key) {
    case Qt::Key_T:
      return QStringLiteral("desktops open a terminal by Ctrl+Alt+T");
    case Qt::Key_D:
      return QStringLiteral("desktops show themselves by Ctrl+Alt+D");
    case Qt::Key_L:
      return QStringLiteral("desktops lock the screen by Ctrl+Alt+L");
    case Qt::Key_Delete:
    case Qt::Key_Backspace:
    case Qt::Key_Escape:
    case Qt::Key_Tab:
    case Qt::Key_Backtab:
      return QStringLiteral("desktops end sessions, kill windows and switch panels by it");
    default:
      return {};
  }
}

}  // namespace tapedeck::inspector
