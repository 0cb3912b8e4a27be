#include "engine/ops/vjp_reads.h"

#include <algorithm>

namespace tapedeck::detail {
namespace {

using Names = std::span<const std::string_view>;

// Of every op whose VJP does not read everything, what it reads: tests/engine/tst_vjp_reads.cpp finds it out.
constexpr std::string_view shapes[] = {"add",
                                       "add_n",
                                       "avg_pool",
                                       "avg_pool_grad",
                                       "batch_to_space_nd",
                                       "bias_add",
                                       "broadcast_to",
                                       "cast",
                                       "check_numerics",
                                       "complex",
                                       "concat",
                                       "conj",
                                       "cumsum",
                                       "depth_to_space",
                                       "expand_dims",
                                       "fft",
                                       "fill",
                                       "identity",
                                       "imag",
                                       "linspace",
                                       "matrix_band_part",
                                       "matrix_diag",
                                       "matrix_diag_part",
                                       "matrix_set_diag",
                                       "negative",
                                       "nextafter",
                                       "pad",
                                       "real",
                                       "reduce_mean",
                                       "reduce_sum",
                                       "reshape",
                                       "reverse",
                                       "roll",
                                       "sign",
                                       "slice",
                                       "space_to_batch_nd",
                                       "space_to_depth",
                                       "split",
                                       "squeeze",
                                       "stack",
                                       "strided_slice",
                                       "strided_slice_grad",
                                       "subtract",
                                       "tensor_strided_slice_update",
                                       "tile",
                                       "trace",
                                       "transpose",
                                       "unstack"};
constexpr std::string_view inputs[] = {"abs",
                                       "acos",
                                       "angle",
                                       "asin",
                                       "atan",
                                       "atan2",
                                       "atanh",
                                       "axpby",
                                       "bessel_i0",
                                       "bessel_j0",
                                       "bessel_k0",
                                       "bessel_y0",
                                       "betainc",
                                       "clip_by_value",
                                       "conv2d",
                                       "conv2d_backprop_filter",
                                       "conv2d_backprop_input",
                                       "cos",
                                       "cosh",
                                       "cumprod",
                                       "depthwise_conv2d_native",
                                       "depthwise_conv2d_native_backprop_filter",
                                       "depthwise_conv2d_native_backprop_input",
                                       "digamma",
                                       "dot",
                                       "einsum",
                                       "erf",
                                       "erfc",
                                       "expm1",
                                       "gather",
                                       "gather_nd",
                                       "gelu",
                                       "igamma",
                                       "igammac",
                                       "l2_loss",
                                       "leaky_relu",
                                       "lgamma",
                                       "log",
                                       "log1p",
                                       "log_matrix_determinant",
                                       "log_sigmoid",
                                       "matmul",
                                       "matrix_cofactor",
                                       "matrix_cofactor_derivative",
                                       "matrix_determinant",
                                       "matrix_exponential",
                                       "matrix_logarithm",
                                       "max_pool",
                                       "max_pool_grad",
                                       "max_pool_grad_grad",
                                       "maximum",
                                       "mean_squared_error",
                                       "minimum",
                                       "mod",
                                       "multiply",
                                       "multiply_no_nan",
                                       "polygamma",
                                       "reduce_prod",
                                       "reduce_variance",
                                       "relu",
                                       "relu6",
                                       "relu_grad",
                                       "scatter_nd",
                                       "self_adjoint_eigvals",
                                       "sigmoid_cross_entropy_with_logits",
                                       "sigmoid_grad",
                                       "sin",
                                       "sinh",
                                       "softmax_cross_entropy_with_logits",
                                       "softplus",
                                       "softsign",
                                       "sort",
                                       "sparse_softmax_cross_entropy_with_logits",
                                       "square",
                                       "squared_difference",
                                       "swish",
                                       "tanh_grad",
                                       "tensor_scatter_nd_add",
                                       "tensor_scatter_nd_sub",
                                       "tensor_scatter_nd_update",
                                       "truncatemod",
                                       "unsorted_segment_prod",
                                       "unsorted_segment_sum",
                                       "weighted_cross_entropy_with_logits",
                                       "where",
                                       "xlog1py",
                                       "xlogy",
                                       "zeta"};
constexpr std::string_view outputs[] = {"acosh",
                                        "asinh",
                                        "cholesky",
                                        "erfinv",
                                        "exp",
                                        "log_softmax",
                                        "lu",
                                        "matrix_inverse",
                                        "matrix_square_root",
                                        "ndtri",
                                        "reciprocal",
                                        "reciprocal_no_nan",
                                        "rsqrt",
                                        "self_adjoint_eig",
                                        "sigmoid",
                                        "softmax",
                                        "sqrt",
                                        "tan",
                                        "tanh",
                                        "top_k"};

}  // namespace

Names ops_whose_vjp_reads(VjpReads reads) {
  switch (reads) {
    case VjpReads::shapes:
      return shapes;
    case VjpReads::inputs:
      return inputs;
    case VjpReads::outputs:
      return outputs;
    case VjpReads::everything:
      break;
  }
  return {};
}

VjpReads vjp_reads_of(std::string_view op) {
  for (const VjpReads reads : {VjpReads::shapes, VjpReads::inputs, VjpReads::outputs}) {
    const Names names = ops_whose_vjp_reads(reads);
    if (std::find(names.begin(), names.end(), op) != names.end()) return reads;
  }
  return VjpReads::everything;
}

}  // namespace tapedeck::detail
