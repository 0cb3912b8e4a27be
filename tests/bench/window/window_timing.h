// What the benchmarks of steps in a window share: a wait that leaves the session its core, what a painted
// step is, and the JSON line of a case.
#pragma once

#include <QElapsedTimer>
#include <QTimer>
#include <algorithm>
#include <cstdio>

#include "inspector/model/tape/tape_graph.h"
#include "inspector/model/tensor/tensor_model.h"
#include "tests/app/window_fixture.h"

namespace tapedeck::app {

inline void report(const QString& name, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1))];
  };
  std::printf("{\"case\": \"%s\", \"count\": %zu, \"median_ms\": %.1f, \"p95_ms\": %.1f, \"max_ms\": %.1f}\n",
              qPrintable(name), values.size(), at(.5), at(.95), values.back());
  std::fflush(stdout);
}

inline double milliseconds(const QElapsedTimer& clock) {
  return static_cast<double>(clock.nsecsElapsed()) / 1e6;
}

/// Sleeps between events, as an application does: who polls takes a core from the op that is waited for.
/// Ends the benchmark where the condition does not come to hold within so many patiences.
inline void await(const char* what, const std::function<bool()>& condition, int patiences = 12) {
  QElapsedTimer clock;
  clock.start();
  QTimer look;
  look.setTimerType(Qt::PreciseTimer);
  look.start(1);
  while (!condition() && clock.elapsed() < patience * patiences)
    QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
  if (!condition()) qFatal("gave up waiting: %s", what);
}

inline bool graphShows(const MainWindow& window, quint64 cursor) {
  return tape(window)->model()->graph().cursor == cursor && !tape(window)->model()->loading();
}

/// The views have what belongs to the record before which the cursor is.
inline bool shows(const MainWindow& window, quint64 cursor) {
  return window.session()->cursor() == cursor && graphShows(window, cursor) &&
         !tensor(window)->model()->loading();
}

inline bool showsStop(const MainWindow& window) {
  return isStopped(window) && shows(window, window.session()->status().stopped_before.value_or(0));
}

/// One more frame, forced to be drawn and read back, holds all of it.
inline void paint(const MainWindow& window) {
  tape(window)->repaint();
  QCoreApplication::processEvents();
}

}  // namespace tapedeck::app
