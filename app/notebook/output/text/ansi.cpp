#include "app/notebook/output/text/ansi.h"

#include <QFont>
#include <algorithm>
#include <cmath>

namespace tapedeck::app {
namespace {

constexpr int rgb_flag = 0x1000000;
constexpr qsizetype longest_sequence = 4096;
constexpr double least_contrast = 3;  ///< of letters and what is behind them

/// Colour `index` of the 256 that terminals have.
int paletteColor(int index) {
  if (index < 16) return index;
  if (index >= 232) {
    const int grey = 8 + (index - 232) * 10;
    return rgb_flag | grey << 16 | grey << 8 | grey;
  }
  const auto level = [](int step) { return step == 0 ? 0 : 55 + step * 40; };
  const int cube = index - 16;
  return rgb_flag | level(cube / 36) << 16 | level(cube / 6 % 6) << 8 | level(cube % 6);
}

QColor toColor(int code, const NotebookTheme& theme) {
  if (code >= rgb_flag) {
    // Chosen for a terminal of the other brightness it would be hard to read.
    const QColor color = QColor::fromRgb(static_cast<QRgb>(code & 0xffffff));
    const int lightness = color.lightness();
    if (theme.dark && lightness < 120) return QColor::fromHsl(color.hslHue(), color.hslSaturation(), 150);
    if (!theme.dark && lightness > 150) return QColor::fromHsl(color.hslHue(), color.hslSaturation(), 115);
    return color;
  }
  return theme.ansi[static_cast<std::size_t>(code & 15)];
}

/// Position behind the escape sequence at `start`; -1: it is not complete. `parameters`: those of a colour
/// sequence.
qsizetype skipSequence(const QString& text, qsizetype start, QStringView& parameters) {
  if (start + 1 >= text.size()) return -1;
  const QChar kind = text[start + 1];
  if (kind == '[') {
    qsizetype i = start + 2;
    while (i < text.size() && (text[i] < '@' || text[i] > '~')) {
      // A control character ends a sequence that never was one.
      if (text[i] < ' ') return i;
      ++i;
    }
    if (i >= text.size()) return -1;
    if (text[i] == 'm') parameters = QStringView(text).mid(start + 2, i - start - 2);
    return i + 1;
  }
  if (kind == ']') {
    for (qsizetype i = start + 2; i < text.size(); ++i) {
      if (text[i] == '\a') return i + 1;
      if (text[i] == QChar(0x1b)) return i + 1 < text.size() ? i + (text[i + 1] == '\\' ? 2 : 0) : -1;
    }
    return -1;
  }
  return start + 2;
}

void eraseLast(std::vector<AnsiRun>& runs) {
  if (runs.empty() || runs.back().text.endsWith('\n')) return;
  runs.back().text.chop(1);
  if (runs.back().text.isEmpty()) runs.pop_back();
}

void eraseLine(std::vector<AnsiRun>& runs) {
  while (!runs.empty()) {
    QString& text = runs.back().text;
    text.truncate(text.lastIndexOf('\n') + 1);
    if (!text.isEmpty()) return;
    runs.pop_back();
  }
}

/// From 1 to 21: WCAG 2.1, "contrast ratio".
double contrast(const QColor& a, const QColor& b) {
  const auto luminance = [](const QColor& color) {
    const auto linear = [](double channel) {
      return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) + 0.0722 * linear(color.blueF());
  };
  const auto [darker, lighter] = std::minmax({luminance(a), luminance(b)});
  return (lighter + 0.05) / (darker + 0.05);
}

}  // namespace

QTextCharFormat AnsiStyle::format(const NotebookTheme& theme) const {
  QTextCharFormat format;
  QColor front = foreground < 0 ? theme.text : toColor(foreground, theme);
  QColor back = background < 0 ? QColor() : toColor(background, theme);
  if (inverse) {
    const QColor page = back.isValid() ? back : theme.background;
    back = front;
    front = page;
  } else if (back.isValid() && (foreground < 0 || contrast(front, back) < least_contrast)) {
    front = contrast(Qt::black, back) > contrast(Qt::white, back) ? QColor(Qt::black) : QColor(Qt::white);
  }
  if (faint) front.setAlpha(160);
  format.setForeground(front);
  if (back.isValid()) format.setBackground(back);
  if (bold) format.setFontWeight(QFont::Bold);
  format.setFontItalic(italic);
  format.setFontUnderline(underline);
  format.setFontStrikeOut(struck);
  return format;
}

std::vector<AnsiRun> AnsiParser::parse(const QString& added) {
  const QString text = rest_ + added;
  rest_.clear();
  std::vector<AnsiRun> runs;
  const auto add = [&](QStringView part) {
    if (part.isEmpty()) return;
    if (runs.empty() || !(runs.back().style == style_)) runs.push_back({{}, style_});
    runs.back().text += part;
  };
  qsizetype done = 0;
  for (qsizetype i = 0; i < text.size();) {
    const QChar c = text[i];
    if (c >= ' ' || c == '\n' || c == '\t') {
      ++i;
      continue;
    }
    add(QStringView(text).mid(done, i - done));
    if (c == QChar(0x1b)) {
      QStringView parameters;
      const qsizetype end = skipSequence(text, i, parameters);
      if (end < 0) {
        if (text.size() - i < longest_sequence) rest_ = text.mid(i);
        return runs;
      }
      if (!parameters.isNull()) apply(parameters);
      i = end;
    } else {
      ++i;
      if (c == '\b') eraseLast(runs);
      if (c == '\r' && i < text.size() && text[i] != '\n' && text[i] != '\r') eraseLine(runs);
    }
    done = i;
  }
  add(QStringView(text).mid(done));
  return runs;
}

void AnsiParser::apply(QStringView parameters) {
  QList<int> codes;
  for (const QStringView part : parameters.split(u';')) codes += part.toInt();
  for (qsizetype i = 0; i < codes.size(); ++i) {
    const int code = codes[i];
    if (code == 0) style_ = AnsiStyle();
    if (code == 1) style_.bold = true;
    if (code == 2) style_.faint = true;
    if (code == 3) style_.italic = true;
    if (code == 4) style_.underline = true;
    if (code == 7) style_.inverse = true;
    if (code == 9) style_.struck = true;
    if (code == 22) style_.bold = style_.faint = false;
    if (code == 23) style_.italic = false;
    if (code == 24) style_.underline = false;
    if (code == 27) style_.inverse = false;
    if (code == 29) style_.struck = false;
    if (code >= 30 && code <= 37) style_.foreground = code - 30;
    if (code == 39) style_.foreground = -1;
    if (code >= 40 && code <= 47) style_.background = code - 40;
    if (code == 49) style_.background = -1;
    if (code >= 90 && code <= 97) style_.foreground = code - 90 + 8;
    if (code >= 100 && code <= 107) style_.background = code - 100 + 8;
    if (code != 38 && code != 48) continue;
    int& target = code == 38 ? style_.foreground : style_.background;
    if (i + 2 < codes.size() && codes[i + 1] == 5) {
      target = paletteColor(std::clamp(codes[i + 2], 0, 255));
      i += 2;
    } else if (i + 4 < codes.size() && codes[i + 1] == 2) {
      target = rgb_flag | (codes[i + 2] & 255) << 16 | (codes[i + 3] & 255) << 8 | (codes[i + 4] & 255);
      i += 4;
    }
  }
}

}  // namespace tapedeck::app
