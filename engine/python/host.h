// What the engine asks of Python: its lock, and whether the user interrupted.
#pragma once

namespace tapedeck::python {

/// Installs the engine's host hooks. Call with Python's lock held, on the main thread.
void install_host_hooks();

}  // namespace tapedeck::python
