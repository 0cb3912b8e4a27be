// The GPUs that tests put tensors on.
#pragma once

#include "engine/tensor/device.h"

namespace tapedeck {

inline constexpr Device first_gpu{DeviceKind::gpu, 0}, second_gpu{DeviceKind::gpu, 1};

}  // namespace tapedeck
