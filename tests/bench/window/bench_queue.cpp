// What a queued cell costs the UI thread, one JSON line per number of cells: from the key that queues them to
// the end of the last one. "queue" is the key itself, during which nothing else is painted or typed; "run" is
// all that the thread did until the last cell had ended. Of 1,000 and 3,000 also cells that print a line,
// which moves all below them. Run it on a display (xvfb-run).
#include <QElapsedTimer>
#include <QThread>
#include <cstdio>

#include "tests/app/window_fixture.h"

using namespace tapedeck::app;

namespace {

double milliseconds(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

void measure(int count, bool prints) {
  QTemporaryDir folder;
  QStringList cells;
  // Texts of some length: none of them is to be compared while it waits.
  const QString comment = "# " + QString(400, 'x') + "\n";
  for (int i = 0; i < count; ++i)
    cells << comment + QString(prints ? "value = %1\nprint(value)" : "value = %1").arg(i);
  const auto window = newWindow();
  window->openNotebook(writeNotebook(folder, "queue.ipynb", cells));
  window->kernel()->restart();
  if (!waitFor([&] { return window->document()->cellCount() == count && isReady(*window); }, patience))
    qFatal("no session");
  window->notebook()->setFocus();
  QElapsedTimer clock;
  clock.start();
  QTest::keyClick(window->notebook(), Qt::Key_Return, Qt::ControlModifier | Qt::ShiftModifier);
  const double queue = milliseconds(clock);
  double run = queue, longest = queue;
  while (window->runner()->busy()) {
    QThread::usleep(500);
    clock.restart();
    QCoreApplication::processEvents();
    const double piece = milliseconds(clock);
    run += piece;
    longest = std::max(longest, piece);
  }
  std::printf(
      "{\"case\": \"queued_%s_%d\", \"queue_us_per_cell\": %.1f, \"run_us_per_cell\": %.1f, "
      "\"longest_ms\": %.1f}\n",
      prints ? "printing_cells" : "cells", count, queue * 1000 / count, run * 1000 / count, longest);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  useOwnSettings();
  tapedeck::inspector::applyAppearance(tapedeck::inspector::Appearance::light);
  for (const int count : {100, 300, 1000, 3000}) measure(count, false);
  for (const int count : {1000, 3000}) measure(count, true);
  return 0;
}
