// Terminal text: escape sequences to styled runs.
#pragma once

#include <QString>
#include <QTextCharFormat>
#include <vector>

#include "app/notebook/output/notebook_theme.h"

namespace tapedeck::app {

/// What the escape sequences so far have set. Colours: -1 the default; 0 to 15 the theme's; else 0x1000000 +
/// RGB.
struct AnsiStyle {
  int foreground = -1;
  int background = -1;
  bool bold = false, faint = false, italic = false, underline = false, inverse = false, struck = false;
  bool operator==(const AnsiStyle&) const = default;

  QTextCharFormat format(const NotebookTheme& theme) const;
};

struct AnsiRun {
  QString text;
  AnsiStyle style;
};

/// Keeps its style, and the beginning of a sequence that was cut, from one call to the next. Sequences other
/// than colours and emphasis are dropped; a backspace takes back a character, a carriage return the line.
class AnsiParser {
 public:
  std::vector<AnsiRun> parse(const QString& text);

 private:
  void apply(QStringView parameters);
  AnsiStyle style_;
  QString rest_;
};

}  // namespace tapedeck::app
