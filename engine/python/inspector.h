// The user's variables and frames, for the debug server.
#pragma once

#include <memory>

#include "engine/debug/host_inspector.h"
#include "engine/python/python.h"
#include "engine/record/recorder.h"

namespace tapedeck::python {

/// Looks and evaluates on a thread of its own, one request after the other, with the ops that this runs
/// neither recorded nor stopped. Code that does not end is ended by an exception from outside: where the
/// request is cancelled, where it passes its limit, or where one value's repr takes long.
class Inspector final : public debug::HostInspector {
 public:
  /// The recorder must never end (other threads may be inside an op that it records).
  explicit Inspector(Recorder& recorder);
  /// Without Python's lock. Where the user's code cannot be ended its thread is left to the process's end.
  ~Inspector() override;
  protocol::Reply answer(const debug::HostRequest& request, const CancelFlag& cancel) override;

 private:
  struct State;
  struct Task;
  std::shared_ptr<State> state_;
};

/// The function's own variables as a new dict; the frame keeps nothing of it.
py::dict frame_locals(py::handle frame);

/// Protects the restoration of changed state: while it lives, code on this thread is not interrupted, and a
/// pending interruption is dropped. Needs Python's lock.
class RestoreScope {
 public:
  RestoreScope();
  ~RestoreScope();
  RestoreScope(const RestoreScope&) = delete;
};

/// What tapedeck/_session/values.py, frames.py and moments.py need of C++. `recorder`: throws where there is
/// none.
void bind_inspector(py::module_& debug, Recorder& (*recorder)());

}  // namespace tapedeck::python
