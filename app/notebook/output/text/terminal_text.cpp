#include "app/notebook/output/text/terminal_text.h"

#include <QTextCursor>

#include "app/notebook/document/stream_text.h"

namespace tapedeck::app {

QString terminalString(std::string_view text) {
  return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())).replace(QChar(0), QChar(0xfffd));
}

TerminalText::TerminalText(QTextDocument* document, const NotebookTheme& theme, qsizetype longest_line)
    : document_(document), theme_(theme), longestLine_(longest_line) {}

void TerminalText::clear() {
  document_->clear();
  parser_ = AnsiParser();
  heldBreak_ = false;
  length_ = 0;
  mark_ = Place();
}

TerminalText::Place TerminalText::here() const {
  return {length_, document_->characterCount() - 1, parser_, heldBreak_};
}

void TerminalText::append(std::string_view text) {
  const std::size_t line = text.rfind('\n');
  if (line != std::string_view::npos) {
    appendUnmarked(text.substr(0, line + 1));
    setMark();
    text.remove_prefix(line + 1);
  }
  if (!text.empty()) appendUnmarked(text);
}

void TerminalText::appendUnmarked(std::string_view piece) {
  length_ += piece.size();
  std::string joined;
  appendStreamText(joined, std::string(piece));
  QString text = (heldBreak_ ? "\n" : "") + terminalString(joined);
  heldBreak_ = text.endsWith('\n');
  if (heldBreak_) text.chop(1);
  std::vector<AnsiRun> runs = parser_.parse(text);
  if (longestLine_ > 0) breakLines(runs);
  QTextCursor cursor(document_);
  cursor.movePosition(QTextCursor::End);
  cursor.beginEditBlock();
  for (const AnsiRun& run : runs) {
    QTextCharFormat format = run.style.format(theme_);
    format.setFontFamilies({theme_.codeFont.family()});
    cursor.insertText(run.text, format);
  }
  cursor.endEditBlock();
}

void TerminalText::breakLines(std::vector<AnsiRun>& runs) const {
  for (AnsiRun& run : runs) {
    qsizetype start = 0;
    while (run.text.size() - start > longestLine_) {
      const qsizetype line = run.text.lastIndexOf('\n', start + longestLine_);
      if (line < start) run.text.insert(start + longestLine_, '\n');
      start = line < start ? start + longestLine_ + 1 : line + 1;
    }
  }
}

void TerminalText::cutToMark() {
  QTextCursor cursor(document_);
  cursor.setPosition(mark_.position);
  cursor.movePosition(QTextCursor::End, QTextCursor::KeepAnchor);
  cursor.removeSelectedText();
  parser_ = mark_.parser;
  heldBreak_ = mark_.heldBreak;
  length_ = mark_.length;
}

}  // namespace tapedeck::app
