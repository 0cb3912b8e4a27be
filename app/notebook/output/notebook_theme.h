// What the notebook adds to the program's colours: those of source, outputs and marked lines, and its fonts.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <array>

#include "inspector/ui/theme.h"

namespace tapedeck::app {

struct NotebookTheme : inspector::Theme {
  QColor hover;
  QColor editor;   ///< background of source
  QColor editing;  ///< frame of the current cell in edit mode
  QColor failure, busy;
  QColor errorBackground, warningBackground;
  QColor pausedLine, cursorLine, paused, cursor;
  QColor codeBackground, link;
  QColor keyword, builtin, string, number, comment, definition, decorator, operators;
  std::array<QColor, 16> ansi;  ///< black, red, green, yellow, blue, magenta, cyan, white, then bright

  QFont textFont, codeFont;
  double icons = 1;       ///< how much larger they are than the window's scale has them: in Present
  bool wrapsCode = true;  ///< lines of code that are wider than their cell go on below

  /// `zoom`: points added to the fonts.
  static NotebookTheme of(const QPalette& palette, int zoom);
};

}  // namespace tapedeck::app
