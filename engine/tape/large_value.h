// What a tape lets go early.
#pragma once

#include <atomic>
#include <cstddef>

namespace tapedeck::detail {

/// Values of so many bytes and more are not kept by tapes where no VJP reads them. Tests set it to 0.
extern constinit std::atomic<std::size_t> large_value;

}  // namespace tapedeck::detail
