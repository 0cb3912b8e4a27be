#include "engine/ops/vjp_reads.h"

#include <algorithm>
#include <array>

namespace tapedeck::detail {
namespace {

using Names = std::span<const std::string_view>;

constexpr auto shapes = std::to_array<std::string_view>(
    {"add",     "add_n",       "broadcast_to",  "cast",     "concat",  "expand_dims", "identity", "negative",
     "pad",     "reduce_mean", "reduce_sum",    "reshape",  "reverse", "roll",        "slice",    "split",
     "squeeze", "stack",       "strided_slice", "subtract", "tile",    "transpose",   "unstack"});
constexpr auto inputs = std::to_array<std::string_view>({"abs",
                                                         "axpby",
                                                         "conv2d",
                                                         "conv2d_backprop_filter",
                                                         "conv2d_backprop_input",
                                                         "cos",
                                                         "depthwise_conv2d_native",
                                                         "dot",
                                                         "log",
                                                         "log1p",
                                                         "matmul",
                                                         "maximum",
                                                         "mean_squared_error",
                                                         "minimum",
                                                         "multiply",
                                                         "relu",
                                                         "relu6",
                                                         "sigmoid_grad",
                                                         "sin",
                                                         "softplus",
                                                         "square",
                                                         "squared_difference",
                                                         "tanh_grad",
                                                         "where"});
constexpr auto outputs = std::to_array<std::string_view>(
    {"exp", "log_softmax", "reciprocal", "rsqrt", "sigmoid", "softmax", "sqrt", "tanh"});

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
