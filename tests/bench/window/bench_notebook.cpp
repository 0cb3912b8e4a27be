// How long the notebook keeps the window busy, one JSON line per case: 10^5 and 10^6 printed lines in one
// cell and ways through them, a notebook of 1,000 cells and 10 MB opened and walked to its end, a code line
// of 5 MB. Run it on a display (xvfb-run).
#include <QElapsedTimer>
#include <QScrollBar>
#include <cstdio>

#include "app/notebook/output/text/long_text.h"
#include "app/notebook/output/text/text_output.h"
#include "tests/notebook/notebook_window.h"

using namespace tapedeck::app;
using nlohmann::json;

namespace {

/// Time that the UI thread was at work, and the longest piece of it.
struct Busy {
  double total = 0, longest = 0;
  template <class Work>
  void measure(Work&& work) {
    QElapsedTimer clock;
    clock.start();
    work();
    const double ms = static_cast<double>(clock.nsecsElapsed()) / 1e6;
    total += ms;
    longest = std::max(longest, ms);
  }
  void report(const char* name) const {
    std::printf("{\"case\": \"%s\", \"total_ms\": %.1f, \"longest_ms\": %.1f}\n", name, total, longest);
    std::fflush(stdout);
  }
};

void settle(Busy& busy) {
  for (int i = 0; i < 20; ++i) {
    QThread::msleep(5);
    busy.measure([] { QCoreApplication::processEvents(); });
  }
}

void log(int lines) {
  Window window({codeCell("a", "for i in range(100_000): print(i, 'some words of a log line')")});
  Busy busy;
  constexpr int at_once = 50;  // as print's pieces come from a session process
  for (int i = 0; i < lines; i += at_once) {
    std::string piece;
    for (int line = i; line < i + at_once; ++line)
      piece += std::to_string(line) + " some words of a log line\n";
    busy.measure([&] { window.document.appendOutput("a", stream(piece)); });
    // About 10,000 lines a second.
    if (i % 200 == 0) QThread::msleep(20);
    busy.measure([] { QCoreApplication::processEvents(); });
  }
  settle(busy);
  busy.report(lines == 100'000 ? "log_of_100000_lines" : "log_of_10000_lines");
}

/// A million lines that come in the pieces of a session's deliveries, and what a user does in them.
void millionLines() {
  Window window({codeCell("a", "for i in range(1_000_000): print(i, 'some words of a log line')")});
  Busy busy;
  std::string piece;
  for (int i = 0; i < 1'000'000; ++i) {
    piece += std::to_string(i) + " some words of a log line\n";
    if (piece.size() < 1'000'000 && i != 999'999) continue;
    busy.measure([&] { window.document.appendOutput("a", stream(std::exchange(piece, {}))); });
    busy.measure([] { QCoreApplication::processEvents(); });
  }
  settle(busy);
  busy.report("log_of_1000000_lines");
  LongText* text = window.output<TextOutput>()->scrolling();
  Busy scroll;
  QScrollBar* bar = text->verticalScrollBar();
  for (int i = 0; i < 200; ++i) {
    scroll.measure([&] {
      bar->setValue(static_cast<int>(static_cast<qint64>(bar->maximum()) * (i * 37 % 200) / 200));
      text->viewport()->repaint();
    });
  }
  scroll.report("jump_in_1000000_lines_200_times");
  Busy find;
  bool found = false;
  QObject::connect(text, &LongText::found, text, [&] { found = true; });
  text->scrollToStart();
  find.measure([&] { text->find("no such words", true); });
  while (!found) find.measure([] { QCoreApplication::processEvents(); });
  find.report("search_all_of_1000000_lines");
  Busy copying;
  bool copied = false;
  QObject::connect(text, &LongText::copied, text, [&] { copied = true; });
  text->selectAll();
  copying.measure([&] { text->copy(); });
  while (!copied) copying.measure([] { QCoreApplication::processEvents(); });
  copying.report("copy_all_of_1000000_lines");
  Busy snapshot;
  snapshot.measure([&] { window.document.snapshot({}); });
  snapshot.measure([&] { window.document.appendOutput("a", stream("one more\n")); });
  snapshot.report("snapshot_and_print_on_after_1000000_lines");
}

void manyCells() {
  json cells = json::array();
  const std::string filling(9000, 'x');
  for (int i = 0; i < 1000; ++i) {
    if (i % 2 == 0)
      cells.push_back(markdownCell("m" + std::to_string(i), "## Part " + std::to_string(i) + "\n\ntext"));
    else {
      std::string log;
      for (int line = 0; line < 500; ++line) log += "a line of forty characters, more or less\n";
      cells.push_back(codeCell("c" + std::to_string(i), "x = 1\ny = 2\n# " + filling.substr(0, 60),
                               json::array({stream(log)}), i));
    }
  }
  const QByteArray bytes = notebookOf(cells);
  Window window({codeCell("a", "")});
  Busy open, end;
  open.measure([&] {
    window.document.parse(bytes, "large.ipynb");
    QCoreApplication::processEvents();
  });
  settle(open);
  open.report("open_1000_cells_10_MB");
  end.measure([&] {
    window.view.setFocus();
    window.key(Qt::Key_End);
    QCoreApplication::processEvents();
  });
  end.report("end_key_in_1000_cells");
  Busy wheel;
  QScrollBar* bar = window.view.verticalScrollBar();
  for (int i = 0; i < 200; ++i) {
    wheel.measure([&] {
      bar->setValue(bar->value() - 300);
      QCoreApplication::processEvents();
    });
  }
  wheel.report("scroll_by_300_pixels_200_times");
}

void hugeLine() {
  const QByteArray bytes = notebookOf({codeCell("a", "data = '" + std::string(5'000'000, 'x') + "'")});
  Window window({codeCell("a", "")});
  Busy open, whole;
  open.measure([&] { window.document.parse(bytes, "line.ipynb"); });
  settle(open);
  open.report("open_code_line_of_5_MB");
  whole.measure([&] {
    window.view.setCurrentCell(0, true);
    window.key(Qt::Key_Return);
  });
  settle(whole);
  whole.report("edit_all_of_code_line_of_5_MB");
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  log(10'000);
  log(100'000);
  millionLines();
  manyCells();
  hugeLine();
  return 0;
}
