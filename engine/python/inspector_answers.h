// One request of the host's inspector, answered by the package's session_*.py.
#pragma once

#include "engine/debug/host_inspector.h"
#include "engine/record/recorder.h"

namespace tapedeck::python {

/// With Python's lock held, on the inspector's thread. Never throws; what the user's code raises is a part of
/// the answer, what can't be found a Failure.
protocol::Reply answer_from_python(Recorder& recorder, const debug::HostRequest& request,
                                   const CancelFlag& cancel) noexcept;

}  // namespace tapedeck::python
