// The GPU kernels: the functions of backend/kernel_list.h, which says what each computes. Each family is in
// the file with the CPU's name: reduce.cu corresponds to cpu/loops/reduce.cpp. They run on the device of the
// calling thread's op (current_device()).
#pragma once

#include "engine/backend/backend.h"

namespace tapedeck::cuda {

using namespace kernels;

#define KERNEL(result, name, parameters) result name parameters;
#define CPU_KERNEL(...)
#include "engine/backend/kernel_list.h"

/// The table of these kernels, the same for each GPU.
extern const Backend kernel_table;

}  // namespace tapedeck::cuda
