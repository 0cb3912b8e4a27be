// The size from which a tape releases values early.
#pragma once

#include <atomic>
#include <cstddef>

namespace tapedeck::detail {

/// Tapes release values of at least this many bytes if no VJP reads them. Tests set it to 0.
extern constinit std::atomic<std::size_t> large_value;

}  // namespace tapedeck::detail
