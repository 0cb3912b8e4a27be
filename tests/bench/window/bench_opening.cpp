// Large notebooks (1,000 cells; 50 MB), and contents that once froze the window while a notebook with them
// was opened, one JSON line each: milliseconds from the call that opens the file to the first paint of the
// notebook, to the arrival of all that is in sight, and the longest time in between in which the window could
// not answer. Run it on a display (xvfb-run).
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
    if (cell->isHidden() || cell->visibleRegion().isEmpty()) continue;
    if (!cell->realized()) return false;
    for (const RichOutput* text : cell->findChildren<RichOutput*>()) {
      if (!text->ready()) return false;
    }
    if (cell->showsSource() && cell->editor() == nullptr) return false;
  }
  return true;
}

/// Half of them text, half of them code with some output.
QByteArray manyCells() {
  nlohmann::json cells = nlohmann::json::array();
  for (int i = 0; i < 1000; ++i) {
    const std::string number = std::to_string(i);
    if (i % 2 == 0)
      cells.push_back(markdownCell("m" + number, "## Part " + number + "\n\nA line of **text** and `code`."));
    else
      cells.push_back(codeCell("c" + number, "x = " + number + "\nprint(x)",
                               nlohmann::json::array({stream(number + "\n")}), i));
  }
  return notebookOf(cells);
}

/// Most of them logs, some pictures.
QByteArray fiftyMegabytes() {
  nlohmann::json cells = nlohmann::json::array();
  std::string log;
  for (int line = 0; log.size() < 400'000; ++line) log += "step " + std::to_string(line) + " loss 0.123456\n";
  for (int i = 0; i < 100; ++i) {
    const std::string number = std::to_string(i);
    cells.push_back(
        codeCell("c" + number, "train(" + number + ")",
                 nlohmann::json::array({stream(log), display({{"image/png", picture(400, 300, "PNG")}}),
                                        display({{"text/plain", std::string(80'000, 'x')}})}),
                 i + 1));
  }
  return notebookOf(cells);
}

void measure(const QString& folder, const char* name, const QByteArray& bytes) {
  QFile file(QDir(folder).filePath("heavy.ipynb"));
  if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write");
  file.write(bytes);
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
      "\"longest_stall_ms\": %.1f, \"megabytes\": %.1f}\n",
      name, call, paint.first, text, stall, static_cast<double>(bytes.size()) / 1e6);
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
  const auto chosen = [&](const char* name) { return argc < 2 || QString(name).contains(argv[1]); };
  if (chosen("1000_cells")) measure(folder.path(), "1000_cells", manyCells());
  if (chosen("50_mb")) measure(folder.path(), "50_mb", fiftyMegabytes());
  for (const HeavyContent& content : contents)
    if (chosen(content.name)) measure(folder.path(), content.name, notebookOf(content.cell));
  return 0;
}
