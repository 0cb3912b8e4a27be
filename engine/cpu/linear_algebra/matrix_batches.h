// Runs a function on each matrix of a batch, on several threads.
#pragma once

#include <mutex>
#include <optional>

#include "engine/backend/kernels.h"
#include "engine/cpu/blocks.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::cpu {

/// Calls `f(number)` for each matrix of a batch, on several threads. `operations`: the cost of one.
template <class F>
void for_matrices(std::int64_t count, double operations, F&& f) {
  if (count == 1 && operations > 1e5) {
    const HostUnlock unlock;  // one block would run inline, with the host's other threads waiting
    return f(std::int64_t{0});
  }
  for_blocks(count, grain_for(50.0 + operations), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t number = begin; number < end; ++number) f(number);
  });
}
/// The same for an `f` that can fail; returns the failure of the first matrix that has one, whichever thread
/// found it.
template <class F>
std::optional<MatrixFailure> first_failure(std::int64_t count, double operations, F&& f) {
  std::mutex mutex;
  std::optional<MatrixFailure> first;
  for_matrices(count, operations, [&](std::int64_t number) {
    const NumericalFailure failure = f(number);
    if (!failure) return;
    const std::lock_guard lock(mutex);
    if (!first || number < first->matrix) first = {number, failure};
  });
  return first;
}

}  // namespace tapedeck::cpu
