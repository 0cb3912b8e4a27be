// Draws SVG in a process of its own, which is killed where a drawing takes too long: one may repeat a dash a
// billion times.
#pragma once

#include <QObject>
#include <functional>

#include "app/notebook/output/svg_drawing.h"

namespace tapedeck::app {

/// One at a time, in the order in which they were asked for. To be used on the UI thread; answers come by its
/// event loop.
class SvgDrawer {
 public:
  using Answer = std::function<void(const SvgAnswer&)>;
  static constexpr int deadline = 5'000;  // milliseconds

  /// No answer comes once `context` is gone, or after cancel() with the number that is returned. Where it
  /// took longer than the deadline, or the process ended, the answer's problem says so.
  static quint64 draw(const SvgRequest& request, QObject* context, Answer answer);
  static void cancel(quint64 job);
};

}  // namespace tapedeck::app
