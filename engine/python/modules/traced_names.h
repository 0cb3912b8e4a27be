// The names of functions that are traced: what their frames hold at each node, and what they held in a run.
#pragma once

#include "engine/python/python.h"

namespace tapedeck::python {

/// While it lives, functions that are called deeper than the frame which makes it are being traced: graphs
/// take their names (graph/names.h), where lines are captured, too.
class TracedFramesScope {
 public:
  TracedFramesScope();
  ~TracedFramesScope();
  TracedFramesScope(const TracedFramesScope&) = delete;

 private:
  PyFrameObject* before_;
};

/// From now on traces take names.
void start_capturing_names();
void stop_capturing_names();

/// What graph::names_at gives, as debug._traced_frames says.
py::list traced_frames(std::uint64_t record, std::uint16_t thread, bool running);

}  // namespace tapedeck::python
