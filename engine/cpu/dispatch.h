// The table of loops of vector/*.cpp, for the widest instruction set that this processor has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "engine/backend/kernels.h"
#include "engine/cpu/loops/fourier_plan.h"
#include "engine/cpu/products/gemm.h"

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
/// out[i] = a·x[i] + b·y[i].
using ScaledSumLoop = void (*)(const void* a, const void* x, const void* b, const void* y, void* out,
                               std::int64_t count);
/// One step of an optimiser; `numbers` as its rule defines them.
using UpdateLoop = void (*)(const UpdateArrays& arrays, const double* numbers, std::int64_t count);
/// out[i] = exp(a[i] − shift), and their sum; the shift is at least the maximum of a.
using ExpSumLoop = void (*)(const void* a, const void* shift, void* out, std::int64_t count, void* sum);
/// The destination of a product: rows `row` values apart, to be added to or overwritten.
template <class T>
struct GemmTarget {
  T* values;
  std::int64_t row;
  bool add;
};
/// One thread's part of a matrix product.
template <class T>
struct GemmLoops {
  std::int64_t tile_rows = 0;  ///< of the result, computed at once
  std::int64_t panel = 0;      ///< columns of a whole panel of the packed right operand
  std::int64_t padding = 0;    ///< its columns are filled up to a multiple of this
  /// Rows of the left operand (m × k, or stored transposed) in groups of `tile_rows`, filled up with zeros.
  void (*pack_left)(bool transposed, std::int64_t m, std::int64_t k, const T* a, std::int64_t lda,
                    T* to) = nullptr;
  /// Columns of the right operand (k × n, or stored transposed) in panels, for a left operand that is packed
  /// or plain.
  void (*pack_right)(bool transposed, bool plain_left, std::int64_t k, std::int64_t n, const T* b,
                     std::int64_t ldb, T* to) = nullptr;
  /// m × k by k × n; b is packed. `a` has rows `a_row` apart, or is packed.
  using Multiply = void (*)(std::int64_t m, std::int64_t n, std::int64_t k, const T* a, std::int64_t a_row,
                            T* b, const GemmTarget<T>& c);
  Multiply multiply = nullptr;
  Multiply multiply_packed = nullptr;
  /// The product of two unpacked operands; `later` values of k follow for the next call. `packed` holds a
  /// panel and, for a transposed left operand, all rows, padded to whole tiles.
  void (*multiply_unpacked)(const MatmulSize& size, const T* a, const T* b, T* packed, const GemmTarget<T>& c,
                            std::int64_t later) = nullptr;
  /// A matrix of `rows` rows of `count` values, `row` apart, and a contiguous vector.
  using MatrixVector = void (*)(std::int64_t rows, std::int64_t count, const T* matrix, std::int64_t row,
                                const T* x, T* out);
  MatrixVector rows_times_vector = nullptr;  ///< out: one value for each row
  MatrixVector vector_times_rows = nullptr;  ///< out: a row
};

/// A window of an image with `channels` values for each pixel, cut to the image; `row_step` elements from row
/// to row.
struct PoolWindow {
  std::int64_t rows, columns, row_step, channels;
};
/// The window begins at `source`, or at `target` if that has the image's shape.
struct PoolingLoops {
  void (*largest)(const void* source, const PoolWindow& window, void* target) = nullptr;
  void (*scatter_to_largest)(const void* source, const PoolWindow& window, const void* gradient,
                             void* target) = nullptr;  ///< adds to the first largest value's place
  void (*mean)(const void* source, const PoolWindow& window, void* target) = nullptr;
  void (*scatter_evenly)(const PoolWindow& window, const void* gradient, void* target) = nullptr;
};

/// Statistics of a block of values, in doubles. `odd` is 0 if all are finite, else NaN; the other fields are
/// then meaningless.
struct BlockStatistics {
  double sum, minimum, maximum, odd;
  std::uint64_t zeros, subnormals;
};
/// Bins of equal width, from twice `low` on. Halved, because the difference of two doubles may overflow.
struct BinScale {
  static constexpr std::int64_t copies = 4;  ///< so that no increment waits for the previous one
  double low, width;                         ///< of all bins, halved
  double scale;                              ///< bins for each half
  double last;                               ///< the number of the last bin
  double outside;                            ///< the number of bins: where NaN and infinities are counted
};
struct StatisticsLoops {
  BlockStatistics (*examine)(const void* values, std::int64_t count) = nullptr;
  /// Whether all values are finite; for floating dtypes only.
  bool (*finite)(const void* values, std::int64_t count) = nullptr;
  /// The sum of squared distances from the mean, of finite values.
  double (*spread)(const void* values, std::int64_t count, double mean) = nullptr;
  /// Adds to `copies` rows of counts: one per bin, and one for non-finite values.
  void (*count_bins)(const void* values, std::int64_t count, const BinScale& bins,
                     std::uint32_t* counts) = nullptr;
};

/// Whether xʸ, with the same y for all elements, has a loop as fast as a product.
template <class T>
constexpr bool is_simple_power(T y) {
  return y == T(2) || y == T(1) || y == T(-1) || y == T(0.5) || (std::is_same_v<T, float> && y == T(3));
}

/// One rotation after another: rows k and k + 1 become c·row(k) + s·row(k + 1) and c·row(k + 1) − s·row(k),
/// for k from 0 to `count` − 1, of rows that are `stride` apart and have `width` values.
template <class T>
using RotationLoop = void (*)(T* rows, std::int64_t stride, std::int64_t width, std::int64_t count,
                              const T* c, const T* s);
/// Part of a bidiagonal matrix, d on its diagonal and e above it: both `step` values apart; −1 for the
/// transposed matrix with rows and columns reversed.
template <class T>
struct BidiagonalPart {
  T* d;
  T* e;
  std::int64_t step, count;
};
/// Steps of QR iterations, which write their rotations' cosines and sines, one fewer than rows.
template <class T>
struct RotationLoops {
  RotationLoop<T> rotate = nullptr;
  /// Of a symmetric tridiagonal matrix, d on its diagonal and e beside it, shifted by `shift`.
  void (*symmetric_step)(T* d, T* e, std::int64_t count, T shift, T* c, T* s) = nullptr;
  /// Shifted by `shift`, or without where that is 0.
  void (*bidiagonal_step)(const BidiagonalPart<T>& part, T shift, T* left_c, T* left_s, T* right_c,
                          T* right_s) = nullptr;
};

/// One row of a step of a recurrent cell; recurrent.h describes the parts of `kept`. `recurrent` is the
/// product with the previous state; `d_kept`, a gradient of `kept`, may be nullptr. Gradients read `dh`, the
/// gradient of the step's state, and replace it by what passes to the previous state without the recurrent
/// product.
template <class T>
struct RecurrentLoops {
  void (*lstm)(std::int64_t units, const T* recurrent, const T* bias, const T* c_before, T* kept,
               T* h) = nullptr;
  void (*lstm_gradient)(std::int64_t units, const T* kept, const T* c_before, const T* d_kept, T* dh, T* dc,
                        T* d_gates) = nullptr;
  void (*gru_after)(std::int64_t units, const T* recurrent, const T* bias, const T* h_before, T* kept,
                    T* h) = nullptr;
  void (*gru_after_gradient)(std::int64_t units, const T* kept, const T* h_before, const T* d_kept, T* dh,
                             T* d_gates) = nullptr;
  void (*gru_before_gates)(std::int64_t units, const T* recurrent, const T* bias, const T* h_before,
                           T* kept) = nullptr;
  void (*gru_before_state)(std::int64_t units, const T* recurrent, const T* bias, const T* h_before, T* kept,
                           T* h) = nullptr;
  void (*gru_before_state_gradient)(std::int64_t units, const T* kept, const T* h_before, const T* d_kept,
                                    T* dh, T* d_gates) = nullptr;
  void (*gru_before_gates_gradient)(std::int64_t units, const T* kept, const T* h_before, const T* d_kept,
                                    const T* d_reset, T* dh, T* d_gates) = nullptr;
  void (*simple_rnn)(std::int64_t units, bool relu, const T* recurrent, const T* bias, T* h) = nullptr;
  void (*simple_rnn_gradient)(std::int64_t units, bool relu, const T* h, T* dh, T* d_gates) = nullptr;
  /// A row of softmax: dy becomes y·(dy − sum)·scale, where sum is Σ dy·y.
  void (*softmax_gradient)(std::int64_t count, const T* y, const T* sum, T scale, T* dy) = nullptr;
};

/// See vector/resample.cpp.
template <class T>
struct ResampleLoops {
  void (*blend_rows)(const T* x, std::int64_t inner, const std::int64_t* indices, const T* weights,
                     std::int64_t taps, T* out) = nullptr;
  void (*blend_pixels)(const T* x, std::int64_t channels, const std::int64_t* indices, const T* weights,
                       std::int64_t taps, std::int64_t count, T* out) = nullptr;
  void (*spread_row)(const T* row, std::int64_t inner, const std::int64_t* indices, const T* weights,
                     std::int64_t taps, T* sums) = nullptr;
};

/// dx = factor·(h − plain − (x − mean)·weighted), where h is dy, or dy·scale.
template <class T>
struct NormalGradient {
  T factor, plain, weighted;
};
/// For one row, and for `rows` contiguous rows of `width` columns, each column with its own mean and factor.
template <class T>
struct NormalizationLoops {
  /// Σ (x − mean)².
  T (*spread)(const T* x, std::int64_t count, T mean) = nullptr;
  /// Σ h and Σ h·(x − mean); h is dy·scale, or dy where scale is null.
  void (*products)(const T* dy, const T* x, const T* scale, std::int64_t count, T mean, T* sums) = nullptr;
  /// y = (x − mean)·factor + offset.
  void (*normalize)(const T* x, std::int64_t count, T mean, T factor, T offset, T* y) = nullptr;
  /// y = (x − mean)·factor·scale + offset.
  void (*normalize_row)(const T* x, std::int64_t count, T mean, T factor, const T* scale, const T* offset,
                        T* y) = nullptr;
  void (*normalize_columns)(const T* x, std::int64_t rows, std::int64_t width, const T* mean, const T* factor,
                            const T* offset, T* y) = nullptr;
  void (*spread_columns)(const T* x, std::int64_t rows, std::int64_t width, const T* mean, T* out) = nullptr;
  /// Σ dy and Σ dy·(x − mean) of each column.
  void (*products_of_columns)(const T* dy, const T* x, std::int64_t rows, std::int64_t width, const T* mean,
                              T* plain, T* weighted) = nullptr;
  void (*gradient)(const T* dy, const T* x, std::int64_t count, T mean, const NormalGradient<T>& of,
                   T* dx) = nullptr;
  /// Adds dy·(x − mean)·factor to dscale and dy to doffset, too.
  void (*gradient_of_row)(const T* dy, const T* x, const T* scale, std::int64_t count, T mean,
                          const NormalGradient<T>& of, T* dx, T* dscale, T* doffset) = nullptr;
  void (*gradient_of_columns)(const T* dy, const T* x, std::int64_t rows, std::int64_t width, const T* mean,
                              const T* factor, const T* plain, const T* weighted, T* dx) = nullptr;
};

struct LoopTable {
  UnaryLoop unary[unary_count][dtype_count] = {};
  BinaryLoop binary[binary_count][dtype_count] = {};
  UnaryLoop cast[dtype_count][dtype_count] = {};  ///< [from][to]
  using WidenLoop = void (*)(const std::uint16_t* from, float* to, std::int64_t count);
  WidenLoop widen_float16 = nullptr;
  WidenLoop widen_bfloat16 = nullptr;
  using NarrowLoop = void (*)(const float* from, std::uint16_t* to, std::int64_t count);
  NarrowLoop narrow_float16 = nullptr;
  NarrowLoop narrow_bfloat16 = nullptr;
  SelectLoop select[dtype_count] = {};
  /// out[i] = min(max(x[i], low), high), of scalars low and high.
  using ClipLoop = void (*)(const void* x, const void* low, const void* high, void* out, std::int64_t count);
  ClipLoop clip[dtype_count] = {};
  ReduceLoop reduce[reduction_count][dtype_count] = {};
  ReduceRowsLoop reduce_rows[reduction_count][dtype_count] = {};
  /// Of `rows` contiguous rows of `width` elements: the first row that has each column's extreme value.
  using ArgRowsLoop = void (*)(bool largest, const void* values, std::int64_t rows, std::int64_t row_step,
                               std::int64_t width, std::int64_t* out);
  ArgRowsLoop arg_rows[dtype_count] = {};
  PoolingLoops pooling[dtype_count] = {};
  StatisticsLoops statistics[dtype_count] = {};
  DotLoop dot[dtype_count] = {};
  DotLoop squared_distance[dtype_count] = {};
  ScaledSumLoop scaled_sum[dtype_count] = {};
  ExpSumLoop exp_sum[dtype_count] = {};
  UpdateLoop update[update_count][dtype_count] = {};
  GemmLoops<float> gemm_float;
  GemmLoops<double> gemm_double;
  NormalizationLoops<float> normalize_float;
  NormalizationLoops<double> normalize_double;
  FourierLoops<float> fourier_float;
  FourierLoops<double> fourier_double;
  ResampleLoops<float> resample_float;
  ResampleLoops<double> resample_double;
  RotationLoops<float> rotation_float;
  RotationLoops<double> rotation_double;
  RecurrentLoops<float> recurrent_float;
  RecurrentLoops<double> recurrent_double;
  /// Words of the blocks `counter` … `counter + blocks − 1`, four each.
  void (*philox_words)(std::uint64_t key, std::uint64_t counter, std::int64_t blocks,
                       std::uint32_t* words) = nullptr;
  /// low + u·range with 24 random bits u from one word each, at most `last`.
  void (*uniform_float)(const std::uint32_t* words, std::int64_t count, float low, float range, float last,
                        float* out) = nullptr;
  /// mean + deviation · normal numbers: pairs of them from pairs of words of the same size.
  using NormalLoop = void (*)(const std::uint32_t* words, std::int64_t pairs, double mean, double deviation,
                              void* out);
  NormalLoop normal_float = nullptr;
  NormalLoop normal_double = nullptr;
  /// memcpy with vector instructions: the string instructions that memcpy uses from a few thousand bytes on
  /// are ten times slower on some processors if source and target have the same offset in their pages.
  void (*copy_bytes)(void* target, const void* source, std::size_t bytes) = nullptr;
  /// Copies without going through the cache. `target` is aligned to 64 bytes.
  void (*stream)(void* target, const void* source, std::size_t bytes) = nullptr;
};

const LoopTable& loops();

enum class InstructionSet : std::uint8_t { baseline, avx2, avx512 };
/// The widest set that this processor and this build have.
InstructionSet best_instruction_set();
/// For tests, which compare the sets: no other thread may run a kernel meanwhile. Throws UnimplementedError
/// for a set that this processor lacks.
void use_instruction_set(InstructionSet set);

}  // namespace tapedeck::cpu
