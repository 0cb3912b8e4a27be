// The functions of linear_algebra.h for each matrix of a batch, on several threads. Results are contiguous as
// the inputs are.
#pragma once

#include <mutex>
#include <optional>

#include "engine/backend/kernels.h"
#include "engine/cpu/blocks.h"
#include "engine/tensor/interrupt.h"

namespace tapedeck::cpu {

/// Calls `f(number)` for each matrix of a batch, on several threads. `operations`: what one costs.
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
/// The same where `f` returns a flaw or none; returns that of the first matrix that has one, whichever thread
/// found it.
template <class F>
std::optional<MatrixFlaw> first_flaw(std::int64_t count, double operations, F&& f) {
  std::mutex mutex;
  std::optional<MatrixFlaw> first;
  for_matrices(count, operations, [&](std::int64_t number) {
    const Flaw flaw = f(number);
    if (!flaw) return;
    const std::lock_guard lock(mutex);
    if (!first || number < first->matrix) first = {number, flaw};
  });
  return first;
}

std::optional<MatrixFlaw> cholesky(const Matrices& of, const void* a, void* l);
/// `orders`: int32 or int64.
std::optional<MatrixFlaw> lu(const Matrices& of, const void* a, void* packed, DType orders, void* order);
std::optional<MatrixFlaw> inverse(const Matrices& of, bool transposed, const void* a, void* out);
/// `of`: the right sides.
std::optional<MatrixFlaw> solve(const Matrices& of, bool transposed, const void* a, const void* b, void* x);
std::optional<MatrixFlaw> triangular_solve(const Matrices& of, bool lower, bool transposed, const void* a,
                                           const void* b, void* x);
void determinant(const Matrices& of, const void* a, void* out);
void log_determinant(const Matrices& of, const void* a, void* sign, void* log);
void qr(const Matrices& of, bool full, const void* a, void* q, void* r);
void svd(const Matrices& of, bool full, const void* a, void* s, void* u, void* v);
/// The flaw of a matrix whose iteration did not converge has no pivot: its place is 0.
std::optional<MatrixFlaw> symmetric_eigen(const Matrices& of, const void* a, void* e, void* v);
void pseudo_inverse(const Matrices& of, double rcond, const void* a, void* out);

}  // namespace tapedeck::cpu
