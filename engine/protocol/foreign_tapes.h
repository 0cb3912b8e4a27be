// Numbers of what other libraries record for differentiation: PyTorch's graph has no tape of the engine's.
#pragma once

#include <cstdint>

namespace tapedeck::protocol {

/// Above the ids of the engine's own tapes. Each backward pass that frees its graph begins another one.
inline constexpr std::uint64_t first_foreign_tape = std::uint64_t{1} << 30;

}  // namespace tapedeck::protocol
