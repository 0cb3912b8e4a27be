// Every op as a C++ function. Names, arguments and rules are those of the registry rows; see each row's doc.
#pragma once

#include <optional>
#include <utility>

#include "engine/ops/run_op.h"

namespace tapedeck {

using Axes = std::vector<std::int64_t>;

// ---- elementwise
Tensor add(const Tensor& x, const Tensor& y);
Tensor subtract(const Tensor& x, const Tensor& y);
Tensor multiply(const Tensor& x, const Tensor& y);
Tensor divide(const Tensor& x, const Tensor& y);
Tensor floordiv(const Tensor& x, const Tensor& y);
Tensor mod(const Tensor& x, const Tensor& y);
Tensor pow(const Tensor& x, const Tensor& y);
Tensor maximum(const Tensor& x, const Tensor& y);
Tensor minimum(const Tensor& x, const Tensor& y);
Tensor squared_difference(const Tensor& x, const Tensor& y);
Tensor negative(const Tensor& x);
Tensor abs(const Tensor& x);
Tensor sign(const Tensor& x);
Tensor square(const Tensor& x);
Tensor sqrt(const Tensor& x);
Tensor rsqrt(const Tensor& x);
Tensor reciprocal(const Tensor& x);
Tensor exp(const Tensor& x);
Tensor expm1(const Tensor& x);
Tensor log(const Tensor& x);
Tensor log1p(const Tensor& x);
Tensor sin(const Tensor& x);
Tensor cos(const Tensor& x);
Tensor tan(const Tensor& x);
Tensor asin(const Tensor& x);
Tensor acos(const Tensor& x);
Tensor atan(const Tensor& x);
Tensor sinh(const Tensor& x);
Tensor cosh(const Tensor& x);
Tensor tanh(const Tensor& x);
Tensor sigmoid(const Tensor& x);
Tensor relu(const Tensor& x);
Tensor softplus(const Tensor& x);
Tensor erf(const Tensor& x);
Tensor floor(const Tensor& x);
Tensor ceil(const Tensor& x);
Tensor round(const Tensor& x);
Tensor clip_by_value(const Tensor& x, const Tensor& low, const Tensor& high);
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
Tensor add_n(std::span<const Tensor> inputs);
/// Gradients of sigmoid, tanh and relu as ops of their own, so that they take one pass over memory.
Tensor sigmoid_grad(const Tensor& y, const Tensor& cotangent);
Tensor tanh_grad(const Tensor& y, const Tensor& cotangent);
Tensor relu_grad(const Tensor& cotangent, const Tensor& x);
Tensor cast(const Tensor& x, DType dtype);

// ---- comparison and logic
Tensor equal(const Tensor& x, const Tensor& y);
Tensor not_equal(const Tensor& x, const Tensor& y);
Tensor less(const Tensor& x, const Tensor& y);
Tensor less_equal(const Tensor& x, const Tensor& y);
Tensor greater(const Tensor& x, const Tensor& y);
Tensor greater_equal(const Tensor& x, const Tensor& y);
Tensor logical_and(const Tensor& x, const Tensor& y);
Tensor logical_or(const Tensor& x, const Tensor& y);
Tensor logical_not(const Tensor& x);
Tensor is_nan(const Tensor& x);
Tensor is_inf(const Tensor& x);
Tensor is_finite(const Tensor& x);

// ---- matrix products
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);

// ---- reductions; no axes: over all of them
Tensor reduce_sum(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_mean(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_prod(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_max(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_min(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_any(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_all(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor reduce_logsumexp(const Tensor& x, const std::optional<Axes>& axis = std::nullopt, bool keepdims = false);
Tensor argmax(const Tensor& x, std::int64_t axis = 0);
Tensor argmin(const Tensor& x, std::int64_t axis = 0);

// ---- shape
Tensor reshape(const Tensor& x, const Shape& shape);
Tensor transpose(const Tensor& x);
Tensor transpose(const Tensor& x, const Axes& perm);
Tensor expand_dims(const Tensor& x, std::int64_t axis);
Tensor squeeze(const Tensor& x, const std::optional<Axes>& axis = std::nullopt);
Tensor broadcast_to(const Tensor& x, const Shape& shape);
Tensor concat(std::span<const Tensor> values, std::int64_t axis);
Tensor stack(std::span<const Tensor> values, std::int64_t axis = 0);
Tensors unstack(const Tensor& x, std::int64_t axis = 0);
Tensors split(const Tensor& x, std::int64_t pieces, std::int64_t axis = 0);
Tensor tile(const Tensor& x, const Axes& multiples);
Tensor pad(const Tensor& x, const Axes& paddings, double constant = 0);
Tensor reverse(const Tensor& x, const Axes& axis);
Tensor identity(const Tensor& x);
Tensor stop_gradient(const Tensor& x);
Tensor shape_of(const Tensor& x);
Tensor size_of(const Tensor& x);
Tensor rank_of(const Tensor& x);

// ---- indexing
/// One entry per axis of x: first index, step (not 0), and how many; then which axes vanish (count 1) and where new
/// axes of extent 1 go (positions in the result). What Python's t[…] becomes.
struct SliceSpec {
  Axes begin, stride, count;
  Axes drop;
  Axes insert;
};
Tensor strided_slice(const Tensor& x, const SliceSpec& spec);
Tensor gather(const Tensor& x, const Tensor& indices, std::int64_t axis = 0);

// ---- creation
Tensor fill(const Shape& dims, const Tensor& value);
Tensor zeros(const Shape& shape, DType dtype = DType::float32);
Tensor ones(const Shape& shape, DType dtype = DType::float32);
Tensor zeros_like(const Tensor& x);
Tensor ones_like(const Tensor& x);
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = std::nullopt, DType dtype = DType::float32);
Tensor range(double start, double limit, double delta, DType dtype);
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype = DType::float32);

// ---- random; see random_state.h for seeds
Tensor random_uniform(const Shape& shape, double minval = 0, double maxval = 1, DType dtype = DType::float32,
                      std::optional<std::int64_t> seed = std::nullopt);
Tensor random_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = DType::float32,
                     std::optional<std::int64_t> seed = std::nullopt);
Tensor truncated_normal(const Shape& shape, double mean = 0, double stddev = 1, DType dtype = DType::float32,
                        std::optional<std::int64_t> seed = std::nullopt);

// ---- neural
Tensor softmax(const Tensor& logits, std::int64_t axis = -1);
Tensor log_softmax(const Tensor& logits, std::int64_t axis = -1);
Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits, std::int64_t axis = -1);
Tensor l2_loss(const Tensor& x);

// ---- operators
inline Tensor operator+(const Tensor& x, const Tensor& y) { return add(x, y); }
inline Tensor operator-(const Tensor& x, const Tensor& y) { return subtract(x, y); }
inline Tensor operator*(const Tensor& x, const Tensor& y) { return multiply(x, y); }
inline Tensor operator/(const Tensor& x, const Tensor& y) { return divide(x, y); }
inline Tensor operator-(const Tensor& x) { return negative(x); }

/// The sum of `x` over the axes along which `shape` was broadcast to x's shape: what a VJP of a broadcasting op
/// needs. Runs ops; x itself where the shapes are the same.
Tensor sum_to_shape(const Tensor& x, const Shape& shape);

}  // namespace tapedeck
