// What ops say of bad arguments.
#include <QtTest>

#include "engine/ops/core/ops.h"
#include "engine/ops/core/run_op.h"
#include "tests/engine/expect_error.h"
#include "tests/engine/ops/op_call.h"
#include "tests/test_program.h"

using namespace tapedeck;
using namespace tapedeck::ops;
using testing::called;

namespace {

Tensor f32(const Shape& shape) {
  return ops::zeros(shape);
}
Tensor i32(const Shape& shape) {
  return ops::zeros(shape, DType::int32);
}
Tensor flags(const Shape& shape) {
  return ops::zeros(shape, DType::bool_);
}
Tensor whole(std::vector<std::int64_t> values) {
  return Tensor::from_values<std::int64_t>(values, {static_cast<std::int64_t>(values.size())});
}

}  // namespace

class OpsErrorsTest : public QObject {
  Q_OBJECT
 private slots:
  void elementwise() {
    EXPECT_ERROR(TypeMismatchError, ops::exp(i32({2})),
                 "exp: x is int32; needs a floating dtype: float16, bfloat16, float32 or float64");
    EXPECT_ERROR(TypeMismatchError, ops::negative(flags({2})), "negative: x is bool; needs a numeric dtype");
    EXPECT_ERROR(TypeMismatchError, f32({2}) + i32({2}),
                 "add: x is float32 and y is int32; cast one of them");
    EXPECT_ERROR(InvalidArgumentError, f32({2, 3}) + f32({2}), "add");
    EXPECT_ERROR(InvalidArgumentError, f32({2, 3}) + f32({2}), "(2, 3)");
    EXPECT_ERROR(InvalidArgumentError, f32({2, 3}) + f32({2}), "(2,)");
    EXPECT_ERROR(TypeMismatchError, ops::logical_and(f32({2}), f32({2})),
                 "logical_and: x is float32; needs bool");
    EXPECT_ERROR(TypeMismatchError, ops::less(flags({2}), flags({2})), "less: x is bool");
    EXPECT_ERROR(InvalidArgumentError, ops::floordiv(whole({1, 2}), whole({1, 0})), "floordiv: y holds a 0");
    EXPECT_ERROR(InvalidArgumentError, ops::mod(whole({1, 2}), whole({0})), "mod: y holds a 0");
    EXPECT_ERROR(InvalidArgumentError, ops::pow(whole({2}), whole({-3})),
                 "pow: y holds -3; integers have no negative powers");
    EXPECT_ERROR(TypeMismatchError, ops::where(f32({2}), f32({2}), f32({2})),
                 "where: condition is float32; needs bool");
    EXPECT_ERROR(TypeMismatchError, ops::where(flags({2}), f32({2}), i32({2})),
                 "where: x is float32 and y is int32");
    EXPECT_ERROR(InvalidArgumentError, called("clip_by_value", {f32({2}), f32({3, 2}), f32({})}),
                 "clip_by_value: clip_value_min (3, 2) does not broadcast to t (2,)");
    EXPECT_ERROR(InvalidArgumentError, called("add_n", {}), "add_n: inputs is empty");
    EXPECT_ERROR(InvalidArgumentError, called("add_n", {f32({2}), f32({3})}),
                 "add_n: inputs[1] (3,) differs from inputs[0] (2,)");
  }

  void matmul() {
    EXPECT_ERROR(InvalidArgumentError, ops::matmul(f32({2, 3}), f32({4, 5})),
                 "matmul: a (2, 3) and b (4, 5): inner dimensions 3 and 4 differ");
    EXPECT_ERROR(InvalidArgumentError, ops::matmul(f32({2, 3}), f32({3, 5}), true),
                 "matmul: a (2, 3) transposed and b (3, 5): inner dimensions 2 and 3 differ");
    EXPECT_ERROR(InvalidArgumentError, ops::matmul(f32({3}), f32({3, 2})), "matmul: a (3,) is not a matrix");
    EXPECT_ERROR(InvalidArgumentError, ops::matmul(f32({2, 2, 3}), f32({3, 3, 2})), "matmul");
    EXPECT_ERROR(TypeMismatchError, ops::matmul(f32({2, 2}), i32({2, 2})),
                 "matmul: a is float32 and b is int32");
    EXPECT_ERROR(InvalidArgumentError, ops::dot(f32({2}), f32({3})),
                 "dot: x (2,) and y (3,) differ in shape");
  }

  void reductions() {
    EXPECT_ERROR(InvalidArgumentError, ops::reduce_sum(f32({2, 3}), Integers{2}),
                 "reduce_sum: axis 2 is out of range for shape (2, 3)");
    EXPECT_ERROR(InvalidArgumentError, ops::reduce_max(f32({2, 3}), Integers{0, -2}),
                 "reduce_max: axis [0, -2] names axis 0 twice");
    EXPECT_ERROR(TypeMismatchError, ops::reduce_sum(flags({2})), "reduce_sum: input_tensor is bool");
    EXPECT_ERROR(TypeMismatchError, called("reduce_any", {f32({2})}),
                 "reduce_any: input_tensor is float32; needs bool");
    EXPECT_ERROR(InvalidArgumentError, ops::reduce_mean(i32({0})), "reduce_mean: (0,) has no values");
    EXPECT_ERROR(InvalidArgumentError, called("argmax", {f32({2, 0})}, {{"axis", 1}}),
                 "argmax: axis 1 of shape (2, 0) is empty");
    EXPECT_ERROR(InvalidArgumentError, called("argmin", {f32({})}, {{"axis", 0}}),
                 "argmin: axis 0 is out of range for shape ()");
    EXPECT_ERROR(InvalidArgumentError, called("argmax", {f32({2})}, {{"output_type", DType::float32}}),
                 "argmax: output_type is float32");
  }

  void scans_order_and_counts() {
    EXPECT_ERROR(InvalidArgumentError, called("cumsum", {f32({2, 3})}, {{"axis", 2}}),
                 "cumsum: axis 2 is out of range for shape (2, 3)");
    EXPECT_ERROR(InvalidArgumentError, called("cumprod", {f32({})}),
                 "cumprod: axis 0 is out of range for shape ()");
    EXPECT_ERROR(TypeMismatchError, called("cumsum", {flags({2})}), "cumsum: x is bool");
    EXPECT_ERROR(InvalidArgumentError, ops::sort(f32({2}), 0, "UP"),
                 "sort: direction is 'UP'; needs 'ASCENDING' or 'DESCENDING'");
    EXPECT_ERROR(InvalidArgumentError, ops::argsort(f32({2}), -2),
                 "argsort: axis -2 is out of range for shape (2,)");
    EXPECT_ERROR(TypeMismatchError, ops::sort(flags({2})), "sort: values is bool");
    EXPECT_ERROR(InvalidArgumentError, called("top_k", {f32({2, 3})}, {{"k", 4}}),
                 "top_k: k is 4; the last axis of input (2, 3) has 3 values");
    EXPECT_ERROR(InvalidArgumentError, called("top_k", {f32({2})}, {{"k", -1}}), "top_k: k is -1");
    EXPECT_ERROR(InvalidArgumentError, called("top_k", {f32({})}),
                 "top_k: input is a scalar; needs at least one axis");
    EXPECT_ERROR(InvalidArgumentError, called("unique_with_counts", {f32({2, 2})}),
                 "unique_with_counts: x has shape (2, 2); needs one axis");
    EXPECT_ERROR(InvalidArgumentError,
                 called("unique_with_counts", {f32({2})}, {{"out_idx", DType::float32}}),
                 "unique_with_counts: out_idx is float32; needs int32 or int64");
    EXPECT_ERROR(InvalidArgumentError,
                 called("unsorted_segment_max", {f32({2}), whole({0, 0})}, {{"num_segments", -1}}),
                 "unsorted_segment_max: num_segments is -1");
    EXPECT_ERROR(TypeMismatchError, called("reduce_variance", {i32({2})}),
                 "reduce_variance: input_tensor is int32; needs a floating dtype: float16, bfloat16, float32 "
                 "or float64, or a complex one");
  }

  void divisions_and_bits() {
    EXPECT_ERROR(InvalidArgumentError, ops::truncatediv(whole({1}), whole({0})),
                 "truncatediv: y holds a 0; integers cannot be divided by it");
    EXPECT_ERROR(InvalidArgumentError, ops::truncatemod(whole({1}), whole({0})), "truncatemod: y holds a 0");
    EXPECT_ERROR(TypeMismatchError, ops::divide_no_nan(i32({2}), i32({2})),
                 "divide_no_nan: x is int32; needs a floating dtype: float16, bfloat16, float32 or float64");
    EXPECT_ERROR(TypeMismatchError, ops::bitwise_and(f32({2}), f32({2})),
                 "bitwise_and: x is float32; needs an integer dtype");
    EXPECT_ERROR(TypeMismatchError, ops::invert(flags({2})), "invert: x is bool; needs an integer dtype");
    EXPECT_ERROR(TypeMismatchError, called("gelu", {i32({2})}),
                 "gelu: features is int32; needs a floating dtype: float16, bfloat16, float32 or float64");
  }

  void shapes() {
    EXPECT_ERROR(InvalidArgumentError, ops::reshape(f32({2, 3}), {4}),
                 "reshape: tensor (2, 3) has 6 values, shape (4,) needs 4");
    EXPECT_ERROR(InvalidArgumentError, ops::reshape(f32({2, 3}), {-1, 4}),
                 "reshape: tensor (2, 3) with 6 values does not fill");
    EXPECT_ERROR(InvalidArgumentError, ops::reshape(f32({2, 3}), {-1, -1}), "holds -1 twice");
    EXPECT_ERROR(InvalidArgumentError, ops::transpose(f32({2, 3}), Integers{0, 0}),
                 "transpose: perm [0, 0] does not name each axis of shape (2, 3) once");
    EXPECT_ERROR(InvalidArgumentError, ops::expand_dims(f32({2}), 3),
                 "expand_dims: axis 3 is out of range for shape (2,)");
    EXPECT_ERROR(InvalidArgumentError, called("squeeze", {f32({2, 1})}, {{"axis", Integers{0}}}),
                 "squeeze: axis 0 of shape (2, 1) has extent 2, not 1");
    EXPECT_ERROR(InvalidArgumentError, ops::broadcast_to(f32({2}), {3}),
                 "broadcast_to: input (2,) does not broadcast to shape (3,)");
    EXPECT_ERROR(InvalidArgumentError, ops::reverse(f32({2}), {1}), "reverse: axis 1 is out of range");
    EXPECT_ERROR(InvalidArgumentError, ops::tile(f32({2}), {1, 2}), "tile: multiples [1, 2] for shape (2,)");
    EXPECT_ERROR(InvalidArgumentError, ops::pad(f32({2}), {1}), "pad: paddings [1] for tensor (2,)");
    EXPECT_ERROR(InvalidArgumentError, ops::shape(f32({2}), DType::float32), "shape: out_type is float32");
    EXPECT_ERROR(InvalidArgumentError, ops::concat({}, 0), "concat: values is empty");
    const Tensor unlike[] = {f32({2, 3}), f32({3, 2})};
    EXPECT_ERROR(InvalidArgumentError, ops::concat(unlike, 0),
                 "concat: values[1] (3, 2) and values[0] (2, 3) differ in more than axis 0");
    EXPECT_ERROR(InvalidArgumentError, ops::stack(unlike),
                 "stack: values[1] (3, 2) and values[0] (2, 3) differ in shape");
    EXPECT_ERROR(InvalidArgumentError, ops::split(f32({5}), {2}),
                 "split: 2 equal parts do not fill axis 0 of shape (5,)");
    EXPECT_ERROR(InvalidArgumentError, ops::split(f32({5}), {2, 2}),
                 "split: sizes [2, 2] do not fill axis 0 of shape (5,)");
    EXPECT_ERROR(InvalidArgumentError,
                 run_op(*Registry::instance().find("unstack"), std::array{f32({2})},
                        {std::int64_t{3}, std::int64_t{0}}),
                 "unstack: num is 3, axis 0 of shape (2,) has extent 2");
  }

  void indexing() {
    EXPECT_ERROR(OutOfRangeError, ops::gather(f32({5}), whole({0, 1, 2, 7})),
                 "gather: indices[3] is 7; must be in [0, 5)");
    EXPECT_ERROR(OutOfRangeError, ops::gather(f32({5}), whole({-1})), "gather: indices[0] is -1");
    std::vector<std::int64_t> many(1'000'000, 1);  // the first one, whichever thread is done first
    many[900'000] = 5;
    many[123'456] = -2;
    EXPECT_ERROR(OutOfRangeError, ops::gather(f32({5}), whole(many)), "gather: indices[123456] is -2");
    EXPECT_ERROR(TypeMismatchError, ops::gather(f32({5}), f32({1})),
                 "gather: indices is float32; needs an integer dtype");
    EXPECT_ERROR(OutOfRangeError, ops::unsorted_segment_sum(f32({1}), whole({4}), 4),
                 "unsorted_segment_sum: segment_ids[0] is 4; must be below num_segments, 4");
    EXPECT_ERROR(InvalidArgumentError, ops::unsorted_segment_sum(f32({2}), whole({0, 1, 2}), 4),
                 "(3,) is not a prefix of data (2,)");
    EXPECT_ERROR(OutOfRangeError,
                 called("strided_slice", {f32({3, 4})},
                        {{"begin", Integers{5}}, {"end", Integers{6}}, {"shrink_axis_mask", 1}}),
                 "strided_slice: index 5 is out of range for axis 0 of shape (3, 4)");
    EXPECT_ERROR(InvalidArgumentError,
                 called("strided_slice", {f32({3})},
                        {{"begin", Integers{0}}, {"end", Integers{3}}, {"strides", Integers{0}}}),
                 "strided_slice: strides[0] is 0");
    EXPECT_ERROR(OutOfRangeError,
                 called("strided_slice", {f32({3})}, {{"begin", Integers{0, 0}}, {"end", Integers{1, 1}}}),
                 "strided_slice: 2 indices for shape (3,) with 1 axes");
    EXPECT_ERROR(InvalidArgumentError,
                 called("strided_slice", {f32({3})}, {{"begin", Integers{0}}, {"end", Integers{1, 2}}}),
                 "begin, end and strides have 1, 2 and 1 entries");
    EXPECT_ERROR(InvalidArgumentError,
                 called("strided_slice_grad", {f32({2})},
                        {{"shape", Integers{3}}, {"begin", Integers{0}}, {"end", Integers{3}}}),
                 "strided_slice_grad: g (2,) where the slice of (3,) has shape (3,)");
    EXPECT_ERROR(InvalidArgumentError,
                 called("tensor_strided_slice_update", {f32({3}), f32({3})},
                        {{"begin", Integers{0}}, {"end", Integers{2}}}),
                 "tensor_strided_slice_update: value (3,) where the slice of (3,) has shape (2,)");
    EXPECT_ERROR(InvalidArgumentError, ops::slice(f32({3}), {2}, {2}),
                 "slice: begin [2] and size [2] leave shape (3,)");
  }

  void creation_and_networks() {
    EXPECT_ERROR(InvalidArgumentError, ops::zeros({-1}), "zeros: shape (-1,) has a negative extent, -1");
    EXPECT_ERROR(ResourceExhaustedError, ops::ones({std::int64_t{1} << 50}), "ones: ");
    EXPECT_ERROR(InvalidArgumentError, ops::range(0, 5, 0), "range: start 0, limit 5, delta 0");
    EXPECT_ERROR(InvalidArgumentError, ops::eye(-2), "eye: num_rows -2");
    EXPECT_ERROR(InvalidArgumentError, ops::fill({2}, f32({1})),
                 "fill: value has shape (1,); needs a scalar");
    EXPECT_ERROR(InvalidArgumentError, ops::linspace(f32({}), f32({}), 0),
                 "linspace: num is 0; needs at least 1");
    EXPECT_ERROR(TypeMismatchError, ops::one_hot(f32({2}), 3),
                 "one_hot: indices is float32; needs an integer dtype");
    EXPECT_ERROR(InvalidArgumentError, ops::one_hot(i32({2}), -1), "one_hot: depth is -1");
    EXPECT_ERROR(InvalidArgumentError, ops::softmax(f32({2}), 1),
                 "softmax: axis 1 is out of range for shape (2,)");
    EXPECT_ERROR(InvalidArgumentError, called("softmax_cross_entropy_with_logits", {f32({2}), f32({3})}),
                 "softmax_cross_entropy_with_logits: labels (2,) and logits (3,) differ in shape");
    EXPECT_ERROR(OutOfRangeError,
                 called("sparse_softmax_cross_entropy_with_logits", {whole({3}), f32({1, 3})}),
                 "labels[0] is 3; must be in [0, 3)");
    EXPECT_ERROR(InvalidArgumentError,
                 called("sparse_softmax_cross_entropy_with_logits", {whole({0}), f32({2, 3})}),
                 "labels (1,) and logits (2, 3)");
  }

  void places() {
    const Tensor matrix = f32({2, 3});
    EXPECT_ERROR(OutOfRangeError, ops::gather_nd(matrix, ops::reshape(whole({0, 3}), {1, 2})),
                 "gather_nd: indices[0] is (0, 3), outside of shape (2, 3)");
    EXPECT_ERROR(InvalidArgumentError, ops::gather_nd(matrix, ops::reshape(whole({0, 0, 0}), {1, 3})),
                 "gather_nd: indices (1, 3) hold 3 coordinates each, but shape (2, 3) has 2 axes for them");
    EXPECT_ERROR(InvalidArgumentError, ops::gather_nd(matrix, ops::reshape(whole({0}), {})),
                 "gather_nd: indices is a scalar");
    EXPECT_ERROR(
        InvalidArgumentError, ops::gather(matrix, ops::reshape(whole({0}), {1, 1}), 1, 1),
        "gather: batch_dims 1: params (2, 3) and indices (1, 1) do not begin with as many equal extents");
    EXPECT_ERROR(InvalidArgumentError, ops::scatter_nd(ops::reshape(whole({1}), {1, 1}), f32({2}), {3}),
                 "scatter_nd: updates (2,) for indices (1, 1) and shape (3,); needs (1,)");
    EXPECT_ERROR(InvalidArgumentError, ops::scatter_nd(ops::reshape(whole({1}), {1, 1}), f32({1}), {-3}),
                 "scatter_nd: shape (-3,) has a negative extent");
    EXPECT_ERROR(TypeMismatchError,
                 called("tensor_scatter_nd_add", {f32({2}), ops::reshape(whole({1}), {1, 1}), i32({1})}),
                 "tensor_scatter_nd_add: tensor is float32 and updates is int32");
    EXPECT_ERROR(TypeMismatchError, called("where_indices", {f32({2})}),
                 "where_indices: condition is float32; needs bool");
    EXPECT_ERROR(InvalidArgumentError, called("searchsorted", {f32({2, 3}), f32({3, 3})}),
                 "searchsorted: sorted_sequence (2, 3) and values (3, 3) differ in more than the last axis");
    EXPECT_ERROR(InvalidArgumentError, called("searchsorted", {f32({3}), f32({3})}, {{"side", "middle"}}),
                 "searchsorted: side is 'middle'; it is 'left' or 'right'");
    EXPECT_ERROR(OutOfRangeError, called("invert_permutation", {whole({0, 2})}),
                 "invert_permutation: x[1] is 2");
  }

  void arrangements() {
    EXPECT_ERROR(InvalidArgumentError,
                 called("roll", {f32({2})}, {{"shift", Integers{1}}, {"axis", Integers{1}}}),
                 "roll: axis 1 is out of range for shape (2,)");
    EXPECT_ERROR(InvalidArgumentError,
                 called("roll", {f32({2})}, {{"shift", Integers{1, 2}}, {"axis", Integers{0}}}),
                 "roll: shift [1, 2] and axis [0] differ in length");
    EXPECT_ERROR(
        InvalidArgumentError, called("space_to_depth", {f32({1, 3, 4, 1})}, {{"block_size", 2}}),
        "space_to_depth: input (1, 3, 4, 1) with block_size 2: height and width are not multiples of it");
    EXPECT_ERROR(InvalidArgumentError, called("depth_to_space", {f32({1, 3, 4, 6})}, {{"block_size", 2}}),
                 "depth_to_space: input (1, 3, 4, 6) with block_size 2: the channels are not a multiple of "
                 "its square");
    EXPECT_ERROR(InvalidArgumentError,
                 called("depth_to_space", {f32({1, 3, 4, 4})}, {{"block_size", 2}, {"data_format", "CHWN"}}),
                 "depth_to_space: data_format is 'CHWN'");
    EXPECT_ERROR(InvalidArgumentError, called("check_numerics", {ops::log(f32({2}))}, {{"message", "loss"}}),
                 "check_numerics: loss : tensor (2,) had Inf values");
    EXPECT_ERROR(InvalidArgumentError, ops::split(f32({4}), Integers{3}),
                 "split: sizes [3] do not fill axis 0 of shape (4,)");
    EXPECT_ERROR(ResourceExhaustedError, ops::unstack(ops::broadcast_to(f32({}), {std::int64_t{1} << 40})),
                 "unstack: would make 1099511627776 tensors");
  }

  void draws() {
    EXPECT_ERROR(InvalidArgumentError, called("random_shuffle", {f32({})}),
                 "random_shuffle: value is a scalar");
    EXPECT_ERROR(InvalidArgumentError, called("random_categorical", {f32({3})}, {{"num_samples", 1}}),
                 "random_categorical: logits has shape (3,); needs (batch, classes) with at least one class");
    EXPECT_ERROR(
        InvalidArgumentError,
        called("random_categorical", {ops::log(ops::negative(ops::ones({1, 2})))}, {{"num_samples", 1}}),
        "random_categorical: row 0 of logits has no finite value, or NaN or +∞");
    EXPECT_ERROR(TypeMismatchError,
                 called("random_categorical", {f32({1, 3})}, {{"num_samples", 1}, {"dtype", DType::float32}}),
                 "random_categorical: dtype is float32; needs int32 or int64");
    EXPECT_ERROR(InvalidArgumentError, called("random_gamma", {f32({})}, {{"shape", Integers{2}}}),
                 "random_gamma: alpha holds 0; needs finite numbers above 0");
  }

  void shapes_that_no_tensor_has_name_the_op() {
    EXPECT_ERROR(InvalidArgumentError,
                 ops::expand_dims(ops::zeros(Shape(std::vector<std::int64_t>(32, 1))), 0),
                 "expand_dims: a tensor has at most 32 axes, not 33");
    EXPECT_ERROR(ResourceExhaustedError, ops::zeros({std::int64_t{1} << 40, std::int64_t{1} << 40}),
                 "zeros: a tensor of shape (1099511627776, 1099511627776) has more than 2^63 elements");
    EXPECT_ERROR(
        ResourceExhaustedError, ops::zeros({std::int64_t{1} << 40, 0, std::int64_t{1} << 40}),
        "zeros: a tensor of shape (1099511627776, 0, 1099511627776) is empty, but its other extents make "
        "more than 2^63 elements");
    QCOMPARE(ops::zeros({std::int64_t{1} << 40, 0}).count(), std::int64_t{0});
  }
};

TAPEDECK_TEST(OpsErrorsTest)
#include "tst_ops_errors.moc"
