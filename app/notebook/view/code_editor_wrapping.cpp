// Where the editor breaks lines that are wider than it is, and how high that makes it.
#include <QApplication>
#include <QScrollBar>
#include <QStyle>
#include <map>

#include "app/notebook/view/code_editor.h"
#include "inspector/ui/window_scale.h"

namespace tapedeck::app {
namespace {

// Tables of numbers and the like are read by scrolling, and a long text is not broken anew at each size.
constexpr qsizetype widest_wrapped = 400;  ///< letters of a line
constexpr qsizetype most_wrapped = 2000;   ///< lines
constexpr qsizetype deeper_rows = 8;       ///< letters: two levels of indentation
constexpr qsizetype tab_columns = 4;

/// The height of all lines is that of the highest of the styles' fonts, some of which may come from another
/// family: an editor tells it, for each font once.
int measuredLineHeight(CodeEditor::Language language, const NotebookTheme& theme) {
  static std::map<std::pair<CodeEditor::Language, QString>, int> known;
  const auto [entry, fresh] = known.try_emplace({language, theme.codeFont.key()}, 0);
  if (fresh) entry->second = CodeEditor(language, theme, nullptr).lineHeight();
  return entry->second;
}

/// Rows of a line that breaks behind spaces, and inside of a word that is longer than a row. What follows the
/// first row begins deeper by two levels, where that leaves half of the row.
qsizetype rowsOf(QStringView line, qsizetype columns) {
  qsizetype indent = 0;
  while (indent < line.size() && line[indent] == u' ') ++indent;
  const qsizetype deeper = indent + deeper_rows;
  const qsizetype later = deeper > columns / 2 ? columns : columns - deeper;
  qsizetype rows = 1, left = columns;
  for (qsizetype at = 0; at < line.size();) {
    qsizetype end = at;
    while (end < line.size() && line[end] != u' ') ++end;
    while (end < line.size() && line[end] == u' ') ++end;
    qsizetype word = end - at;
    if (word > left && left < (rows == 1 ? columns : later)) {
      ++rows;
      left = later;
    }
    for (; word > left; left = later) {
      word -= left;
      ++rows;
    }
    left -= word;
    at = end;
  }
  return rows;
}

/// The same of a line that breaks behind any letter.
qsizetype rowsByLetters(QStringView line, qsizetype columns) {
  qsizetype indent = 0;
  while (indent < line.size() && line[indent] == u' ') ++indent;
  const qsizetype deeper = indent + deeper_rows;
  const qsizetype later = deeper > columns / 2 ? columns : columns - deeper;
  return line.size() <= columns ? 1 : 1 + (line.size() - columns + later - 1) / later;
}

/// Of some line the first word does not fit behind the indentation. Where lines break behind spaces that
/// would leave its first row empty.
bool emptiesARow(QStringView source, qsizetype columns) {
  for (const QStringView line : source.tokenize(u'\n')) {
    qsizetype at = 0, indent = 0;
    for (; at < line.size() && (line[at] == u' ' || line[at] == u'\t'); ++at)
      indent += line[at] == u'\t' ? tab_columns : 1;
    if (indent == 0) continue;
    qsizetype end = at;
    while (end < line.size() && line[end] != u' ' && line[end] != u'\t') ++end;
    if (end > at && indent + end - at >= columns) return true;
  }
  return false;
}

}  // namespace

int CodeEditor::symbolMarginWidth() {
  return inspector::scaled(16);
}

bool CodeEditor::wrapsWell(const QString& source) {
  qsizetype lines = 0;
  for (const QStringView line : QStringView(source).tokenize(u'\n'))
    if (++lines > most_wrapped || line.size() > widest_wrapped) return false;
  return true;
}

void CodeEditor::applyWrapping() {
  const bool wrapped = !plain_ && (language_ != Language::python || (theme_.wrapsCode && !scrollsSideways_));
  const auto ofCode = [this] { return emptiesARow(text(), columns()) ? WrapCharacter : WrapWhitespace; };
  const WrapMode mode = !wrapped ? WrapNone : language_ == Language::python ? ofCode() : WrapWord;
  if (mode != wrapMode()) setWrapMode(mode);
}

/// Letters that a row has room for.
qsizetype CodeEditor::columns() const {
  int room = viewport()->width();
  for (int margin = 0; margin < margins(); ++margin) room -= marginWidth(margin);
  room -= static_cast<int>(SendScintilla(SCI_GETMARGINLEFT) + SendScintilla(SCI_GETMARGINRIGHT));
  return std::max(8, room / std::max(1, QFontMetrics(theme_.codeFont).horizontalAdvance('0')));
}

/// A lexer brings its styles one after the other: lines that were measured between two of them would keep
/// widths of letters that are not drawn.
void CodeEditor::remeasure() {
  const WrapMode mode = wrapMode();
  if (mode == WrapNone) return;
  setWrapMode(WrapNone);
  SendScintilla(SCI_COLOURISE, 0UL, -1L);
  SendScintilla(SCI_SETPOSITIONCACHE, 0UL);  // forgets all widths
  SendScintilla(SCI_SETPOSITIONCACHE, 1024UL);
  setWrapMode(mode);
  checkHeight();
}

int CodeEditor::estimateHeight(const QString& source, int room, Language language,
                               const NotebookTheme& theme) {
  const bool wrapped = language != Language::python || (theme.wrapsCode && wrapsWell(source));
  const QFontMetrics metrics(theme.codeFont);
  const int margins = metrics.horizontalAdvance("000") + 8 + symbolMarginWidth();
  const qsizetype columns = std::max(8, (room - margins) / std::max(1, metrics.horizontalAdvance('0')));
  const bool byLetters = wrapped && language == Language::python && emptiesARow(source, columns);
  qsizetype rows = 0;
  qsizetype longest = 0;
  for (qsizetype start = 0; start <= source.size();) {
    qsizetype end = source.indexOf('\n', start);
    if (end < 0) end = source.size();
    longest = std::max(longest, end - start);
    const QStringView line = QStringView(source).mid(start, end - start);
    rows += !wrapped ? 1 : byLetters ? rowsByLetters(line, columns) : rowsOf(line, columns);
    start = end + 1;
  }
  const bool bar = !wrapped && longest > columns;
  return static_cast<int>(rows) * measuredLineHeight(language, theme) +
         (bar ? QApplication::style()->pixelMetric(QStyle::PM_ScrollBarExtent) : 0);
}

int CodeEditor::contentHeight() const {
  long rows = lines();
  if (wrapMode() != WrapNone) {
    const long last = lines() - 1;
    rows = SendScintilla(SCI_VISIBLEFROMDOCLINE, static_cast<unsigned long>(last)) +
           SendScintilla(SCI_WRAPCOUNT, static_cast<unsigned long>(last));
  }
  const bool bar = horizontalScrollBar()->maximum() > 0 && wrapMode() == WrapNone;
  return static_cast<int>(rows) * lineHeight() + (bar ? horizontalScrollBar()->sizeHint().height() : 0);
}

}  // namespace tapedeck::app
