// Ops as C++ functions: those that other files of the engine call, and the basics for C++ programs. Each runs
// its registry row through run_op, so it is recorded and taped; the row's docstring in FAMILY.cpp gives
// shapes, dtypes, errors and formulas. To call any other op, use its row:
// run_op(*Registry::instance().find("cummax"), …).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/backend/elementwise_functions.h"
#include "engine/ops/core/op.h"

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

/// The derivative of a gamma-distributed sample with respect to alpha; `order`: the number of further
/// derivatives (gamma_gradient.cpp).
Tensor random_gamma_grad(const Tensor& alpha, const Tensor& sample, std::int64_t order = 0);

// ---- elementwise: one function per line of the table, whose operands broadcast ----
#define TAPEDECK_CALL(name, ...) Tensor name(const Tensor& x);
TAPEDECK_UNARY_OPS(TAPEDECK_CALL)
#undef TAPEDECK_CALL
#define TAPEDECK_CALL(name, ...) Tensor name(const Tensor& x, const Tensor& y);
TAPEDECK_BINARY_OPS(TAPEDECK_CALL)
#undef TAPEDECK_CALL

// ---- elementwise, other (selection.cpp, cast.cpp) ----
Tensor where(const Tensor& condition, const Tensor& x, const Tensor& y);
Tensor cast(const Tensor& x, DType dtype);

// ---- products (matmul.cpp) ----
Tensor matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false);
/// Σ x[i]·y[i] over all elements of two tensors of the same shape, in one pass.
Tensor dot(const Tensor& x, const Tensor& y);
Tensor axpby(const Tensor& a, const Tensor& x, const Tensor& b, const Tensor& y);

// ---- reductions (reduction.cpp) ----
Tensor reduce_sum(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_mean(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);
Tensor reduce_max(const Tensor& input, const Axes& axis = std::nullopt, bool keepdims = false);

// ---- order (sorting.cpp, search.cpp); `direction` is ASCENDING or DESCENDING ----
Tensor sort(const Tensor& values, std::int64_t axis = -1, const std::string& direction = "ASCENDING");
Tensor argsort(const Tensor& values, std::int64_t axis = -1, const std::string& direction = "ASCENDING",
               bool stable = false);
/// `side`: "left" or "right".
Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& values, const std::string& side,
                    DType out_type);

// ---- shapes (identity.cpp, shape.cpp, arrange.cpp, concat.cpp, padding.cpp) ----
Tensor identity(const Tensor& input);
Tensor stop_gradient(const Tensor& input);
Tensor reshape(const Tensor& tensor, const Shape& shape);
/// `perm` std::nullopt: the axes in reverse order.
Tensor transpose(const Tensor& a, const Axes& perm = std::nullopt);
Tensor expand_dims(const Tensor& input, std::int64_t axis);
Tensor broadcast_to(const Tensor& input, const Shape& shape);
Tensor reverse(const Tensor& tensor, const Integers& axis);
Tensor roll(const Tensor& input, const Integers& shift, const Integers& axis);
Tensor shape(const Tensor& input, DType out_type = DType::int32);
Tensor size(const Tensor& input, DType out_type = DType::int32);
Tensor rank(const Tensor& input);
Tensor concat(std::span<const Tensor> values, std::int64_t axis);
Tensor stack(std::span<const Tensor> values, std::int64_t axis = 0);
Tensors unstack(const Tensor& value, std::int64_t axis = 0);
/// Parts of these sizes, one of which may be -1; or `num` equal parts.
Tensors split(const Tensor& value, const Integers& sizes, std::int64_t axis = 0);
Tensors split(const Tensor& value, std::int64_t num, std::int64_t axis = 0);
Tensor tile(const Tensor& input, const Integers& multiples);
/// `paddings`: before and after, axis by axis.
Tensor pad(const Tensor& tensor, const Integers& paddings, double constant_values = 0.0);

// ---- indexing (slicing.cpp, indexing.cpp, segment.cpp, scatter.cpp) ----
/// `size` −1: to the end of the axis.
Tensor slice(const Tensor& input, const Integers& begin, const Integers& size);
Tensor gather(const Tensor& params, const Tensor& indices, std::int64_t axis = 0,
              std::int64_t batch_dims = 0);
Tensor unsorted_segment_sum(const Tensor& data, const Tensor& segment_ids, std::int64_t num_segments);
Tensor gather_nd(const Tensor& params, const Tensor& indices, std::int64_t batch_dims = 0);
Tensor scatter_nd(const Tensor& indices, const Tensor& updates, const Shape& shape);

// ---- basics of neural networks (nn.cpp) ----
Tensor softmax(const Tensor& logits, std::int64_t axis = -1);

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
