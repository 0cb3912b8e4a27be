// The table of kernels on one GPU. Each family stands in the file that has the CPU's name: reduce.cu has what
// cpu/reduce.cpp has.
#pragma once

#include "engine/backend/backend.h"

namespace tapedeck::cuda {

class CudaBackend final : public Backend {
 public:
  explicit CudaBackend(int device) : device_(device) {}
  int device() const { return device_; }

  // ---- elementwise ----
  void unary(kernels::Unary op, DType dtype, const void* a, void* out, std::int64_t count) const override;
  void unary(kernels::Unary op, DType dtype, const kernels::Operand& a, void* out,
             const Shape& shape) const override;
  void binary(kernels::Binary op, DType dtype, const kernels::Values& a, const kernels::Values& b, void* out,
              std::int64_t count) const override;
  void binary(kernels::Binary op, DType dtype, const kernels::Operand& a, const kernels::Operand& b,
              void* out, const Shape& shape) const override;
  void clip(DType dtype, const void* x, const kernels::Values& low, const kernels::Values& high, void* out,
            std::int64_t count) const override;
  void scaled_sum(DType dtype, const kernels::Values& a, const void* x, const kernels::Values& b,
                  const void* y, void* out, std::int64_t count) const override;
  void select(DType dtype, const kernels::Operand& condition, const kernels::Operand& a,
              const kernels::Operand& b, void* out, const Shape& shape) const override;
  void cast(DType from, DType to, const kernels::Operand& a, void* out, const Shape& shape) const override;
  void widen(DType narrow, const std::uint16_t* from, float* to, std::int64_t count) const override;
  void narrow(DType narrow, const float* from, std::uint16_t* to, std::int64_t count) const override;

  // ---- moving elements ----
  void copy(std::size_t size, const void* source, const Strides& source_strides, void* target,
            const Strides& target_strides, const Shape& shape) const override;
  void fill(std::size_t size, const void* value, void* target, std::int64_t count) const override;
  void gather_rows(const void* source, std::int64_t outer, std::int64_t count, const std::int64_t* indices,
                   std::int64_t index_count, std::size_t row_bytes, void* target) const override;
  void pick(std::size_t size, const void* values, std::int64_t rows, std::int64_t count,
            const std::int64_t* indices, void* out) const override;
  void scatter_rows(const void* source, const std::int64_t* numbers, std::int64_t count,
                    std::size_t row_bytes, void* target) const override;
  std::optional<BadIndex> check_indices(DType dtype, const void* indices, std::int64_t count,
                                        std::int64_t low, std::int64_t high, std::int64_t* out,
                                        const std::string& what) const override;
  void one_hot(std::size_t size, DType dtype, const void* indices, std::int64_t outer, std::int64_t depth,
               std::int64_t inner, const void* on, const void* off, void* out) const override;
  std::optional<std::int64_t> slice_numbers(DType dtype, const void* coordinates, std::int64_t rows,
                                            const Shape& shape, std::int64_t rows_per_batch,
                                            std::int64_t* out, const std::string& what) const override;
  std::optional<std::int64_t> invert_permutation(const std::int64_t* x, std::int64_t count, std::int64_t* out,
                                                 const std::string& what) const override;
  std::int64_t count_true(const bool* flags, std::int64_t count) const override;
  std::int64_t true_coordinates(const bool* flags, const Shape& shape, std::int64_t room,
                                std::int64_t* out) const override;
  bool any(const bool* flags, std::int64_t count, const std::string& error) const override;

  // ---- numbers at equal steps, bands of matrices ----
  void sequence(DType dtype, const kernels::Sequence& of, void* out, std::int64_t count) const override;
  void linspace(DType dtype, const kernels::Values& start, const kernels::Values& stop, void* out,
                std::int64_t count) const override;
  void band_part(std::size_t size, const void* matrices, std::int64_t count, std::int64_t rows,
                 std::int64_t columns, std::int64_t lower, std::int64_t upper, void* out) const override;
  void pack_diagonals(std::size_t size, const kernels::DiagonalBand& band, const void* matrices,
                      std::int64_t count, void* packed) const override;
  void unpack_diagonals(std::size_t size, const kernels::DiagonalBand& band, const void* packed,
                        std::int64_t count, void* matrices) const override;

  // ---- along rows ----
  void reduce(kernels::Reduction op, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
              std::int64_t inner, void* out) const override;
  void arg_extreme(bool largest, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                   std::int64_t inner, std::int64_t* out) const override;
  void dot(DType dtype, const void* a, const void* b, std::int64_t count, void* out) const override;
  void squared_distance(DType dtype, const void* a, const void* b, std::int64_t count,
                        void* out) const override;
  void length_scales(DType dtype, const void* sums, const void* largest, std::int64_t count,
                     void* scales) const override;
  void scan(kernels::Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
            std::int64_t inner, void* out) const override;
  void scan_log_sum_exp(kernels::Scan kind, DType dtype, const void* values, std::int64_t outer,
                        std::int64_t count, std::int64_t inner, void* out) const override;
  void scan_max(bool reverse, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                void* out, std::int32_t* positions) const override;
  void segment_rows(kernels::Segment op, DType dtype, const void* rows, const std::int64_t* segments,
                    std::int64_t count, std::int64_t width, void* target) const override;
  void segment_neutral(kernels::Segment op, DType dtype, void* target, std::int64_t count) const override;
  void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                 void* out) const override;
  void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                    std::int32_t* out) const override;
  void top_k_rows(DType dtype, const void* values, std::int64_t rows, std::int64_t count, std::int64_t k,
                  void* out, std::int32_t* positions) const override;
  void in_top_k(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                const std::int64_t* targets, std::int64_t k, bool* out) const override;
  void search_rows(bool right, DType dtype, const void* sequences, std::int64_t length, const void* values,
                   std::int64_t count, std::int64_t per_row, DType places, void* out) const override;
  void softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
               void* out) const override;
  void log_softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                   void* out) const override;
  void logsumexp(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                 void* out) const override;

  // ---- random numbers ----
  void random_uniform(DType dtype, const kernels::StreamPlace& place, double low, double high, void* out,
                      std::int64_t count) const override;
  void random_integers(DType dtype, const kernels::StreamPlace& place, std::int64_t low, std::int64_t high,
                       void* out, std::int64_t count) const override;
  void random_normal(DType dtype, const kernels::StreamPlace& place, double mean, double deviation,
                     bool truncated, void* out, std::int64_t count) const override;
  void random_dropout(DType dtype, const kernels::StreamPlace& place, double rate, const void* x, void* out,
                      std::int64_t count) const override;

  // ---- distributions ----
  void incomplete_gamma(bool upper, DType dtype, const void* a, const void* x, void* out,
                        std::int64_t count) const override;
  void gamma_density(DType dtype, const void* a, const void* x, void* out, std::int64_t count) const override;
  void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out,
                       std::int64_t count) const override;
  void beta_density(DType dtype, const void* a, const void* b, const void* x, void* out,
                    std::int64_t count) const override;

  // ---- products ----
  bool multiplies_halves() const override { return true; }
  void matmul(DType dtype, const kernels::MatmulSize& size, std::span<const void* const> a,
              std::span<const void* const> b, void* out) const override;

  // ---- decompositions ----
  std::optional<kernels::MatrixFlaw> cholesky(const kernels::Matrices& of, const void* a, void* l,
                                              const kernels::FlawText& text) const override;
  std::optional<kernels::MatrixFlaw> lu(const kernels::Matrices& of, const void* a, void* packed,
                                        DType orders, void* order,
                                        const kernels::FlawText& text) const override;
  std::optional<kernels::MatrixFlaw> inverse(const kernels::Matrices& of, bool transposed, const void* a,
                                             void* out, const kernels::FlawText& text) const override;
  std::optional<kernels::MatrixFlaw> solve(const kernels::Matrices& of, bool transposed, const void* a,
                                           const void* b, void* x,
                                           const kernels::FlawText& text) const override;
  std::optional<kernels::MatrixFlaw> triangular_solve(const kernels::Matrices& of, bool lower,
                                                      bool transposed, const void* a, const void* b, void* x,
                                                      const kernels::FlawText& text) const override;
  void determinant(const kernels::Matrices& of, const void* a, void* out) const override;
  void log_determinant(const kernels::Matrices& of, const void* a, void* sign, void* log) const override;
  void qr(const kernels::Matrices& of, bool full, const void* a, void* q, void* r) const override;
  void svd(const kernels::Matrices& of, bool full, const void* a, void* s, void* u, void* v) const override;
  std::optional<kernels::MatrixFlaw> symmetric_eigen(const kernels::Matrices& of, const void* a, void* e,
                                                     void* v, const kernels::FlawText& text) const override;
  void pseudo_inverse(const kernels::Matrices& of, double rcond, const void* a, void* out) const override;

  // ---- images ----
  void convolution(DType dtype, const kernels::ConvolutionSize& size, const void* input, const void* filter,
                   void* out) const override;
  void convolution_input_gradient(DType dtype, const kernels::ConvolutionSize& size, const void* filter,
                                  const void* gradient, void* out) const override;
  void convolution_filter_gradient(DType dtype, const kernels::ConvolutionSize& size, const void* input,
                                   const void* gradient, void* out) const override;
  void max_pool(DType dtype, const kernels::PoolingSize& size, const void* input, void* out) const override;
  void max_pool_scatter(DType dtype, const kernels::PoolingSize& size, const void* input,
                        const void* gradient, void* out) const override;
  void max_pool_gather(DType dtype, const kernels::PoolingSize& size, const void* input, const void* values,
                       void* out) const override;
  void max_pool_positions(DType dtype, const kernels::PoolingSize& size, const void* input,
                          std::int64_t* out) const override;
  void avg_pool(DType dtype, const kernels::PoolingSize& size, const void* input, void* out) const override;
  void avg_pool_scatter(DType dtype, const kernels::PoolingSize& size, const void* gradient,
                        void* out) const override;

  void resample(DType dtype, const kernels::ResampleSize& size, const void* x, const std::int64_t* indices,
                const void* weights, void* out) const override;
  void resample_gradient(DType dtype, const kernels::ResampleSize& size, const void* dy,
                         const std::int64_t* indices, const void* weights, void* out) const override;

  // ---- layers ----
  void batch_norm(DType dtype, const kernels::Channels& of, const void* x, const void* scale,
                  const void* offset, double epsilon, void* y, void* mean, void* variance) const override;
  void batch_norm_gradient(DType dtype, const kernels::Channels& of, const void* x, const void* scale,
                           const void* mean, const void* variance, const void* dy, double epsilon, void* dx,
                           void* dscale, void* doffset) const override;
  void layer_norm(DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                  const void* offset, double epsilon, void* y, void* mean, void* variance) const override;
  void layer_norm_gradient(DType dtype, std::int64_t rows, std::int64_t count, const void* x,
                           const void* scale, const void* mean, const void* variance, const void* dy,
                           double epsilon, void* dx, void* dscale, void* doffset) const override;
  void attention(DType dtype, const kernels::AttentionSize& size, const kernels::AttentionMatrices& queries,
                 const kernels::AttentionMatrices& keys, const kernels::AttentionMatrices& values,
                 const kernels::AttentionBias& bias, const kernels::AttentionMatrices& out,
                 void* weights) const override;
  void attention_gradient(DType dtype, const kernels::AttentionSize& size,
                          const kernels::AttentionMatrices& queries, const kernels::AttentionMatrices& keys,
                          const kernels::AttentionMatrices& values, const void* weights,
                          const kernels::AttentionCotangents& cotangents,
                          const kernels::AttentionGradients& gradients) const override;
  void recurrent(kernels::RecurrentCell cell, DType dtype, const kernels::RecurrentSize& size,
                 const kernels::RecurrentInputs& inputs,
                 const kernels::RecurrentResults& results) const override;
  void recurrent_gradient(kernels::RecurrentCell cell, DType dtype, const kernels::RecurrentSize& size,
                          const kernels::RecurrentInputs& inputs, const kernels::RecurrentResults& results,
                          const kernels::RecurrentCotangents& cotangents,
                          const kernels::RecurrentGradients& gradients) const override;

  // ---- optimisers ----
  void update(kernels::Update rule, DType dtype, const kernels::UpdateArrays& arrays, const double* numbers,
              std::int64_t count) const override;
  std::int64_t sum_rows(DType dtype, const void* values, const std::int64_t* numbers, std::int64_t count,
                        std::int64_t width, std::int64_t* distinct, void* sums) const override;
  void update_rows(kernels::Update rule, DType dtype, const kernels::UpdateArrays& arrays,
                   const double* numbers, const std::int64_t* rows, std::int64_t count,
                   std::int64_t width) const override;

  // ---- what is told of values ----
  void summarize(DType dtype, const void* values, std::int64_t count,
                 kernels::BlockSummary* blocks) const override;
  void histogram(DType dtype, const void* values, std::int64_t count, double minimum, double maximum,
                 std::span<std::uint64_t> counts) const override;
  void cell_means(DType dtype, const void* values, const kernels::Cells& cells, double* means) const override;
  void differences(DType dtype, const void* a, const void* b, std::int64_t count,
                   const kernels::AllowedDifference& allowed,
                   kernels::BlockDifference* blocks) const override;

 private:
  int device_;
};

}  // namespace tapedeck::cuda
