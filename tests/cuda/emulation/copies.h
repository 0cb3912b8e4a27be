// How much the emulated devices gave to the host: for tests of what should stay there.
#pragma once

#include <cstdint>

namespace emulation {

/// Bytes copied from devices to the host's memory, since the process began.
std::uint64_t bytes_to_host();

}  // namespace emulation
