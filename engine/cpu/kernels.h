// The CPU's kernels: the functions of backend/kernel_list.h, which says what each computes.
#pragma once

#include "engine/backend/kernels.h"

namespace tapedeck::cpu {

using kernels::Values;  // not the recorder's Values

#define KERNEL(result, name, parameters) result name parameters;
#define GPU_KERNEL(...)
#include "engine/backend/kernel_list.h"

}  // namespace tapedeck::cpu
