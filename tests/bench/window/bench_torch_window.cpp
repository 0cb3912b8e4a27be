// What a user of PyTorch waits for in the window, one JSON line per case: from the press of F10 to the
// painted step, over 200 steps of a training of torch_models.py, with the time of the op itself and without;
// from a step back to the values of that moment; and from the call that opens a trace to its painted last
// record.
//
//     bench_torch_window ENVIRONMENT [MODEL [FILE.tapetrace]]
//
// ENVIRONMENT has PyTorch and this build's module; "-" measures the trace alone. MODEL: mlp, resnet18,
// transformer. bench_torch_trace.py makes the trace. Run it on a display (xvfb-run), with
// LIBGL_ALWAYS_SOFTWARE=1 for software OpenGL.
#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <cstdio>

#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "tests/app/window_fixture.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

constexpr int step_count = 200, back_count = 50;
constexpr int patiences = 12;  // the first step of a network takes a while on a busy machine

void report(const QString& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf("{\"case\": \"%s\", \"count\": %zu, \"median_ms\": %.1f, \"p95_ms\": %.1f, \"max_ms\": %.1f}\n",
              qPrintable(name), values.size(), at(.5), at(.95), values.back());
  std::fflush(stdout);
}

/// Sleeps between events, as an application does: who polls takes a core from the op that is waited for.
void await(const char* what, const std::function<bool()>& condition) {
  QElapsedTimer clock;
  clock.start();
  QTimer look;
  look.setTimerType(Qt::PreciseTimer);
  look.start(1);
  while (!condition() && clock.elapsed() < patience * patiences)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  if (!condition()) qFatal("gave up waiting: %s", what);
}

/// The views have what belongs to the record before which the cursor is.
bool shows(const MainWindow& window, quint64 cursor) {
  return window.session()->cursor() == cursor && tape(window)->model()->graph().cursor == cursor &&
         !tape(window)->model()->loading() && !tensor(window)->model()->loading();
}

/// One more frame, forced to be drawn and read back, holds all of it.
void paint(const MainWindow& window) {
  tape(window)->repaint();
  QCoreApplication::processEvents();
}

double milliseconds(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

void stepOnce(MainWindow& window, std::vector<double>& steps, std::vector<double>& beyond) {
  const auto before = window.session()->status().stopped_before.value_or(0);
  const auto left = window.session()->stop();
  QTest::qWait(20);
  QElapsedTimer clock;
  clock.start();
  QTest::keyClick(&window, Qt::Key_F10);
  await("a step", [&] {
    return isStopped(window) && window.session()->stop() != left &&
           shows(window, window.session()->status().stopped_before.value_or(0));
  });
  paint(window);
  steps.push_back(milliseconds(clock));
  const auto* ran = window.session()->cachedRecord(before);
  beyond.push_back(steps.back() - (ran ? static_cast<double>(ran->duration_ns) / 1e6 : 0));
}

void stepThrough(MainWindow& window, const QString& model) {
  window.notebook()->setCurrentCell(0, false);
  window.notebook()->runCurrent();
  await("the model", [&] { return cellStateOf(window, 0) == CellState::done; });
  window.notebook()->setCurrentCell(1, false);
  QTest::keyClick(&window, Qt::Key_F10);
  await("the first stop", [&] {
    return isStopped(window) && shows(window, window.session()->status().stopped_before.value_or(0));
  });
  std::vector<double> steps, beyond, back;
  for (int i = 0; i < step_count; ++i) stepOnce(window, steps, beyond);
  report(model + "_key_press_to_painted_step", steps);
  report(model + "_key_press_to_painted_step_without_the_op", beyond);
  for (int i = 0; i < back_count; ++i) {
    const auto cursor = window.session()->cursor();
    QElapsedTimer clock;
    clock.start();
    QTest::keyClick(&window, Qt::Key_F10, Qt::ShiftModifier);
    await("a step back",
          [&] { return window.session()->cursor() < cursor && !tensor(window)->model()->loading(); });
    back.push_back(milliseconds(clock));
  }
  report(model + "_step_back_to_values", back);
}

void runProgram(const QString& environment, const QString& model) {
  QTemporaryDir folder;
  const QString notebook = writeNotebook(folder, "steps.ipynb",
                                         {"import sys\nsys.path.insert(0, '" TAPEDECK_SOURCE_DIR
                                          "/tests/bench')\nfrom torch_models import STEPS\n"
                                          "step = STEPS['" +
                                              model + "']()\nfirst = step()",
                                          "losses = [step() for _ in range(3)]"});
  MainWindow window;
  window.setAttribute(Qt::WA_DeleteOnClose, false);
  window.resize(1280, 800);
  if (!showActive(&window)) qFatal("no window");
  window.runIn(environment);
  window.openNotebook(notebook);
  QElapsedTimer clock;
  clock.start();
  window.kernel()->restart();
  await("the session", [&] { return isReady(window); });
  report("session_ready", {milliseconds(clock)});
  stepThrough(window, model);
  window.kernel()->interrupt();
  window.kernel()->shutdown();
}

/// A trace opens in a window of its own, which takes the place of the start page.
void openTrace(const QString& path) {
  auto* start = new MainWindow;
  start->resize(1280, 800);
  if (!showActive(start)) qFatal("no window");
  QTest::qWait(300);
  QElapsedTimer clock;
  clock.start();
  start->openNotebook(path);
  MainWindow* window = nullptr;
  await("the trace's window", [&] {
    for (QWidget* each : QApplication::topLevelWidgets())
      if (auto* one = qobject_cast<MainWindow*>(each); one && one->isVisible() && one->session()->live())
        window = one;
    return window != nullptr && tape(*window) && tensor(*window);
  });
  await("the trace's last record", [&] {
    return window->session()->recordCount() > 0 && shows(*window, window->session()->recordCount());
  });
  paint(*window);
  report("open_trace_to_painted_record", {milliseconds(clock)});
  std::vector<double> back;
  for (int i = 0; i < back_count; ++i) {
    const auto cursor = window->session()->cursor();
    clock.start();
    QTest::keyClick(window, Qt::Key_F10, Qt::ShiftModifier);
    await("a step back in the trace", [&] {
      return window->session()->cursor() < cursor && shows(*window, window->session()->cursor());
    });
    paint(*window);
    back.push_back(milliseconds(clock));
  }
  report("trace_key_press_to_painted_step_back", back);
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  useOwnSettings();
  inspector::applyAppearance(inspector::Appearance::light);
  if (argc < 2) qFatal("bench_torch_window ENVIRONMENT [MODEL [FILE.tapetrace]]");
  if (QString(argv[1]) != "-") runProgram(argv[1], argc > 2 ? argv[2] : "mlp");
  if (argc > 3) openTrace(argv[3]);
  return 0;
}
