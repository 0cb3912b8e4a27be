// What is wrong with one of many matrices, on its way to the host.
#pragma once

#include "engine/backend/kernels.h"
#include "engine/cuda/faults.h"

namespace tapedeck::cuda {

/// How a kernel reports a kernels::MatrixFlaw: its matrix as the place, its pivot as the value, and that
/// pivot's value as the amount.
Report report_of(const kernels::FlawText& text);

/// Reports the first of `count` matrices whose info is not 0: pivot info − 1.
void report_flaws(std::int64_t count, const int* info, const kernels::FlawText& text);

}  // namespace tapedeck::cuda
