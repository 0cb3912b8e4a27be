// The kernels of GPUs: the functions of backend/kernel_list.h, which says what each computes. A family stands
// in the file that has the CPU's name: reduce.cu has what cpu/loops/reduce.cpp has. They go to the device of
// the op that runs on the calling thread (current_device()).
#pragma once

#include "engine/backend/backend.h"

namespace tapedeck::cuda {

using namespace kernels;

#define KERNEL(result, name, parameters) result name parameters;
#define CPU_KERNEL(...)
#include "engine/backend/kernel_list.h"

/// The table that holds them, the same for each GPU.
extern const Backend kernel_table;

}  // namespace tapedeck::cuda
