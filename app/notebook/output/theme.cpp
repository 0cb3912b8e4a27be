#include "app/notebook/output/theme.h"

#include <QApplication>
#include <QFontDatabase>

namespace tapedeck::app {
namespace {

QColor mix(const QColor& a, const QColor& b, double share) {
  const auto channel = [share](int x, int y) { return static_cast<int>(x + (y - x) * share); };
  return QColor(channel(a.red(), b.red()), channel(a.green(), b.green()), channel(a.blue(), b.blue()));
}

void setDark(NotebookTheme& theme) {
  theme.accent = QColor("#4c9df3");
  theme.editing = QColor("#57c785");
  theme.success = QColor("#57c785");
  theme.failure = QColor("#ff7b72");
  theme.busy = QColor("#e3b341");
  theme.paused = QColor("#f0c04a");
  theme.cursor = QColor("#6cb2ff");
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
  theme.accent = QColor("#1a73d9");
  theme.editing = QColor("#1a8a4a");
  theme.success = QColor("#1a7f37");
  theme.failure = QColor("#c62828");
  theme.busy = QColor("#9a6700");
  theme.paused = QColor("#b07800");
  theme.cursor = QColor("#1a73d9");
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
  theme.page = palette.color(QPalette::Base);
  theme.text = palette.color(QPalette::Text);
  theme.dark = theme.page.lightness() < theme.text.lightness();
  theme.dark ? setDark(theme) : setLight(theme);
  theme.muted = mix(theme.text, theme.page, 0.38);
  theme.border = mix(theme.page, theme.text, theme.dark ? 0.22 : 0.17);
  theme.hover = mix(theme.page, theme.text, 0.12);
  theme.editor = mix(theme.page, theme.text, theme.dark ? 0.07 : 0.035);
  theme.codeBackground = mix(theme.page, theme.text, theme.dark ? 0.12 : 0.06);
  theme.operators = theme.text;
  theme.errorBackground = mix(theme.page, theme.failure, 0.1);
  theme.warningBackground = mix(theme.page, theme.busy, theme.dark ? 0.12 : 0.1);
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
