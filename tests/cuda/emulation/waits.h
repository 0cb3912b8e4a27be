// How often the host waits for the emulated GPUs, which tests count.
#pragma once

/// Calls so far, of all threads, that wait for a stream, a device or an event. Also for Python's ctypes.
extern "C" [[gnu::visibility("default")]] unsigned long long tapedeck_emulated_waits();
