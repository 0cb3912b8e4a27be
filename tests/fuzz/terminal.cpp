// What programs print: escape sequences, carriage returns and backspaces, in pieces.
#include <QTextDocument>

#include "app/notebook/document/stream_text.h"
#include "app/notebook/output/text/terminal_text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/window.h"

using namespace tapedeck::app;

void fuzz::parse(Bytes bytes) {
  const std::string text(text_of(bytes));
  for (const AnsiRun& run : AnsiParser().parse(terminalString(text))) run.style.format(theme());
  std::string stream;
  QTextDocument document;
  TerminalText terminal(&document, theme(), 80);
  for (std::size_t at = 0, length = 1; at < text.size(); at += length, length = length % 7 + 1) {
    const std::string piece = text.substr(at, length);
    const std::string before = stream;
    const std::size_t kept = appendStreamText(stream, piece);
    expect(kept <= before.size() && kept <= stream.size() && stream.compare(0, kept, before, 0, kept) == 0,
           "what a stream is said to keep, it keeps");
    terminal.append(piece);
    if (length == 5) terminal.cutToMark();
  }
}
