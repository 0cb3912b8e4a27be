// What a session process writes to its standard error before it ends by itself.
#pragma once

#include <string_view>

namespace tapedeck::protocol {

/// A line begins with it; behind it stands what every call on the GPU throws.
inline constexpr std::string_view lost_gpu_words = "tapedeck: a GPU was lost: ";

}  // namespace tapedeck::protocol
