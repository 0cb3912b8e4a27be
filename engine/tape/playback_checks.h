// Checks of playback.
#pragma once

#include "engine/tape/playback.h"

namespace tapedeck::detail {

void check_request(const GradientRequest& request);

/// A VJP must give one gradient per input, of the input's shape and dtype.
void check_gradients(const Node& node, std::span<const bool> wanted, std::span<const Tensor> gradients);

}  // namespace tapedeck::detail
