// The message that a session process writes to standard error before it exits because of an error.
#pragma once

#include <string_view>

namespace tapedeck::protocol {

/// The start of that line; the error of every later call on the GPU follows.
inline constexpr std::string_view lost_gpu_prefix = "tapedeck: a GPU was lost: ";

}  // namespace tapedeck::protocol
