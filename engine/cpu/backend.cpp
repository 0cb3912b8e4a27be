// The table of CPU kernels.
#include "engine/backend/backend.h"

#include "engine/cpu/kernels.h"

namespace tapedeck::cpu {
namespace {

#pragma GCC diagnostic ignored "-Wunused-parameter"  // of the kernels that the CPU lacks
constinit const Backend table{
#define KERNEL(result, name, parameters) .name = name,
#define GPU_KERNEL(result, name, parameters) .name = [] parameters -> result { throw NoKernel(#name); },
#include "engine/backend/kernel_list.h"
};

}  // namespace
}  // namespace tapedeck::cpu

constinit const tapedeck::Backend* tapedeck::detail::cpu_backend = &tapedeck::cpu::table;
