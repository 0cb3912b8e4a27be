// Writes terminal text into a document piece by piece: the cost of a piece depends on the piece alone.
#pragma once

#include <QTextDocument>
#include <string_view>

#include "app/notebook/output/text/ansi.h"

namespace tapedeck::app {

/// Appends UTF-8 with escape sequences at the document's end, and can take the end back as far as its last
/// line, as a progress bar does that repaints itself. A line break at the very end opens no line of its own
/// until something follows it.
class TerminalText {
 public:
  /// `longest_line`: longer ones are broken there, for they would be laid out as one; 0: never.
  TerminalText(QTextDocument* document, const NotebookTheme& theme, qsizetype longest_line);

  void clear();
  /// The marked place goes to the begin of the last line.
  void append(std::string_view text);
  void appendUnmarked(std::string_view text);
  /// Text that follows never overwrites what is before here.
  void setMark() { mark_ = here(); }
  void cutToMark();
  /// Bytes that were given, up to the end and up to the mark.
  std::size_t length() const { return length_; }
  std::size_t markedLength() const { return mark_.length; }

 private:
  struct Place {
    std::size_t length = 0;
    int position = 0;
    AnsiParser parser;
    bool heldBreak = false;
  };
  Place here() const;
  void breakLines(std::vector<AnsiRun>& runs) const;

  QTextDocument* document_;
  NotebookTheme theme_;
  qsizetype longestLine_;
  AnsiParser parser_;
  bool heldBreak_ = false;
  std::size_t length_ = 0;
  Place mark_;
};

/// UTF-8 to what can be shown: a zero byte would end a line for some.
QString terminalString(std::string_view text);

}  // namespace tapedeck::app
