// The engine's hooks into Python: its lock, and interrupts.
#pragma once

namespace tapedeck::python {

/// Installs the engine's host hooks. Call with Python's lock held, on the main thread.
void install_host_hooks();

/// What a thread does that Python wants to end because the process ends (it unwinds daemon threads when they
/// ask for its lock): it stays where it is, so that no destructor runs without the lock.
[[noreturn]] void wait_for_exit();

}  // namespace tapedeck::python
