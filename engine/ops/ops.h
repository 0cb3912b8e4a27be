// Every op as a C++ function. Each runs its registry row through run_op, so it is recorded and taped; shapes,
// dtypes, errors and formulas stand in the row's docstring beside the definition in FAMILY.cpp.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/elementwise_functions.h"
#include "engine/ops/op.h"

namespace tapedeck::ops {

/// Axes of a reduction; std::nullopt: all.
using Axes = std::optional<std::vector<std::int64_t>>;
using Integers = std::vector<std::int64_t>;
using Seed = std::optional<std::int64_t>;

// ---- creation (creation.cpp, ranges.cpp) ----
Tensor zeros(const Shape& shape, DType dtype = DType::float32);
Tensor ones(const Shape& shape, DType dtype = DType::float32);
Tensor fill(const Shape& dims, const Tensor& value);
Tensor zeros_like(const Tensor& input, std::optional<DType> dtype = std::nullopt);
Tensor ones_like(const Tensor& input, std::optional<DType> dtype = std::nullopt);
Tensor eye(std::int64_t rows, std::optional<std::int64_t> columns = std::nullopt,
           DType dtype = DType::float32);
Tensor range(double start, double limit, double delta = 1.0, DType dtype = DType::float32);
Tensor linspace(const Tensor& start, const Tensor& stop, std::int64_t num);
Tensor one_hot(const Tensor& indices, std::int64_t depth, DType dtype = DType::float32,
               std::int64_t axis = -1);

// ---- random numbers (random.cpp); seeds have TensorFlow's meaning, see random_state.h ----
Tensor random_uniform(const Shape& shape, double minval = 0.0, double maxval = 1.0,
                      DType dtype = DType::float32, Seed seed = std::nullopt);
Tensor random_normal(const Shape& shape, double mean = 0.0, double stddev = 1.0, DType dtype = DType::float32,
                     Seed seed = std::nullopt);
Tensor truncated_normal(const Shape& shape, double mean = 0.0, double stddev = 1.0,
                        DType dtype = DType::float32, Seed seed = std::nullopt);

/// The rows in another order (random_draws.cpp, and the three below).
Tensor random_shuffle(const Tensor& value, Seed seed = std::nullopt);
/// Numbers of classes, drawn by unnormalised log-probabilities (batch, classes).
Tensor random_categorical(const Tensor& logits, std::int64_t num_samples, DType dtype = DType::int64,
                          Seed seed = std::nullopt);
/// Shape `shape` + shape of alpha.
Tensor random_gamma(const Shape& shape, const Tensor& alpha, Seed seed = std::nullopt);
/// How a gamma distributed sample moves with alpha; `order`: differentiated so often with respect to alpha
/// (gamma_gradient.cpp).
Tensor random_gamma_grad(const Tensor& alpha, const Tensor& sample, std::int64_t order = 0);

// ---- elementwise: one function for each line of the table, of as many operands, which broadcast ----
#define TAPEDECK_CALL(name, ...) Tensor name(const Tensor& x);
TAPEDECK_UNARY_OPS(TAPEDECK_CALL)
#undef TAPEDECK_CALL
#define TAPEDECK_CALL(name, ...) Tensor name(const Tensor& x, const Tensor& y);
TAPEDECK_BINARY_OPS(TAPEDECK_CALL)
#undef TAPEDECK_CALL

// ---- elementwise, other (selection.cpp, cast.cpp) ----
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
Tensor clip_by_value(const Tensor& t, const Tensor& clip_value_min, const Tensor& clip_value_max);
Tensor add_n(std::span<const Tensor> inputs);
Tensor cast(const Tensor& x, DType dtype);
/// The same bytes as another dtype.
Tensor bitcast(const Tensor& input, DType type);

// ---- activations (activation.cpp) ----
Tensor leaky_relu(const Tensor& features, double alpha = 0.2);
Tensor gelu(const Tensor& features, bool approximate = false);

// ---- products (matmul.cpp) ----
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);
/// Σ x[i]·y[i] over all elements of two tensors of one shape, in one pass.
Tensor dot(const Tensor& x, const Tensor& y);
Tensor axpby(const Tensor& a, const Tensor& x, const Tensor& b, const Tensor& y);

// ---- reductions (reduction.cpp) ----
Tensor reduce_sum(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_mean(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_prod(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_max(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_min(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_any(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_logsumexp(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor argmax(const Tensor& input, std::int64_t axis = 0, DType output_type = DType::int64);
Tensor argmin(const Tensor& input, std::int64_t axis = 0, DType output_type = DType::int64);

// ---- spread (statistics.cpp) ----
Tensor reduce_variance(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);

// ---- scans (scan.cpp) ----
Tensor cumsum(const Tensor& x, std::int64_t axis = 0, bool exclusive = false, bool reverse = false);
Tensor cumprod(const Tensor& x, std::int64_t axis = 0, bool exclusive = false, bool reverse = false);

// ---- order (sorting.cpp); `direction` is ASCENDING or DESCENDING ----
Tensor sort(const Tensor& values, std::int64_t axis = -1, const std::string& direction = "ASCENDING");
Tensor argsort(const Tensor& values, std::int64_t axis = -1, const std::string& direction = "ASCENDING",
               bool stable = false);
/// The largest values of each row, and where they stood.
std::pair<Tensor, Tensor> top_k(const Tensor& input, std::int64_t k = 1, bool sorted = true);

// ---- which and how many (counting.cpp) ----
/// Values in the order of their first appearance, and each element's place among them.
std::pair<Tensor, Tensor> unique(const Tensor& x, DType out_idx = DType::int32);
/// The same, and how often each value appeared.
Tensors unique_with_counts(const Tensor& x, DType out_idx = DType::int32);

// ---- shapes (identity.cpp, shape.cpp, arrange.cpp, concat.cpp, padding.cpp, blocks.cpp) ----
Tensor identity(const Tensor& input);
Tensor stop_gradient(const Tensor& input);
Tensor check_numerics(const Tensor& tensor, const std::string& message);
Tensor reshape(const Tensor& tensor, const Shape& shape);
/// `perm` std::nullopt: the axes in reverse order.
Tensor transpose(const Tensor& a, const Axes& perm = std::nullopt);
Tensor expand_dims(const Tensor& input, std::int64_t axis);
Tensor squeeze(const Tensor& input, const Axes& axis = std::nullopt);
Tensor broadcast_to(const Tensor& input, const Shape& shape);
Tensor reverse(const Tensor& tensor, const Integers& axis);
Tensor roll(const Tensor& input, const Integers& shift, const Integers& axis);
/// `data_format`: "NHWC" or "NCHW".
Tensor space_to_depth(const Tensor& input, std::int64_t block_size, const std::string& data_format = "NHWC");
Tensor depth_to_space(const Tensor& input, std::int64_t block_size, const std::string& data_format = "NHWC");
/// Blocks of pixels into the batch and back (space_batch.cpp); `paddings`, `crops`: before and after, axis by
/// axis.
Tensor shape(const Tensor& input, DType out_type = DType::int32);
Tensor size(const Tensor& input, DType out_type = DType::int32);
Tensor rank(const Tensor& input);
Tensor concat(std::span<const Tensor> values, std::int64_t axis);
Tensor stack(std::span<const Tensor> values, std::int64_t axis = 0);
Tensors unstack(const Tensor& value, std::int64_t axis = 0);
/// Parts of these sizes, of which one may be -1; or `num` equal parts.
Tensors split(const Tensor& value, const Integers& sizes, std::int64_t axis = 0);
Tensors split(const Tensor& value, std::int64_t num, std::int64_t axis = 0);
Tensor tile(const Tensor& input, const Integers& multiples);
/// `paddings`: before and after, axis by axis.
Tensor pad(const Tensor& tensor, const Integers& paddings, double constant_values = 0.0);

// ---- indexing (slicing.cpp, indexing.cpp, scatter.cpp, search.cpp) ----
/// Python's `input[begin:end:strides, …]`; bit i of a mask speaks of entry i, as in TensorFlow.
struct Slicing {
  Integers begin, end, strides;
  std::int64_t begin_mask = 0;        ///< begin is left out
  std::int64_t end_mask = 0;          ///< end is left out
  std::int64_t ellipsis_mask = 0;     ///< `...`
  std::int64_t new_axis_mask = 0;     ///< `None`
  std::int64_t shrink_axis_mask = 0;  ///< an integer: the axis goes
};
Tensor strided_slice(const Tensor& input, const Slicing& slicing);
/// Zeros of `shape` with `dy` where strided_slice would read.
Tensor strided_slice_grad(const Tensor& dy, const Shape& shape, const Slicing& slicing);
Tensor tensor_strided_slice_update(const Tensor& tensor, const Tensor& value, const Slicing& slicing);
/// `size` −1: to the end of the axis.
Tensor slice(const Tensor& input, const Integers& begin, const Integers& size);
Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis = 0,
              std::int64_t batch_dims = 0);
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);
Tensor unsorted_segment_max(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);
Tensor gather_nd(const Tensor& params, const Tensor& indices, std::int64_t batch_dims = 0);
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape);
Tensor tensor_scatter_nd_add(const Tensor& tensor, const Tensor& indices, const Tensor& updates);
/// Coordinates of the elements that hold: int64, one row for each.
Tensor where_indices(const Tensor& condition);
/// `side`: "left" or "right".
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, const std::string& side = "left",
                    DType out_type = DType::int32);
Tensor invert_permutation(const Tensor& x);

// ---- basics of neural networks (nn.cpp) ----
Tensor softmax(const Tensor& logits, std::int64_t axis = -1);
Tensor softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits, std::int64_t axis = -1);
Tensor sparse_softmax_cross_entropy_with_logits(const Tensor& labels, const Tensor& logits);
Tensor l2_loss(const Tensor& t);

}  // namespace tapedeck::ops

namespace tapedeck {

Tensor operator+(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a, const Tensor& b);
Tensor operator*(const Tensor& a, const Tensor& b);
Tensor operator/(const Tensor& a, const Tensor& b);
Tensor operator-(const Tensor& a);
/// A number takes the tensor's dtype.
Tensor operator+(const Tensor& a, double b);
Tensor operator-(const Tensor& a, double b);
Tensor operator*(const Tensor& a, double b);
Tensor operator/(const Tensor& a, double b);
Tensor operator+(double a, const Tensor& b);
Tensor operator-(double a, const Tensor& b);
Tensor operator*(double a, const Tensor& b);
Tensor operator/(double a, const Tensor& b);

}  // namespace tapedeck
