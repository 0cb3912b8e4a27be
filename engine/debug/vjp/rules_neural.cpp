// Convolutions, pooling, normalisations, softmax and attention. Images are NCHW, filters (results, channels,
// rows, columns).
#include <cmath>

#include "engine/debug/vjp/foreign_rules.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::debug {
namespace neural {
namespace {

using Integers = std::vector<std::int64_t>;

/// For both sides of an image; the rows of a sequence are 1.
struct Sides {
  Integers two;
  Sides(Integers given, bool sequence, std::int64_t of_row) : two(std::move(given)) {
    if (two.size() == 1 && sequence) two.insert(two.begin(), of_row);
    if (two.size() == 1) two.push_back(two[0]);
    if (two.size() != 2) throw NoFormula{"it has " + std::to_string(two.size()) + " spatial axes"};
  }
};

/// A sequence as an image of one row; without its batch axis as a batch of one.
Tensor as_images(const Tensor& given, bool sequence) {
  Tensor images = sequence ? ops::expand_dims(given, given.rank() - 1) : given;
  return images.rank() == 3 ? ops::expand_dims(images, 0) : images;
}

struct Sliding {
  Integers strides, dilations, paddings;
};

Sliding sliding_of(const ForeignArguments& call, bool sequence, const char* stride, const char* padding) {
  const Sides pads(call.integers(padding), sequence, 0);
  return {Sides(call.integers(stride), sequence, 1).two,
          call.is_none("dilation") ? Integers{1, 1} : Sides(call.integers("dilation"), sequence, 1).two,
          {0, 0, 0, 0, pads.two[0], pads.two[0], pads.two[1], pads.two[1]}};
}

const std::string channels_first = "NCHW";

ForeignResult convolution(const ForeignArguments& call) {
  const Tensor &input = call.tensor("input"), &weight = call.tensor("weight");
  const bool sequence = weight.rank() == 3;
  if (weight.rank() > 4) throw NoFormula{"the formula of conv2d is that of images and sequences"};
  const Sliding sliding = sliding_of(call, sequence, "stride", "padding");
  const Tensor images = as_images(input, sequence);
  const bool turned = call.flag_or("transposed", false);
  if (turned && call.integer_or("groups", 1) != 1)
    throw NoFormula{"the formula of a transposed convolution has no groups"};
  const Tensor filter = ops::transpose(sequence ? ops::expand_dims(weight, 2) : weight, Integers{2, 3, 1, 0});
  const Attribute strides(sliding.strides), dilations(sliding.dilations), paddings(sliding.paddings),
      format(channels_first), padding(std::string("EXPLICIT"));
  Tensor result;
  if (turned) {
    Integers sizes(call.shape().begin(), call.shape().end());
    if (sequence) sizes.insert(sizes.end() - 1, 1);
    if (sizes.size() == 3) sizes.insert(sizes.begin(), 1);
    result = call_row1("conv2d_backprop_input", {filter, images},
                       {{"input_sizes", sizes},
                        {"strides", strides},
                        {"padding", padding},
                        {"explicit_paddings", paddings},
                        {"data_format", format},
                        {"dilations", dilations}});
  } else {
    result = call_row1("conv2d", {images, filter},
                       {{"strides", strides},
                        {"padding", padding},
                        {"explicit_paddings", paddings},
                        {"data_format", format},
                        {"dilations", dilations}});
  }
  std::string formula = turned ? "d(input) = dz ⋆ weight, d(weight) = dz ⋆ input"
                               : "d(input) = dz ⋆ᵀ weight, d(weight) = input ⋆ dz";
  if (!call.is_none("bias")) {
    result = result + ops::reshape(call.tensor("bias"), Shape{1, result.shape()[1], 1, 1});
    formula += ", d(bias) = Σ dz over all axes but the channels";
  }
  return {{ops::reshape(result, call.shape())}, formula};
}

ForeignResult max_pool(const ForeignArguments& call) {
  if (call.flag_or("ceil_mode", false)) throw NoFormula{"the formula of max_pool has no ceil_mode"};
  const Sides kernel(call.integers("kernel_size"), false, 1);
  const bool strides = !call.integers("stride").empty();
  const Sliding sliding = sliding_of(call, false, strides ? "stride" : "kernel_size", "padding");
  if (sliding.dilations != Integers{1, 1}) throw NoFormula{"the formula of max_pool has no dilation"};
  const Tensor result = call_row1("max_pool", {as_images(call.tensor("self"), false)},
                                  {{"ksize", kernel.two},
                                   {"strides", sliding.strides},
                                   {"padding", std::string("EXPLICIT")},
                                   {"explicit_paddings", sliding.paddings},
                                   {"data_format", channels_first}});
  return {{ops::reshape(result, call.shape())},
          "dx = each window's dz at its first largest value; with x self"};
}

ForeignResult avg_pool(const ForeignArguments& call) {
  if (call.flag_or("ceil_mode", false) || !call.is_none("divisor_override"))
    throw NoFormula{"the formula of avg_pool has no ceil_mode and no divisor_override"};
  const Sides kernel(call.integers("kernel_size"), false, 1);
  const bool strides = !call.integers("stride").empty();
  const Sliding sliding = sliding_of(call, false, strides ? "stride" : "kernel_size", "padding");
  Tensor images = as_images(call.tensor("self"), false);
  const bool counts = call.flag_or("count_include_pad", true);  // zeros of the border are elements then
  if (counts) images = ops::pad(images, sliding.paddings);
  const Tensor result = call_row1("avg_pool", {images},
                                  {{"ksize", kernel.two},
                                   {"strides", sliding.strides},
                                   {"padding", std::string("EXPLICIT")},
                                   {"explicit_paddings", counts ? Integers(8, 0) : sliding.paddings},
                                   {"data_format", channels_first}});
  return {{ops::reshape(result, call.shape())},
          "dx = Σ dz / n over the windows that hold x, n: the number of elements in one window; with x self"};
}

/// [windows, extent]: one window's share of each element.
Tensor shares(std::int64_t windows, std::int64_t extent, DType dtype) {
  std::vector<double> values(static_cast<std::size_t>(windows * extent), 0);
  for (std::int64_t i = 0; i < windows; ++i) {
    const std::int64_t first = i * extent / windows, end = ((i + 1) * extent + windows - 1) / windows;
    for (std::int64_t at = first; at < end; ++at)
      values[static_cast<std::size_t>(i * extent + at)] = 1.0 / static_cast<double>(end - first);
  }
  return ops::cast(Tensor::from_values<double>(values, Shape{windows, extent}), dtype);
}

ForeignResult adaptive_avg_pool(const ForeignArguments& call) {
  const Tensor& self = call.tensor("self");
  const Shape &from = self.shape(), &to = call.shape();
  const int rows = self.rank() - 2, columns = self.rank() - 1;
  const Tensor of_rows = shares(to[rows], from[rows], self.dtype()),
               of_columns = shares(to[columns], from[columns], self.dtype());
  const Tensor images =
      ops::reshape(self, Shape{self.count() / (from[rows] * from[columns]), from[rows], from[columns]});
  const Tensor means = ops::matmul(
      ops::matmul(ops::broadcast_to(of_rows, Shape{images.shape()[0], to[rows], from[rows]}), images),
      ops::broadcast_to(ops::transpose(of_columns), Shape{images.shape()[0], from[columns], to[columns]}));
  return {{ops::reshape(means, to)},
          "dx = Σ dz / n over the windows that hold x, n: the number of elements in one window; with x self"};
}

/// Statistics are float32 at least, whatever the images are.
Tensor wide(const Tensor& tensor) {
  return item_size(tensor.dtype()) < 4 ? ops::cast(tensor, DType::float32) : tensor;
}

struct Normalised {
  Tensor value;
  std::string formula;
};

/// (x − M)·r over these axes, and what its gradient is; `around`: the factor of the cotangent.
Normalised normalised(const Tensor& input, const Integers& axes, double epsilon, const std::string& around,
                      const std::string& over) {
  const Tensor mean = ops::reduce_mean(input, axes, true);
  const Tensor centred = input - mean;
  const Tensor variance = ops::reduce_mean(centred * centred, axes, true);
  return {centred * ops::rsqrt(variance + epsilon), "dx = r·(h − M(h) − n·M(h·n)), h = " + around +
                                                        ", n = (x − M(x))·r, r = 1/√(M((x − M(x))²) + eps), "
                                                        "M: the mean over " +
                                                        over};
}

/// By weight and bias of that shape, where there are any.
ForeignResult scaled(const ForeignArguments& call, Normalised from, const Shape& shape) {
  if (!call.is_none("weight")) {
    from.value = from.value * ops::reshape(wide(call.tensor("weight")), shape);
    from.formula += ", d(weight) = Σ dz·n";
  }
  if (!call.is_none("bias")) {
    from.value = from.value + ops::reshape(wide(call.tensor("bias")), shape);
    from.formula += ", d(bias) = Σ dz";
  }
  if (from.value.dtype() != call.dtype()) from.value = ops::cast(from.value, call.dtype());
  return {{from.value}, from.formula + "; with x input"};
}

std::string scaled_cotangent(const ForeignArguments& call) {
  return call.is_none("weight") ? "dz" : "dz·weight";
}

ForeignResult batch_norm(const ForeignArguments& call) {
  const Tensor input = wide(call.tensor("input"));
  if (input.rank() < 2) throw NoFormula{"its input has no channels"};
  Shape channels;
  Integers axes;
  for (int axis = 0; axis < input.rank(); ++axis) {
    channels.push_back(axis == 1 ? input.shape()[1] : 1);
    if (axis != 1) axes.push_back(axis);
  }
  const double epsilon = call.number_or("eps", call.number_or("epsilon", 1e-5));
  const std::string around = scaled_cotangent(call);
  if (call.flag_or("training", call.flag_or("train", true)))
    return scaled(call, normalised(input, axes, epsilon, around, "all axes but the channels"), channels);
  const Tensor mean = ops::reshape(wide(call.tensor("running_mean")), channels),
               variance = ops::reshape(wide(call.tensor("running_var")), channels);
  return scaled(call,
                {(input - mean) * ops::rsqrt(variance + epsilon),
                 "dx = " + around + "·r, n = (x − running_mean)·r, r = 1/√(running_var + eps)"},
                channels);
}

ForeignResult layer_norm(const ForeignArguments& call) {
  const Tensor input = wide(call.tensor("input"));
  Integers axes;
  Shape shape;
  for (const std::int64_t extent : call.integers("normalized_shape")) {
    axes.push_back(input.rank() - static_cast<int>(call.integers("normalized_shape").size()) +
                   static_cast<int>(axes.size()));
    shape.push_back(extent);
  }
  return scaled(call,
                normalised(input, axes, call.number_or("eps", 1e-5), scaled_cotangent(call),
                           "the axes of normalized_shape"),
                shape);
}

ForeignResult group_norm(const ForeignArguments& call) {
  const Tensor input = wide(call.tensor("input"));
  const std::int64_t batch = input.shape()[0], channels = input.shape()[1], groups = call.integer("group");
  if (groups < 1 || batch < 1) throw NoFormula{"its input is empty"};
  const Tensor grouped = ops::reshape(input, Shape{batch, groups, input.count() / (batch * groups)});
  Normalised found = normalised(grouped, {2}, call.number_or("eps", 1e-5), scaled_cotangent(call),
                                "one group of one example");
  found.value = ops::reshape(found.value, input.shape());
  Shape shape{1, channels};
  for (int axis = 2; axis < input.rank(); ++axis) shape.push_back(1);
  return scaled(call, std::move(found), shape);
}

template <bool logarithm>
ForeignResult softmax(const ForeignArguments& call) {
  const Tensor self = call.operand("self");
  const std::int64_t axis = ForeignArguments::axis_of(call.integer("dim"), self.rank());
  return {{call_row1(logarithm ? "log_softmax" : "softmax", {self}, {{"axis", axis}})},
          logarithm ? "dx = dz − e^(z)·Σ dz; with x self" : "dx = z·(dz − Σ dz·z); with x self"};
}

ForeignResult attention(const ForeignArguments& call) {
  const Tensor &query = call.tensor("query"), &key = call.tensor("key"), &value = call.tensor("value");
  if (call.number_or("dropout_p", 0) != 0) throw NoFormula{"the formula of attention has no dropout_p"};
  const Shape &q = query.shape(), &k = key.shape();
  const int depth = query.rank() - 1;
  if (query.rank() < 3 || key.rank() != query.rank() || q[0] != k[0] || q[1] != k[1])
    throw NoFormula{"its query and key have other leading axes"};
  Tensors inputs{query, key, value};
  for (const char* name : {"attn_mask", "attn_bias"})
    if (call.takes_tensor(name) && !call.is_none(name)) inputs.push_back(call.tensor(name));
  if (inputs.size() > 3 && inputs[3].dtype() == DType::bool_)
    throw NoFormula{"the formula of attention takes masks that are added"};
  const double scale = call.number_or("scale", 1 / std::sqrt(static_cast<double>(q[depth])));
  const Tensors made =
      call_row("attention", inputs, {{"scale", scale}, {"causal", call.flag_or("is_causal", false)}});
  return {{made[0]},
          "d(value) = Wᵀ·dz, d(query) = s·S·key, d(key) = s·Sᵀ·query, S = W·(P − Σ P·W), P = dz·valueᵀ, "
          "W: the weights, s: scale, or 1 / √(the width of query)"};
}

constexpr NamedRule rules[] = {
    {"convolution", &convolution},
    {"max_pool2d_with_indices", &max_pool},
    {"max_pool2d", &max_pool},
    {"avg_pool2d", &avg_pool},
    {"_adaptive_avg_pool2d", &adaptive_avg_pool},
    {"native_batch_norm", &batch_norm},
    {"_native_batch_norm_legit", &batch_norm},
    {"_batch_norm_with_update", &batch_norm},
    {"cudnn_batch_norm", &batch_norm},
    {"native_layer_norm", &layer_norm},
    {"native_group_norm", &group_norm},
    {"_softmax", &softmax<false>},
    {"_safe_softmax", &softmax<false>},
    {"_log_softmax", &softmax<true>},
    {"_scaled_dot_product_flash_attention_for_cpu", &attention},
    {"_scaled_dot_product_flash_attention", &attention},
    {"_scaled_dot_product_efficient_attention", &attention},
};

}  // namespace
}  // namespace neural

std::span<const NamedRule> neural_rules() {
  return neural::rules;
}

}  // namespace tapedeck::debug
