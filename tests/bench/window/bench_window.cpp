// What a user waits for in the window, one JSON line per case: from the press of F10 to the painted step,
// over 200 steps of the L-BFGS autoencoder, with the time of the op itself and without; from a step back near
// its end to the values of that moment; from the start of the process to a usable window, and to a ready
// session. `bench_window NOTEBOOK breakpoints` does it with ten breakpoints that never hit. Run it on a
// display (xvfb-run), with LIBGL_ALWAYS_SOFTWARE=1 for software OpenGL.
#include <unistd.h>

#include <QElapsedTimer>
#include <QFile>
#include <QTimer>
#include <algorithm>
#include <cstdio>

#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "inspector/panels/tape/tape_view.h"
#include "inspector/panels/tensor/tensor_view.h"
#include "inspector/ui/canvas/canvas_widget.h"
#include "tests/app/window_fixture.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

/// Milliseconds since this process was started, from the system's own books: dynamic linking is part of it.
double sinceProcessStart() {
  QFile stat("/proc/self/stat"), uptime("/proc/uptime");
  if (!stat.open(QIODevice::ReadOnly) || !uptime.open(QIODevice::ReadOnly)) return 0;
  const QList<QByteArray> fields = stat.readAll().split(')').last().trimmed().split(' ');
  const double started = fields[19].toDouble() / static_cast<double>(::sysconf(_SC_CLK_TCK));
  return (uptime.readAll().split(' ').first().toDouble() - started) * 1000;
}

void report(const char* name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf("{\"case\": \"%s\", \"count\": %zu, \"median_ms\": %.1f, \"p95_ms\": %.1f, \"max_ms\": %.1f}\n",
              name, values.size(), at(.5), at(.95), values.back());
  std::fflush(stdout);
}

bool graphShows(const MainWindow& window, quint64 stop) {
  return tape(window)->model()->graph().cursor == stop && !tape(window)->model()->loading();
}

/// The step is painted once the views have what belongs to the new stop, and both canvases have drawn after
/// that.
bool showsStop(const MainWindow& window, quint64 stop) {
  return window.session()->cursor() == stop && graphShows(window, stop) &&
         !tensor(window)->model()->loading();
}

/// Sleeps between events, as an application does: who polls takes a core from the op that is waited for.
void await(const std::function<bool()>& condition, int patiences = 1) {
  QElapsedTimer clock;
  clock.start();
  QTimer look;
  look.setTimerType(Qt::PreciseTimer);
  look.start(1);
  while (!condition() && clock.elapsed() < patience * patiences)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  if (!condition()) qFatal("gave up waiting");
}

/// None is hit by the autoencoder.
void addTenBreakpoints(MainWindow& window) {
  using Kind = protocol::BreakpointKind;
  const auto add = [&](Kind kind, const std::string& target, const std::string& condition = {}) {
    protocol::Breakpoint breakpoint;
    breakpoint.kind = kind;
    breakpoint.target = target;
    breakpoint.condition = condition;
    if (kind == Kind::line) breakpoint.cell = window.document()->cell(2).id.toStdString();
    breakpoint.line = kind == Kind::line ? static_cast<std::uint32_t>(std::stoi(target)) : 0;
    window.breakpoints()->add(breakpoint);
  };
  for (const char* line : {"1", "2", "3"}) add(Kind::line, line);
  for (const char* op : {"svd", "*pool*", "softmax"}) add(Kind::op, op);
  add(Kind::write, "no_such_variable");
  add(Kind::vjp, "conv2d");
  add(Kind::condition, {}, "nan(out) or inf(out)");
  add(Kind::condition, {}, "op:matmul and max(abs(out)) > 1e6");
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  useOwnSettings();
  inspector::applyAppearance(inspector::Appearance::light);
  MainWindow window;
  window.setAttribute(Qt::WA_DeleteOnClose, false);
  window.resize(1280, 800);
  if (!showActive(&window)) return 1;
  QCoreApplication::processEvents();
  report("start_to_usable_window", {sinceProcessStart()});
  const QString notebook = argc > 1 ? QString(argv[1]) : sample("lbfgs_autoencoder.ipynb");
  QElapsedTimer opening;
  opening.start();
  window.openNotebook(notebook);
  report("open_notebook_call", {static_cast<double>(opening.nsecsElapsed()) / 1e6});
  window.kernel()->restart();
  await([&] { return isReady(window); });
  report("open_to_ready_session", {static_cast<double>(opening.nsecsElapsed()) / 1e6});

  if (argc > 2) addTenBreakpoints(window);

  // Run everything up to the training, then step through it.
  int training = -1;
  for (int i = 0; i < window.document()->cellCount(); ++i)
    if (window.document()->cell(i).source.startsWith("losses =")) training = i;
  for (int i = 0; i < training; ++i) {
    if (window.document()->cell(i).type != CellType::code) continue;
    window.notebook()->setCurrentCell(i, false);
    window.notebook()->runCurrent();
    const QString id = window.document()->cell(i).id;
    await([&] { return window.notebook()->cellState(id) == CellState::done; });
  }
  window.notebook()->setCurrentCell(training, false);
  QTest::keyClick(&window, Qt::Key_F10);
  await([&] {
    return isStopped(window) && showsStop(window, window.session()->status().stopped_before.value_or(0));
  });

  std::vector<double> stops, graphs, values, steps, beyond;
  QElapsedTimer clock;
  for (int i = 0; i < 200; ++i) {
    const auto before = window.session()->status().stopped_before.value_or(0);
    const auto left = window.session()->stop();
    QTest::qWait(20);
    clock.start();
    QTest::keyClick(&window, Qt::Key_F10);
    const auto now = [&] { return static_cast<double>(clock.nsecsElapsed()) / 1e6; };
    double stopped = 0, graph = 0, value = 0;
    await([&] {
      const auto stop = window.session()->status().stopped_before.value_or(0);
      if (!isStopped(window) || window.session()->stop() == left) return false;
      if (stopped == 0) stopped = now();
      if (window.session()->cursor() != stop) return false;
      if (graph == 0 && graphShows(window, stop)) graph = now();
      if (value == 0 && !tensor(window)->model()->loading()) value = now();
      return showsStop(window, stop);
    });
    stops.push_back(stopped);
    graphs.push_back(graph);
    values.push_back(value);
    // One more frame, forced to be drawn and read back, holds all of it.
    tape(window)->repaint();
    QCoreApplication::processEvents();
    steps.push_back(now());
    const auto* ran = window.session()->cachedRecord(before);
    beyond.push_back(steps.back() - (ran ? static_cast<double>(ran->duration_ns) / 1e6 : 0));
  }
  report("key_press_to_stop", stops);
  report("key_press_to_graph", graphs);
  report("key_press_to_values", values);
  report("key_press_to_painted_step", steps);
  report("key_press_to_painted_step_without_the_op", beyond);

  // To the end, then back: values that are no longer held are recomputed.
  const QString id = window.document()->cell(training).id;
  QTest::keyClick(&window, Qt::Key_F5);
  await([&] { return window.notebook()->cellState(id) == CellState::done; }, 10);
  await([&] { return window.session()->cursor() == window.session()->recordCount(); });
  std::vector<double> back;
  for (int i = 0; i < 100; ++i) {
    const auto cursor = window.session()->cursor();
    clock.start();
    QTest::keyClick(&window, Qt::Key_F10, Qt::ShiftModifier);
    const auto* model = tensor(window)->model();
    await([&] { return window.session()->cursor() == cursor - 1 && !model->loading(); }, 10);
    if (model->tensor() && !model->tile()) qWarning("no values: %s", qPrintable(model->problem()));
    back.push_back(static_cast<double>(clock.nsecsElapsed()) / 1e6);
  }
  report("step_back_to_values", back);
  window.kernel()->interrupt();
  window.kernel()->shutdown();
  return 0;
}
