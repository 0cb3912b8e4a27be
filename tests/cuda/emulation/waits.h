// Counts the host's waits for the emulated GPUs, for tests.
#pragma once

/// Calls so far, of all threads, that wait for a stream, a device or an event. Also for Python's ctypes.
extern "C" [[gnu::visibility("default")]] unsigned long long tapedeck_emulated_waits();
