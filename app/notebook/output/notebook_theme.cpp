#include "app/notebook/output/notebook_theme.h"

#include <QApplication>
#include <QFontDatabase>

namespace tapedeck::app {

using inspector::mix;

namespace {

void setDark(NotebookTheme& theme) {
  theme.paused = QColor("#f0c04a");
  theme.link = QColor("#6cb2ff");
  theme.keyword = QColor("#c586c0");
  theme.builtin = QColor("#4ec9b0");
  theme.string = QColor("#ce9178");
  theme.number = QColor("#b5cea8");
  theme.comment = QColor("#7fa86a");
  theme.definition = QColor("#dcdcaa");
  theme.decorator = QColor("#d7ba7d");
  theme.ansi = {QColor("#8b949e"), QColor("#ff7b72"), QColor("#57c785"), QColor("#e3b341"),
                QColor("#6cb2ff"), QColor("#d2a8ff"), QColor("#56d4dd"), QColor("#d0d7de"),
                QColor("#a5adb6"), QColor("#ffa198"), QColor("#7ee0a3"), QColor("#f2cc60"),
                QColor("#9ccbff"), QColor("#e2c5ff"), QColor("#8be6ec"), QColor("#ffffff")};
}

void setLight(NotebookTheme& theme) {
  theme.paused = QColor("#b07800");
  theme.link = QColor("#0b5fc4");
  theme.keyword = QColor("#8a1bb0");
  theme.builtin = QColor("#00707a");
  theme.string = QColor("#a3261b");
  theme.number = QColor("#0b6b3a");
  theme.comment = QColor("#5f6f5f");
  theme.definition = QColor("#0b4fb3");
  theme.decorator = QColor("#8a5a00");
  theme.ansi = {QColor("#3b3b3b"), QColor("#c62828"), QColor("#1a7f37"), QColor("#8a6100"),
                QColor("#0b5fc4"), QColor("#8a1bb0"), QColor("#00707a"), QColor("#5b6269"),
                QColor("#6a7178"), QColor("#d8322a"), QColor("#138a3d"), QColor("#9a6c00"),
                QColor("#1a73d9"), QColor("#a333c8"), QColor("#008691"), QColor("#24292f")};
}

}  // namespace

NotebookTheme NotebookTheme::of(const QPalette& palette, int zoom) {
  NotebookTheme theme;
  static_cast<inspector::Theme&>(theme) = inspector::Theme::fromPalette(palette);
  theme.editing = theme.success;
  theme.failure = theme.error.stroke;
  theme.busy = theme.warning.stroke;
  theme.cursor = theme.accent;
  theme.dark ? setDark(theme) : setLight(theme);
  theme.hover = mix(theme.background, theme.text, 0.12);
  theme.editor = mix(theme.background, theme.text, theme.dark ? 0.07 : 0.035);
  theme.codeBackground = mix(theme.background, theme.text, theme.dark ? 0.12 : 0.06);
  theme.operators = theme.text;
  theme.errorBackground = mix(theme.background, theme.failure, 0.1);
  theme.warningBackground = mix(theme.background, theme.busy, theme.dark ? 0.12 : 0.1);
  theme.pausedLine = mix(theme.editor, QColor("#ffc800"), theme.dark ? 0.3 : 0.38);
  theme.cursorLine = mix(theme.editor, theme.cursor, theme.dark ? 0.26 : 0.16);

  theme.textFont = QApplication::font();
  theme.codeFont = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  theme.codeFont.setStyleHint(QFont::Monospace);
  const int points = theme.textFont.pointSize() > 0 ? theme.textFont.pointSize() : 10;
  theme.textFont.setPointSize(std::max(5, points + zoom));
  theme.codeFont.setPointSize(std::max(5, points + zoom));
  return theme;
}

}  // namespace tapedeck::app
