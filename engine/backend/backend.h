// The table of kernels that ops call, one for each device.
//
// Pointers lead to memory of the backend's own device, where nothing else is said; extents, strides and
// numbers come by value. The CPU has all of them but the last few, and they are done when they return. A
// GPU's only begin then: they run on the calling thread's stream, one after the other. What a kernel computes
// is said beside the CPU's (cpu/reduce.h and so on), which is the oracle of the others.
#pragma once

#include <array>
#include <optional>
#include <string>

#include "engine/backend/inspection.h"
#include "engine/backend/kernels.h"
#include "engine/tensor/device.h"
#include "engine/tensor/error.h"

namespace tapedeck {

/// Thrown by a kernel that a device lacks, before it did anything: run_op then takes the op to the CPU.
class NoKernel : public Error {
 public:
  explicit NoKernel(const std::string& kernel) : Error("no kernel " + kernel + " on this device") {}
};

/// An index that lies outside of its range.
struct BadIndex {
  std::int64_t place;  ///< in row-major order
  std::int64_t value;
};

/// "[1, 0]" for a matrix of a batch, nothing where there is one.
std::string place_in_batch(const Shape& batch, std::int64_t number);
/// The text with the names of op and input in it.
std::string named(const kernels::FlawText& text);
/// What the error says.
std::string told(const kernels::FlawText& text, const kernels::MatrixFlaw& flaw);

class Backend {
 public:
  virtual ~Backend() = default;

  // ---- elementwise (cpu/elementwise.h) ----
  virtual void unary(kernels::Unary op, DType dtype, const void* a, void* out, std::int64_t count) const;
  virtual void unary(kernels::Unary op, DType dtype, const kernels::Operand& a, void* out,
                     const Shape& shape) const;
  virtual void binary(kernels::Binary op, DType dtype, const kernels::Values& a, const kernels::Values& b,
                      void* out, std::int64_t count) const;
  virtual void binary(kernels::Binary op, DType dtype, const kernels::Operand& a, const kernels::Operand& b,
                      void* out, const Shape& shape) const;
  virtual void clip(DType dtype, const void* x, const kernels::Values& low, const kernels::Values& high,
                    void* out, std::int64_t count) const;
  virtual void scaled_sum(DType dtype, const kernels::Values& a, const void* x, const kernels::Values& b,
                          const void* y, void* out, std::int64_t count) const;
  virtual void select(DType dtype, const kernels::Operand& condition, const kernels::Operand& a,
                      const kernels::Operand& b, void* out, const Shape& shape) const;
  virtual void cast(DType from, DType to, const kernels::Operand& a, void* out, const Shape& shape) const;
  virtual void widen(DType narrow, const std::uint16_t* from, float* to, std::int64_t count) const;
  virtual void narrow(DType narrow, const float* from, std::uint16_t* to, std::int64_t count) const;

  // ---- moving elements (cpu/copy.h, indices.h, search.h) ----
  virtual void copy(std::size_t size, const void* source, const Strides& source_strides, void* target,
                    const Strides& target_strides, const Shape& shape) const;
  /// `value` stands in memory of the host.
  virtual void fill(std::size_t size, const void* value, void* target, std::int64_t count) const;
  virtual void gather_rows(const void* source, std::int64_t outer, std::int64_t count,
                           const std::int64_t* indices, std::int64_t index_count, std::size_t row_bytes,
                           void* target) const;
  /// out[i] = values[i·count + indices[i]], elements of `size` bytes; indices lie in [0, count).
  virtual void pick(std::size_t size, const void* values, std::int64_t rows, std::int64_t count,
                    const std::int64_t* indices, void* out) const;
  virtual void scatter_rows(const void* source, const std::int64_t* numbers, std::int64_t count,
                            std::size_t row_bytes, void* target) const;
  /// Writes int32 or int64 indices as int64, and says which is the first that lies outside [low, high). A
  /// GPU does not wait for that: it writes `low` in its place and refuses the op's result by an error that
  /// names `what` when the host reads from the device the next time.
  virtual std::optional<BadIndex> check_indices(DType dtype, const void* indices, std::int64_t count,
                                                std::int64_t low, std::int64_t high, std::int64_t* out,
                                                const std::string& what) const;

  /// out: outer × depth × inner elements of `size` bytes; indices: outer × inner, int32 or int64. out[o, k,
  /// i] is `on` where k is the index, else `off`; both stand in memory of the host. Any index is allowed.
  virtual void one_hot(std::size_t size, DType dtype, const void* indices, std::int64_t outer,
                       std::int64_t depth, std::int64_t inner, const void* on, const void* off,
                       void* out) const;
  /// Of `rows` contiguous rows of int32 or int64 coordinates in `shape`, one for each of its axes: their
  /// row-major numbers, of row r plus ⌊r / rows_per_batch⌋·(elements of shape). Says which is the first row
  /// that lies outside; a GPU does not wait for that, as in check_indices, and writes 0 in its place.
  virtual std::optional<std::int64_t> slice_numbers(DType dtype, const void* coordinates, std::int64_t rows,
                                                    const Shape& shape, std::int64_t rows_per_batch,
                                                    std::int64_t* out, const std::string& what) const;
  /// out[x[i]] = i, of numbers in [0, count). Says which is the first i whose number stood before; out[x[i]]
  /// is then where. A GPU does not wait for that, as in check_indices.
  virtual std::optional<std::int64_t> invert_permutation(const std::int64_t* x, std::int64_t count,
                                                         std::int64_t* out, const std::string& what) const;

  /// How many flags are true. A GPU waits for it.
  virtual std::int64_t count_true(const bool* flags, std::int64_t count) const;
  /// The coordinates of the true flags of `shape`, in row-major order, as room × rank. Says how many rows it
  /// wrote, at most `room`; a GPU does not look again and says `room`, which count_true gave.
  virtual std::int64_t true_coordinates(const bool* flags, const Shape& shape, std::int64_t room,
                                        std::int64_t* out) const;
  /// Whether one of the flags is true. A GPU says no without waiting; where one is, the host's next read from
  /// the device throws InvalidArgumentError with this text.
  virtual bool any(const bool* flags, std::int64_t count, const std::string& error) const;

  // ---- numbers at equal steps, bands of matrices (cpu/sequence.h, diagonals.h) ----
  virtual void sequence(DType dtype, const kernels::Sequence& of, void* out, std::int64_t count) const;
  /// From start to stop, one value of `dtype` each.
  virtual void linspace(DType dtype, const kernels::Values& start, const kernels::Values& stop, void* out,
                        std::int64_t count) const;
  /// Zeros where i − j > lower or j − i > upper; neither is negative.
  virtual void band_part(std::size_t size, const void* matrices, std::int64_t count, std::int64_t rows,
                         std::int64_t columns, std::int64_t lower, std::int64_t upper, void* out) const;
  /// Between `count` matrices and their diagonals; what is not on a diagonal stays.
  virtual void pack_diagonals(std::size_t size, const kernels::DiagonalBand& band, const void* matrices,
                              std::int64_t count, void* packed) const;
  virtual void unpack_diagonals(std::size_t size, const kernels::DiagonalBand& band, const void* packed,
                                std::int64_t count, void* matrices) const;

  // ---- along rows (cpu/reduce.h, length_scales.h, scan.h, segment.h, sort.h, search.h, in_top_k.h,
  // softmax.h) ----
  virtual void reduce(kernels::Reduction op, DType dtype, const void* values, std::int64_t outer,
                      std::int64_t count, std::int64_t inner, void* out) const;
  virtual void arg_extreme(bool largest, DType dtype, const void* values, std::int64_t outer,
                           std::int64_t count, std::int64_t inner, std::int64_t* out) const;
  virtual void dot(DType dtype, const void* a, const void* b, std::int64_t count, void* out) const;
  virtual void squared_distance(DType dtype, const void* a, const void* b, std::int64_t count,
                                void* out) const;
  /// Of sums of squares and the largest sizes among what was squared: 2⁻ᵉ with the exponent e of largest[i]
  /// where sums[i] lost digits (cpu/length_scales.h), else 1.
  virtual void length_scales(DType dtype, const void* sums, const void* largest, std::int64_t count,
                             void* scales) const;
  virtual void scan(kernels::Scan kind, DType dtype, const void* values, std::int64_t outer,
                    std::int64_t count, std::int64_t inner, void* out) const;
  virtual void scan_log_sum_exp(kernels::Scan kind, DType dtype, const void* values, std::int64_t outer,
                                std::int64_t count, std::int64_t inner, void* out) const;
  virtual void scan_max(bool reverse, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                        void* out, std::int32_t* positions) const;
  virtual void segment_rows(kernels::Segment op, DType dtype, const void* rows, const std::int64_t* segments,
                            std::int64_t count, std::int64_t width, void* target) const;
  virtual void segment_neutral(kernels::Segment op, DType dtype, void* target, std::int64_t count) const;
  virtual void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows,
                         std::int64_t count, void* out) const;
  virtual void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows,
                            std::int64_t count, std::int32_t* out) const;
  virtual void top_k_rows(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                          std::int64_t k, void* out, std::int32_t* positions) const;
  virtual void in_top_k(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                        const std::int64_t* targets, std::int64_t k, bool* out) const;
  /// Where values would stand in sorted sequences of `length` values: value i in number ⌊i / per_row⌋, before
  /// those that are equal or, from the `right`, behind them. `places` is int32 or int64.
  virtual void search_rows(bool right, DType dtype, const void* sequences, std::int64_t length,
                           const void* values, std::int64_t count, std::int64_t per_row, DType places,
                           void* out) const;
  virtual void softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                       void* out) const;
  virtual void log_softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                           void* out) const;
  virtual void logsumexp(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                         void* out) const;

  // ---- random numbers (cpu/random.h) ----
  virtual void random_uniform(DType dtype, const kernels::StreamPlace& place, double low, double high,
                              void* out, std::int64_t count) const;
  virtual void random_integers(DType dtype, const kernels::StreamPlace& place, std::int64_t low,
                               std::int64_t high, void* out, std::int64_t count) const;
  virtual void random_normal(DType dtype, const kernels::StreamPlace& place, double mean, double deviation,
                             bool truncated, void* out, std::int64_t count) const;
  virtual void random_dropout(DType dtype, const kernels::StreamPlace& place, double rate, const void* x,
                              void* out, std::int64_t count) const;
  /// One number after the other: ops ask the CPU for it, and `out` stands in memory of the host.
  virtual void random_order(const kernels::StreamPlace& place, std::int64_t count, std::int64_t* out) const;
  /// Says which is the first row of logits that is no distribution, or −1. A GPU does not wait for that: the
  /// host's next read from the device throws InvalidArgumentError with this text.
  virtual std::int64_t random_classes(DType logits_dtype, const void* logits, std::int64_t rows,
                                      std::int64_t classes, const kernels::StreamPlace& place, DType dtype,
                                      void* out, std::int64_t samples, const std::string& error) const;
  virtual void random_gamma(DType dtype, const void* alpha, std::int64_t alpha_count,
                            const kernels::StreamPlace& place, void* out, std::int64_t count) const;
  virtual void random_gamma_slope(int order, DType dtype, const void* alpha, const void* sample, void* out,
                                  std::int64_t count) const;
  virtual void random_poisson(const double* lam, std::int64_t lam_count, const kernels::StreamPlace& place,
                              DType dtype, void* out, std::int64_t count) const;
  virtual void random_binomial(const double* counts, const double* probabilities,
                               const kernels::StreamPlace& place, DType dtype, void* out,
                               std::int64_t count) const;

  // ---- distributions (cpu/incomplete.h) ----
  virtual void incomplete_gamma(bool upper, DType dtype, const void* a, const void* x, void* out,
                                std::int64_t count) const;
  virtual void gamma_density(DType dtype, const void* a, const void* x, void* out, std::int64_t count) const;
  virtual void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out,
                               std::int64_t count) const;
  virtual void beta_density(DType dtype, const void* a, const void* b, const void* x, void* out,
                            std::int64_t count) const;

  // ---- products (cpu/matmul.h) ----
  /// matmul takes float16 and bfloat16 as they are, too, and adds in float32.
  virtual bool multiplies_halves() const { return false; }
  /// The lists of first elements stand in memory of the host, here and in AttentionMatrices.
  virtual void matmul(DType dtype, const kernels::MatmulSize& size, std::span<const void* const> a,
                      std::span<const void* const> b, void* out) const;

  // ---- decompositions (cpu/linear_algebra.h) ----
  // Each says which is the first matrix that has a flaw. A GPU does not wait for that: the host's next read
  // from the device throws InvalidArgumentError with this text.
  virtual std::optional<kernels::MatrixFlaw> cholesky(const kernels::Matrices& of, const void* a, void* l,
                                                      const kernels::FlawText& text) const;
  /// `orders`: int32 or int64, the dtype of `order`.
  virtual std::optional<kernels::MatrixFlaw> lu(const kernels::Matrices& of, const void* a, void* packed,
                                                DType orders, void* order,
                                                const kernels::FlawText& text) const;
  virtual std::optional<kernels::MatrixFlaw> inverse(const kernels::Matrices& of, bool transposed,
                                                     const void* a, void* out,
                                                     const kernels::FlawText& text) const;
  /// `of`: the right sides.
  virtual std::optional<kernels::MatrixFlaw> solve(const kernels::Matrices& of, bool transposed,
                                                   const void* a, const void* b, void* x,
                                                   const kernels::FlawText& text) const;
  virtual std::optional<kernels::MatrixFlaw> triangular_solve(const kernels::Matrices& of, bool lower,
                                                              bool transposed, const void* a, const void* b,
                                                              void* x, const kernels::FlawText& text) const;
  virtual void determinant(const kernels::Matrices& of, const void* a, void* out) const;
  virtual void log_determinant(const kernels::Matrices& of, const void* a, void* sign, void* log) const;
  virtual void qr(const kernels::Matrices& of, bool full, const void* a, void* q, void* r) const;
  /// u and v may be nullptr, both.
  virtual void svd(const kernels::Matrices& of, bool full, const void* a, void* s, void* u, void* v) const;
  /// v may be nullptr. The flaw is that the iteration did not converge.
  virtual std::optional<kernels::MatrixFlaw> symmetric_eigen(const kernels::Matrices& of, const void* a,
                                                             void* e, void* v,
                                                             const kernels::FlawText& text) const;
  virtual void pseudo_inverse(const kernels::Matrices& of, double rcond, const void* a, void* out) const;

  // ---- images (cpu/convolution.h, pooling.h) ----
  virtual void convolution(DType dtype, const kernels::ConvolutionSize& size, const void* input,
                           const void* filter, void* out) const;
  virtual void convolution_input_gradient(DType dtype, const kernels::ConvolutionSize& size,
                                          const void* filter, const void* gradient, void* out) const;
  virtual void convolution_filter_gradient(DType dtype, const kernels::ConvolutionSize& size,
                                           const void* input, const void* gradient, void* out) const;
  virtual void max_pool(DType dtype, const kernels::PoolingSize& size, const void* input, void* out) const;
  virtual void max_pool_scatter(DType dtype, const kernels::PoolingSize& size, const void* input,
                                const void* gradient, void* out) const;
  virtual void max_pool_gather(DType dtype, const kernels::PoolingSize& size, const void* input,
                               const void* values, void* out) const;
  virtual void max_pool_positions(DType dtype, const kernels::PoolingSize& size, const void* input,
                                  std::int64_t* out) const;
  virtual void avg_pool(DType dtype, const kernels::PoolingSize& size, const void* input, void* out) const;
  virtual void avg_pool_scatter(DType dtype, const kernels::PoolingSize& size, const void* gradient,
                                void* out) const;

  /// See cpu/resample.h; indices lie in range.
  virtual void resample(DType dtype, const kernels::ResampleSize& size, const void* x,
                        const std::int64_t* indices, const void* weights, void* out) const;
  virtual void resample_gradient(DType dtype, const kernels::ResampleSize& size, const void* dy,
                                 const std::int64_t* indices, const void* weights, void* out) const;

  // ---- layers (cpu/normalization.h, attention.h, recurrent.h) ----
  virtual void batch_norm(DType dtype, const kernels::Channels& of, const void* x, const void* scale,
                          const void* offset, double epsilon, void* y, void* mean, void* variance) const;
  virtual void batch_norm_gradient(DType dtype, const kernels::Channels& of, const void* x, const void* scale,
                                   const void* mean, const void* variance, const void* dy, double epsilon,
                                   void* dx, void* dscale, void* doffset) const;
  virtual void layer_norm(DType dtype, std::int64_t rows, std::int64_t count, const void* x,
                          const void* scale, const void* offset, double epsilon, void* y, void* mean,
                          void* variance) const;
  virtual void layer_norm_gradient(DType dtype, std::int64_t rows, std::int64_t count, const void* x,
                                   const void* scale, const void* mean, const void* variance, const void* dy,
                                   double epsilon, void* dx, void* dscale, void* doffset) const;
  virtual void attention(DType dtype, const kernels::AttentionSize& size,
                         const kernels::AttentionMatrices& queries, const kernels::AttentionMatrices& keys,
                         const kernels::AttentionMatrices& values, const kernels::AttentionBias& bias,
                         const kernels::AttentionMatrices& out, void* weights) const;
  virtual void attention_gradient(DType dtype, const kernels::AttentionSize& size,
                                  const kernels::AttentionMatrices& queries,
                                  const kernels::AttentionMatrices& keys,
                                  const kernels::AttentionMatrices& values, const void* weights,
                                  const kernels::AttentionCotangents& cotangents,
                                  const kernels::AttentionGradients& gradients) const;
  virtual void recurrent(kernels::RecurrentCell cell, DType dtype, const kernels::RecurrentSize& size,
                         const kernels::RecurrentInputs& inputs,
                         const kernels::RecurrentResults& results) const;
  virtual void recurrent_gradient(kernels::RecurrentCell cell, DType dtype,
                                  const kernels::RecurrentSize& size, const kernels::RecurrentInputs& inputs,
                                  const kernels::RecurrentResults& results,
                                  const kernels::RecurrentCotangents& cotangents,
                                  const kernels::RecurrentGradients& gradients) const;

  // ---- optimisers (cpu/update.h) ----
  /// `numbers` stand in memory of the host.
  virtual void update(kernels::Update rule, DType dtype, const kernels::UpdateArrays& arrays,
                      const double* numbers, std::int64_t count) const;
  /// Adds up the rows of `values`, count × width, that have one number, in their order: `distinct` gets each
  /// number once, rising, and `sums` the sum for each. Returns how many there are. A GPU does not wait for
  /// that: it returns `count`, and the numbers behind the last one are −1.
  virtual std::int64_t sum_rows(DType dtype, const void* values, const std::int64_t* numbers,
                                std::int64_t count, std::int64_t width, std::int64_t* distinct,
                                void* sums) const;
  /// `rows` stand in the device's memory. Negative ones are left out.
  virtual void update_rows(kernels::Update rule, DType dtype, const kernels::UpdateArrays& arrays,
                           const double* numbers, const std::int64_t* rows, std::int64_t count,
                           std::int64_t width) const;

  // ---- what is told of values (inspection.h) ----
  // Of GPUs alone: the inspector reads the host's memory itself. Results stand in memory of the host; these
  // wait for them. No narrow dtypes. Each block of values gives one result, in their order.
  virtual void summarize(DType dtype, const void* values, std::int64_t count,
                         kernels::BlockSummary* blocks) const;
  /// Finite values in equal bins from minimum to maximum, at least one; up to 12,288.
  virtual void histogram(DType dtype, const void* values, std::int64_t count, double minimum, double maximum,
                         std::span<std::uint64_t> counts) const;
  /// Row-major.
  virtual void cell_means(DType dtype, const void* values, const kernels::Cells& cells, double* means) const;
  virtual void differences(DType dtype, const void* a, const void* b, std::int64_t count,
                           const kernels::AllowedDifference& allowed, kernels::BlockDifference* blocks) const;
};

namespace detail {
extern constinit const Backend* cpu_backend;  ///< of cpu/backend.cpp
extern constinit std::array<const Backend*, most_gpus> gpu_backends;
}  // namespace detail

/// The device's; the GPU must be there.
inline const Backend& backend(Device device) {
  if (device.kind == DeviceKind::cpu) [[likely]]
    return *detail::cpu_backend;
  return *detail::gpu_backends[device.index];
}
#ifndef __CUDACC__
/// That of the op that runs on this thread, on whose device Tensor::allocate takes memory; else the CPU's.
inline const Backend& backend() {
  return backend(op_device());
}
#endif

}  // namespace tapedeck
