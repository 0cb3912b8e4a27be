// Reports failed decompositions of a batch of matrices to the host.
#pragma once

#include "engine/backend/kernels.h"
#include "engine/cuda/faults.h"

namespace tapedeck::cuda {

/// How a kernel reports a kernels::MatrixFailure: its matrix as the place, its pivot as the value, and that
/// pivot's value as the amount.
Report report_of(const kernels::FailureText& text);

/// Reports the first of `count` matrices whose info is not 0: pivot info − 1.
void report_failures(std::int64_t count, const int* info, const kernels::FailureText& text);

}  // namespace tapedeck::cuda
