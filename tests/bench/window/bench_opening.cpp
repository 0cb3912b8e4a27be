// Contents that once froze the window while a notebook with them was opened, one JSON line each: milliseconds
// from the call that opens the file to the first paint of the notebook, to the text's arrival, and the
// longest time in between in which the window could not answer. Run it on a display (xvfb-run).
#include <QAbstractScrollArea>
#include <QElapsedTimer>
#include <QTimer>
#include <cstdio>

#include "app/notebook/output/output_area.h"
#include "app/notebook/output/rich_output.h"
#include "app/notebook/view/cell_widget.h"
#include "app/notebook/view/code_editor.h"
#include "tests/app/window_fixture.h"
#include "tests/notebook/heavy_contents.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

/// Notices when a cell of the notebook is painted for the first time.
class PaintWatch : public QObject {
 public:
  explicit PaintWatch(const QElapsedTimer& clock) : clock_(clock) { qApp->installEventFilter(this); }
  double first = -1;

 protected:
  bool eventFilter(QObject* object, QEvent* event) override {
    if (first < 0 && event->type() == QEvent::Paint && qobject_cast<CellWidget*>(object) != nullptr)
      first = static_cast<double>(clock_.nsecsElapsed()) / 1e6;
    return false;
  }

 private:
  const QElapsedTimer& clock_;
};

bool arrived(const MainWindow& window) {
  for (const CellWidget* cell : window.notebook()->findChildren<CellWidget*>()) {
    // Cells of the notebook before wait hidden for their deletion.
    if (cell->isHidden()) continue;
    if (!cell->realized()) return false;
    for (const RichOutput* text : cell->findChildren<RichOutput*>()) {
      if (!text->ready()) return false;
    }
    if (cell->showsSource() && cell->editor() == nullptr) return false;
  }
  return true;
}

void measure(const QString& folder, const HeavyContent& content) {
  QFile file(QDir(folder).filePath("heavy.ipynb"));
  if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
  file.write(notebookOf(content.cell));
  file.close();

  MainWindow window;
  window.setAttribute(Qt::WA_DeleteOnClose, false);
  window.resize(1280, 800);
  if (!showActive(&window)) qFatal("no window");
  QTest::qWait(300);
  QElapsedTimer clock, quiet;
  double last = 0, stall = 0, text = -1;
  QTimer ticks;
  QObject::connect(&ticks, &QTimer::timeout, &ticks, [&] {
    const double now = static_cast<double>(clock.nsecsElapsed()) / 1e6;
    stall = std::max(stall, now - last);
    last = now;
  });
  clock.start();
  PaintWatch paint(clock);
  ticks.start(1);
  window.openNotebook(file.fileName());
  const double call = static_cast<double>(clock.nsecsElapsed()) / 1e6;
  while (clock.elapsed() < 60'000) {
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 5);
    const bool there = paint.first >= 0 && arrived(window);
    if (there && text < 0) {
      text = static_cast<double>(clock.nsecsElapsed()) / 1e6;
      quiet.start();
    }
    // What is still painted and placed after the arrival counts as well.
    if (text >= 0 && quiet.elapsed() > 500) break;
  }
  std::printf(
      "{\"case\": \"open_%s\", \"call_ms\": %.1f, \"first_paint_ms\": %.1f, \"text_ms\": %.1f, "
      "\"longest_stall_ms\": %.1f}\n",
      content.name, call, paint.first, text, stall);
  std::fflush(stdout);
  window.kernel()->shutdown();
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  useOwnSettings();
  inspector::applyAppearance(inspector::Appearance::light);
  QTemporaryDir folder;
  std::vector<HeavyContent> contents = heavyContents();
  contents.push_back({"code_line_5mb", codeCell("c", "x = '" + std::string(5'000'000, 'x') + "'"), "", ""});
  contents.insert(contents.begin(), {"nothing_heavy", codeCell("c", "x = 1"), "", ""});
  for (const HeavyContent& content : contents) {
    if (argc < 2 || QString(content.name).contains(argv[1])) measure(folder.path(), content);
  }
  return 0;
}
