// Counts bytes copied from the emulated devices to the host: for tests of values that must stay there.
#pragma once

/// Bytes copied from devices to the host's memory, since the process began.
extern "C" [[gnu::visibility("default")]] unsigned long long tapedeck_emulated_bytes_to_host();
