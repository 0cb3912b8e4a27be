// The CPU's table: every kernel of this folder that ops call.
#include "engine/backend/backend.h"

#include <algorithm>

#include "engine/cpu/attention.h"
#include "engine/cpu/convolution.h"
#include "engine/cpu/copy.h"
#include "engine/cpu/diagonals.h"
#include "engine/cpu/elementwise.h"
#include "engine/cpu/in_top_k.h"
#include "engine/cpu/incomplete.h"
#include "engine/cpu/indices.h"
#include "engine/cpu/length_scales.h"
#include "engine/cpu/matmul.h"
#include "engine/cpu/matrix_batches.h"
#include "engine/cpu/normalization.h"
#include "engine/cpu/pooling.h"
#include "engine/cpu/random.h"
#include "engine/cpu/recurrent.h"
#include "engine/cpu/reduce.h"
#include "engine/cpu/resample.h"
#include "engine/cpu/scan.h"
#include "engine/cpu/search.h"
#include "engine/cpu/segment.h"
#include "engine/cpu/sequence.h"
#include "engine/cpu/softmax.h"
#include "engine/cpu/sort.h"
#include "engine/cpu/update.h"

namespace tapedeck::cpu {
namespace {

struct CpuBackend final : Backend {
  void unary(Unary op, DType dtype, const void* a, void* out, std::int64_t count) const override {
    cpu::unary(op, dtype, a, out, count);
  }
  void unary(Unary op, DType dtype, const Operand& a, void* out, const Shape& shape) const override {
    cpu::unary(op, dtype, a, out, shape);
  }
  void binary(Binary op, DType dtype, const Values& a, const Values& b, void* out,
              std::int64_t count) const override {
    cpu::binary(op, dtype, a.data, a.step, b.data, b.step, out, count);
  }
  void binary(Binary op, DType dtype, const Operand& a, const Operand& b, void* out,
              const Shape& shape) const override {
    cpu::binary(op, dtype, a, b, out, shape);
  }
  void clip(DType dtype, const void* x, const Values& low, const Values& high, void* out,
            std::int64_t count) const override {
    cpu::clip(dtype, x, low.data, high.data, out, count);
  }
  void scaled_sum(DType dtype, const Values& a, const void* x, const Values& b, const void* y, void* out,
                  std::int64_t count) const override {
    cpu::scaled_sum(dtype, a.data, x, b.data, y, out, count);
  }
  void select(DType dtype, const Operand& condition, const Operand& a, const Operand& b, void* out,
              const Shape& shape) const override {
    cpu::select(dtype, condition, a, b, out, shape);
  }
  void cast(DType from, DType to, const Operand& a, void* out, const Shape& shape) const override {
    cpu::cast(from, to, a, out, shape);
  }
  void widen(DType narrow, const std::uint16_t* from, float* to, std::int64_t count) const override {
    cpu::widen(narrow, from, to, count);
  }
  void narrow(DType narrow, const float* from, std::uint16_t* to, std::int64_t count) const override {
    cpu::narrow(narrow, from, to, count);
  }
  void copy(std::size_t size, const void* source, const Strides& source_strides, void* target,
            const Strides& target_strides, const Shape& shape) const override {
    cpu::copy(size, source, source_strides, target, target_strides, shape);
  }
  void fill(std::size_t size, const void* value, void* target, std::int64_t count) const override {
    cpu::fill(size, value, target, count);
  }
  void gather_rows(const void* source, std::int64_t outer, std::int64_t count, const std::int64_t* indices,
                   std::int64_t index_count, std::size_t row_bytes, void* target) const override {
    cpu::gather_rows(source, outer, count, indices, index_count, row_bytes, target);
  }
  void pick(std::size_t size, const void* values, std::int64_t rows, std::int64_t count,
            const std::int64_t* indices, void* out) const override {
    cpu::pick(size, values, rows, count, indices, out);
  }
  void scatter_rows(const void* source, const std::int64_t* numbers, std::int64_t count,
                    std::size_t row_bytes, void* target) const override {
    cpu::scatter_rows(source, numbers, count, row_bytes, target);
  }
  std::optional<BadIndex> check_indices(DType dtype, const void* indices, std::int64_t count,
                                        std::int64_t low, std::int64_t high, std::int64_t* out,
                                        const std::string&) const override {
    return cpu::check_indices(dtype, indices, count, low, high, out);
  }
  void one_hot(std::size_t size, DType dtype, const void* indices, std::int64_t outer, std::int64_t depth,
               std::int64_t inner, const void* on, const void* off, void* out) const override {
    cpu::one_hot(size, dtype, indices, outer, depth, inner, on, off, out);
  }
  std::optional<std::int64_t> slice_numbers(DType dtype, const void* coordinates, std::int64_t rows,
                                            const Shape& shape, std::int64_t rows_per_batch,
                                            std::int64_t* out, const std::string&) const override {
    return cpu::slice_numbers(dtype, coordinates, rows, shape, rows_per_batch, out);
  }
  std::optional<std::int64_t> invert_permutation(const std::int64_t* x, std::int64_t count, std::int64_t* out,
                                                 const std::string&) const override {
    return cpu::invert_permutation(x, count, out);
  }
  std::int64_t count_true(const bool* flags, std::int64_t count) const override {
    return std::count(flags, flags + count, true);
  }
  std::int64_t true_coordinates(const bool* flags, const Shape& shape, std::int64_t room,
                                std::int64_t* out) const override {
    return cpu::true_coordinates(flags, shape, room, out);
  }
  bool any(const bool* flags, std::int64_t count, const std::string&) const override {
    return std::find(flags, flags + count, true) != flags + count;
  }
  void sequence(DType dtype, const Sequence& of, void* out, std::int64_t count) const override {
    cpu::sequence(dtype, of, out, count);
  }
  void linspace(DType dtype, const Values& start, const Values& stop, void* out,
                std::int64_t count) const override {
    cpu::linspace(dtype, start.data, stop.data, out, count);
  }
  void band_part(std::size_t size, const void* matrices, std::int64_t count, std::int64_t rows,
                 std::int64_t columns, std::int64_t lower, std::int64_t upper, void* out) const override {
    cpu::band_part(size, matrices, count, rows, columns, lower, upper, out);
  }
  void pack_diagonals(std::size_t size, const DiagonalBand& band, const void* matrices, std::int64_t count,
                      void* packed) const override {
    cpu::pack_diagonals(size, band, matrices, count, packed);
  }
  void unpack_diagonals(std::size_t size, const DiagonalBand& band, const void* packed, std::int64_t count,
                        void* matrices) const override {
    cpu::unpack_diagonals(size, band, packed, count, matrices);
  }
  void reduce(Reduction op, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
              std::int64_t inner, void* out) const override {
    cpu::reduce(op, dtype, values, outer, count, inner, out);
  }
  void arg_extreme(bool largest, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                   std::int64_t inner, std::int64_t* out) const override {
    cpu::arg_extreme(largest, dtype, values, outer, count, inner, out);
  }
  void dot(DType dtype, const void* a, const void* b, std::int64_t count, void* out) const override {
    cpu::dot(dtype, a, b, count, out);
  }
  void squared_distance(DType dtype, const void* a, const void* b, std::int64_t count,
                        void* out) const override {
    cpu::squared_distance(dtype, a, b, count, out);
  }
  void length_scales(DType dtype, const void* sums, const void* largest, std::int64_t count,
                     void* scales) const override {
    cpu::length_scales(dtype, sums, largest, count, scales);
  }
  void scan(Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
            std::int64_t inner, void* out) const override {
    cpu::scan(kind, dtype, values, outer, count, inner, out);
  }
  void scan_log_sum_exp(Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                        std::int64_t inner, void* out) const override {
    cpu::scan_log_sum_exp(kind, dtype, values, outer, count, inner, out);
  }
  void scan_max(bool reverse, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                void* out, std::int32_t* positions) const override {
    cpu::scan_max(reverse, dtype, values, rows, count, out, positions);
  }
  void segment_rows(Segment op, DType dtype, const void* rows, const std::int64_t* segments,
                    std::int64_t count, std::int64_t width, void* target) const override {
    cpu::segment_rows(op, dtype, rows, segments, count, width, target);
  }
  void segment_neutral(Segment op, DType dtype, void* target, std::int64_t count) const override {
    cpu::segment_neutral(op, dtype, target, count);
  }
  void sort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                 void* out) const override {
    cpu::sort_rows(descending, dtype, values, rows, count, out);
  }
  void argsort_rows(bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                    std::int32_t* out) const override {
    cpu::argsort_rows(descending, dtype, values, rows, count, out);
  }
  void top_k_rows(DType dtype, const void* values, std::int64_t rows, std::int64_t count, std::int64_t k,
                  void* out, std::int32_t* positions) const override {
    cpu::top_k_rows(dtype, values, rows, count, k, out, positions);
  }
  void in_top_k(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                const std::int64_t* targets, std::int64_t k, bool* out) const override {
    cpu::in_top_k(dtype, values, rows, count, targets, k, out);
  }
  void search_rows(bool right, DType dtype, const void* sequences, std::int64_t length, const void* values,
                   std::int64_t count, std::int64_t per_row, DType places, void* out) const override {
    cpu::search_rows(right, dtype, sequences, length, values, count, per_row, places, out);
  }
  void softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
               void* out) const override {
    cpu::softmax(dtype, values, rows, count, out);
  }
  void log_softmax(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                   void* out) const override {
    cpu::log_softmax(dtype, values, rows, count, out);
  }
  void logsumexp(DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                 void* out) const override {
    cpu::logsumexp(dtype, values, rows, count, out);
  }
  void random_uniform(DType dtype, const StreamPlace& place, double low, double high, void* out,
                      std::int64_t count) const override {
    cpu::random_uniform(dtype, place.key, place.counter, low, high, out, count);
  }
  void random_integers(DType dtype, const StreamPlace& place, std::int64_t low, std::int64_t high, void* out,
                       std::int64_t count) const override {
    cpu::random_integers(dtype, place.key, place.counter, low, high, out, count);
  }
  void random_normal(DType dtype, const StreamPlace& place, double mean, double deviation, bool truncated,
                     void* out, std::int64_t count) const override {
    cpu::random_normal(dtype, place.key, place.counter, mean, deviation, truncated, out, count);
  }
  void random_dropout(DType dtype, const StreamPlace& place, double rate, const void* x, void* out,
                      std::int64_t count) const override {
    cpu::random_dropout(dtype, place, rate, x, out, count);
  }
  void random_order(const StreamPlace& place, std::int64_t count, std::int64_t* out) const override {
    cpu::random_order(place, count, out);
  }
  std::int64_t random_classes(DType logits_dtype, const void* logits, std::int64_t rows, std::int64_t classes,
                              const StreamPlace& place, DType dtype, void* out, std::int64_t samples,
                              const std::string&) const override {
    return cpu::random_classes(logits_dtype, logits, rows, classes, place, dtype, out, samples);
  }
  void random_gamma(DType dtype, const void* alpha, std::int64_t alpha_count, const StreamPlace& place,
                    void* out, std::int64_t count) const override {
    cpu::random_gamma(dtype, alpha, alpha_count, place, out, count);
  }
  void random_gamma_slope(int order, DType dtype, const void* alpha, const void* sample, void* out,
                          std::int64_t count) const override {
    cpu::random_gamma_slope(order, dtype, alpha, sample, out, count);
  }
  void random_poisson(const double* lam, std::int64_t lam_count, const StreamPlace& place, DType dtype,
                      void* out, std::int64_t count) const override {
    cpu::random_poisson({lam, static_cast<std::size_t>(lam_count)}, place, dtype, out, count);
  }
  void random_binomial(const double* counts, const double* probabilities, const StreamPlace& place,
                       DType dtype, void* out, std::int64_t count) const override {
    const auto size = static_cast<std::size_t>(count);
    cpu::random_binomial({counts, size}, {probabilities, size}, place, dtype, out);
  }
  void incomplete_gamma(bool upper, DType dtype, const void* a, const void* x, void* out,
                        std::int64_t count) const override {
    cpu::incomplete_gamma(upper, dtype, a, x, out, count);
  }
  void gamma_density(DType dtype, const void* a, const void* x, void* out,
                     std::int64_t count) const override {
    cpu::gamma_density(dtype, a, x, out, count);
  }
  void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out,
                       std::int64_t count) const override {
    cpu::incomplete_beta(dtype, a, b, x, out, count);
  }
  void beta_density(DType dtype, const void* a, const void* b, const void* x, void* out,
                    std::int64_t count) const override {
    cpu::beta_density(dtype, a, b, x, out, count);
  }
  void matmul(DType dtype, const MatmulSize& size, std::span<const void* const> a,
              std::span<const void* const> b, void* out) const override {
    cpu::matmul(dtype, size, a, b, out);
  }
  std::optional<MatrixFlaw> cholesky(const Matrices& of, const void* a, void* l,
                                     const FlawText&) const override {
    return cpu::cholesky(of, a, l);
  }
  std::optional<MatrixFlaw> lu(const Matrices& of, const void* a, void* packed, DType orders, void* order,
                               const FlawText&) const override {
    return cpu::lu(of, a, packed, orders, order);
  }
  std::optional<MatrixFlaw> inverse(const Matrices& of, bool transposed, const void* a, void* out,
                                    const FlawText&) const override {
    return cpu::inverse(of, transposed, a, out);
  }
  std::optional<MatrixFlaw> solve(const Matrices& of, bool transposed, const void* a, const void* b, void* x,
                                  const FlawText&) const override {
    return cpu::solve(of, transposed, a, b, x);
  }
  std::optional<MatrixFlaw> triangular_solve(const Matrices& of, bool lower, bool transposed, const void* a,
                                             const void* b, void* x, const FlawText&) const override {
    return cpu::triangular_solve(of, lower, transposed, a, b, x);
  }
  void determinant(const Matrices& of, const void* a, void* out) const override {
    cpu::determinant(of, a, out);
  }
  void log_determinant(const Matrices& of, const void* a, void* sign, void* log) const override {
    cpu::log_determinant(of, a, sign, log);
  }
  void qr(const Matrices& of, bool full, const void* a, void* q, void* r) const override {
    cpu::qr(of, full, a, q, r);
  }
  void svd(const Matrices& of, bool full, const void* a, void* s, void* u, void* v) const override {
    cpu::svd(of, full, a, s, u, v);
  }
  std::optional<MatrixFlaw> symmetric_eigen(const Matrices& of, const void* a, void* e, void* v,
                                            const FlawText&) const override {
    return cpu::symmetric_eigen(of, a, e, v);
  }
  void pseudo_inverse(const Matrices& of, double rcond, const void* a, void* out) const override {
    cpu::pseudo_inverse(of, rcond, a, out);
  }
  void convolution(DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                   void* out) const override {
    cpu::convolution(dtype, size, input, filter, out);
  }
  void convolution_input_gradient(DType dtype, const ConvolutionSize& size, const void* filter,
                                  const void* gradient, void* out) const override {
    cpu::convolution_input_gradient(dtype, size, filter, gradient, out);
  }
  void convolution_filter_gradient(DType dtype, const ConvolutionSize& size, const void* input,
                                   const void* gradient, void* out) const override {
    cpu::convolution_filter_gradient(dtype, size, input, gradient, out);
  }
  void max_pool(DType dtype, const PoolingSize& size, const void* input, void* out) const override {
    cpu::max_pool(dtype, size, input, out);
  }
  void max_pool_scatter(DType dtype, const PoolingSize& size, const void* input, const void* gradient,
                        void* out) const override {
    cpu::max_pool_scatter(dtype, size, input, gradient, out);
  }
  void max_pool_gather(DType dtype, const PoolingSize& size, const void* input, const void* values,
                       void* out) const override {
    cpu::max_pool_gather(dtype, size, input, values, out);
  }
  void max_pool_positions(DType dtype, const PoolingSize& size, const void* input,
                          std::int64_t* out) const override {
    cpu::max_pool_positions(dtype, size, input, out);
  }
  void avg_pool(DType dtype, const PoolingSize& size, const void* input, void* out) const override {
    cpu::avg_pool(dtype, size, input, out);
  }
  void avg_pool_scatter(DType dtype, const PoolingSize& size, const void* gradient,
                        void* out) const override {
    cpu::avg_pool_scatter(dtype, size, gradient, out);
  }
  void resample(DType dtype, const ResampleSize& size, const void* x, const std::int64_t* indices,
                const void* weights, void* out) const override {
    cpu::resample(dtype, size, x, indices, weights, out);
  }
  void resample_gradient(DType dtype, const ResampleSize& size, const void* dy, const std::int64_t* indices,
                         const void* weights, void* out) const override {
    cpu::resample_gradient(dtype, size, dy, indices, weights, out);
  }
  void batch_norm(DType dtype, const Channels& of, const void* x, const void* scale, const void* offset,
                  double epsilon, void* y, void* mean, void* variance) const override {
    cpu::batch_norm(dtype, of, x, scale, offset, epsilon, y, mean, variance);
  }
  void batch_norm_gradient(DType dtype, const Channels& of, const void* x, const void* scale,
                           const void* mean, const void* variance, const void* dy, double epsilon, void* dx,
                           void* dscale, void* doffset) const override {
    cpu::batch_norm_gradient(dtype, of, x, scale, mean, variance, dy, epsilon, dx, dscale, doffset);
  }
  void layer_norm(DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                  const void* offset, double epsilon, void* y, void* mean, void* variance) const override {
    cpu::layer_norm(dtype, rows, count, x, scale, offset, epsilon, y, mean, variance);
  }
  void layer_norm_gradient(DType dtype, std::int64_t rows, std::int64_t count, const void* x,
                           const void* scale, const void* mean, const void* variance, const void* dy,
                           double epsilon, void* dx, void* dscale, void* doffset) const override {
    cpu::layer_norm_gradient(dtype, rows, count, x, scale, mean, variance, dy, epsilon, dx, dscale, doffset);
  }
  void attention(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                 const AttentionMatrices& keys, const AttentionMatrices& values, const AttentionBias& bias,
                 const AttentionMatrices& out, void* weights) const override {
    cpu::attention(dtype, size, queries, keys, values, bias, out, weights);
  }
  void attention_gradient(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                          const AttentionMatrices& keys, const AttentionMatrices& values, const void* weights,
                          const AttentionCotangents& cotangents,
                          const AttentionGradients& gradients) const override {
    cpu::attention_gradient(dtype, size, queries, keys, values, weights, cotangents, gradients);
  }
  void recurrent(RecurrentCell cell, DType dtype, const RecurrentSize& size, const RecurrentInputs& inputs,
                 const RecurrentResults& results) const override {
    cpu::recurrent(cell, dtype, size, inputs, results);
  }
  void recurrent_gradient(RecurrentCell cell, DType dtype, const RecurrentSize& size,
                          const RecurrentInputs& inputs, const RecurrentResults& results,
                          const RecurrentCotangents& cotangents,
                          const RecurrentGradients& gradients) const override {
    cpu::recurrent_gradient(cell, dtype, size, inputs, results, cotangents, gradients);
  }
  void update(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
              std::int64_t count) const override {
    cpu::update(rule, dtype, arrays, numbers, count);
  }
  std::int64_t sum_rows(DType dtype, const void* values, const std::int64_t* numbers, std::int64_t count,
                        std::int64_t width, std::int64_t* distinct, void* sums) const override {
    return cpu::sum_rows(dtype, values, numbers, count, width, distinct, sums);
  }
  void update_rows(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
                   const std::int64_t* rows, std::int64_t count, std::int64_t width) const override {
    cpu::update_rows(rule, dtype, arrays, numbers, rows, count, width);
  }
};

constinit const CpuBackend table;

}  // namespace
}  // namespace tapedeck::cpu

constinit const tapedeck::Backend* tapedeck::detail::cpu_backend = &tapedeck::cpu::table;
