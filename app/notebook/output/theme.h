// Colours and fonts of the notebook, made from the application's palette.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <array>

namespace tapedeck::app {

struct NotebookTheme {
  bool dark = false;
  QColor page, text, muted, border, hover;
  QColor editor;           ///< background of source
  QColor accent, editing;  ///< frame of the current cell, in command and in edit mode
  QColor success, failure, busy;
  QColor errorBackground, warningBackground;
  QColor pausedLine, cursorLine, paused, cursor;
  QColor codeBackground, link;
  QColor keyword, builtin, string, number, comment, definition, decorator, operators;
  std::array<QColor, 16> ansi;  ///< black, red, green, yellow, blue, magenta, cyan, white, then bright

  QFont textFont, codeFont;

  /// `zoom`: points added to the fonts.
  static NotebookTheme of(const QPalette& palette, int zoom);
};

}  // namespace tapedeck::app
