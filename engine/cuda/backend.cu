// The table of GPUs.
#include "engine/cuda/kernels.h"

namespace tapedeck::cuda {

#pragma GCC diagnostic ignored "-Wunused-parameter"  // of the kernels that GPUs lack
constinit const Backend kernel_table{
#define KERNEL(result, name, parameters) .name = name,
#define CPU_KERNEL(result, name, parameters) .name = [] parameters -> result { throw NoKernel(#name); },
#include "engine/backend/kernel_list.h"
    .multiplies_halves = true,
};

}  // namespace tapedeck::cuda
