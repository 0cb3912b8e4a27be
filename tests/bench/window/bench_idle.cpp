// What five idle sessions cost, one JSON line per case: five windows of one process, each with a session that
// has trained for some steps and waits for its user; then the same five stopped at an op. `cpu_percent` is of
// one core, of window and sessions together; wake-ups are those of all threads. Run it on a display
// (xvfb-run), with LIBGL_ALWAYS_SOFTWARE=1 for software OpenGL, and with little else on the machine.
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <cstdio>
#include <memory>
#include <vector>

#include "app/control/stepper.h"
#include "tests/app/window_fixture.h"
#include "tests/wakeups.h"

using namespace tapedeck;
using namespace tapedeck::app;

namespace {

constexpr int sessions = 5, settling = 5000, looked_at = 10000;  // milliseconds
using Windows = std::vector<std::unique_ptr<MainWindow>>;

/// Without a look at anything: QTest's own waiting wakes up a hundred times a second.
void sleepFor(int milliseconds) {
  QEventLoop loop;
  QTimer::singleShot(milliseconds, Qt::PreciseTimer, &loop, &QEventLoop::quit);
  loop.exec();
}

struct Cost {
  qint64 window = 0, session = 0, cpu = 0;
};

Cost costSoFar(const Windows& windows) {
  const qint64 own = QCoreApplication::applicationPid();
  Cost cost{wakeups(own), 0, cpuNanoseconds(own)};
  for (const auto& window : windows) {
    cost.session += wakeups(window->kernel()->processId());
    cost.cpu += cpuNanoseconds(window->kernel()->processId());
  }
  return cost;
}

void measure(const char* name, const Windows& windows) {
  sleepFor(settling);
  QElapsedTimer clock;
  clock.start();
  const Cost before = costSoFar(windows);
  sleepFor(looked_at);
  const Cost after = costSoFar(windows);
  const double seconds = static_cast<double>(clock.nsecsElapsed()) / 1e9;
  std::printf(
      "{\"case\": \"%s\", \"sessions\": %d, \"seconds\": %.1f, \"cpu_percent\": %.2f, "
      "\"window_wakeups_per_second\": %.1f, \"session_wakeups_per_second\": %.1f}\n",
      name, sessions, seconds, static_cast<double>(after.cpu - before.cpu) / 1e7 / seconds,
      static_cast<double>(after.window - before.window) / seconds,
      static_cast<double>(after.session - before.session) / seconds);
  std::fflush(stdout);
}

void await(const std::function<bool()>& condition) {
  if (!waitFor(condition, 5 * patience)) qFatal("gave up waiting");
}

}  // namespace

int main(int argc, char** argv) {
  QApplication application(argc, argv);
  useOwnSettingsAndCache();
  const QTemporaryDir folder;
  Windows windows;
  for (int i = 0; i < sessions; ++i) {
    windows.push_back(newWindow());
    windows.back()->openNotebook(writeNotebook(folder, QString("idle-%1.ipynb").arg(i),
                                               {"import tapedeck as tf\nw = tf.Variable(tf.ones([32, 32]))\n"
                                                "for step in range(200):\n    with tf.GradientTape() as "
                                                "tape:\n        loss = tf.reduce_sum(tf.tanh(w @ w))\n"
                                                "    w.assign_sub(0.01 * tape.gradient(loss, w))",
                                                "y = tf.exp(w)\nz = y + y"}));
    MainWindow& window = *windows.back();
    await([&] { return window.notebook()->isVisible() && window.document()->cellCount() == 2; });
    window.notebook()->setCurrentCell(0, false);
    window.notebook()->runCurrent();
    await([&] { return cellStateOf(window, 0) == CellState::done; });
  }
  measure("idle_sessions", windows);
  for (const auto& window : windows) {
    window->notebook()->setCurrentCell(1, false);
    window->stepper()->stepOp();
    await([&] { return isStopped(*window); });
  }
  measure("sessions_stopped_at_an_op", windows);
  for (const auto& window : windows) {
    window->kernel()->interrupt();
    window->kernel()->shutdown();
  }
  return 0;
}
