// The loops of vector/*.cpp, in the widest instruction set that this processor has.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/cpu/elementwise.h"
#include "engine/cpu/reduce.h"

namespace tapedeck::cpu {

/// Steps are in elements; `out` is contiguous.
using UnaryLoop = void (*)(const void* a, std::int64_t a_step, void* out, std::int64_t count);
using BinaryLoop = void (*)(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                            std::int64_t count);
using SelectLoop = void (*)(const void* condition, std::int64_t condition_step, const void* a,
                            std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                            std::int64_t count);
/// Reduces `count` contiguous elements to one.
using ReduceLoop = void (*)(const void* values, std::int64_t count, void* out);
/// Reduces `rows` contiguous rows of `width` elements (`row_step` apart) to one row.
using ReduceRowsLoop = void (*)(const void* values, std::int64_t rows, std::int64_t row_step,
                                std::int64_t width, void* out);
using DotLoop = void (*)(const void* a, const void* b, std::int64_t count, void* out);
/// out[i] = exp(a[i] − shift), and the sum of them.
using ExpSumLoop = void (*)(const void* a, const void* shift, void* out, std::int64_t count, void* sum);
/// C (m × n, row-major, leading dimension ldc) = op(A)·op(B).
using GemmLoop = void (*)(bool transpose_a, bool transpose_b, std::int64_t m, std::int64_t n, std::int64_t k,
                          const double* a, std::int64_t lda, const double* b, std::int64_t ldb, double* c,
                          std::int64_t ldc);

struct LoopTable {
  UnaryLoop unary[unary_count][dtype_count] = {};
  BinaryLoop binary[binary_count][dtype_count] = {};
  UnaryLoop cast[dtype_count][dtype_count] = {};  ///< [from][to]
  SelectLoop select[dtype_count] = {};
  ReduceLoop reduce[reduction_count][dtype_count] = {};
  ReduceRowsLoop reduce_rows[reduction_count][dtype_count] = {};
  DotLoop dot[dtype_count] = {};
  ExpSumLoop exp_sum[dtype_count] = {};
  GemmLoop gemm = nullptr;
  /// Copies without going through the cache. `target` is aligned to 64 bytes.
  void (*stream)(void* target, const void* source, std::size_t bytes) = nullptr;
};

const LoopTable& loops();

enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };
/// The widest one that this processor and this build have.
InstructionSet best_instruction_set();
/// For tests, which compare the sets: no other thread may run a kernel meanwhile. Throws UnimplementedError
/// for a set that this processor lacks.
void use_instruction_set(InstructionSet set);

}  // namespace tapedeck::cpu
