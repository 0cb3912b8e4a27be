// Scaled dot-product attention; its gradient is an op, too.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/ops/core/cost.h"
#include "engine/ops/core/gradient_again.h"
#include "engine/ops/core/placement.h"
#include "engine/ops/neural/recurrent.h"

namespace tapedeck::ops {
namespace {

enum : std::size_t { queries_in, keys_in, values_in, mask_in };  ///< also what `wanted` lists
constexpr std::size_t cotangents_from = 4;                       ///< of the gradient op: behind the weights

std::int64_t from_end(const Tensor& tensor, int axis) {
  return tensor.dim(tensor.rank() - axis);
}

Shape leading(const Tensor& tensor) {
  return Shape(tensor.shape().span().first(static_cast<std::size_t>(tensor.rank() - 2)));
}

Shape with_ends(Shape shape, std::int64_t rows, std::int64_t columns) {
  shape.push_back(rows);
  shape.push_back(columns);
  return shape;
}

template <class Context>
double scale_of(const Context& c, const Tensor& query) {
  if (!c.is_none("scale")) return real_of(c.attribute("scale"));
  return 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(1, from_end(query, 1))));
}

void check_mask(const OpContext& c, std::size_t mask, const Shape& logits) {
  if (c.inputs.size() > mask + 1)
    fail<InvalidArgumentError>(c.op.name, ": got ", c.inputs.size() - mask, " masks; takes one at most");
  if (c.inputs[mask].dtype() != DType::bool_) require_same_dtype(c, 0, mask);
  const Shape& shape = c.inputs[mask].shape();
  bool fits = shape.rank() <= logits.rank();
  for (int axis = 1; fits && axis <= shape.rank(); ++axis)
    fits = shape[shape.rank() - axis] == 1 || shape[shape.rank() - axis] == logits[logits.rank() - axis];
  if (!fits)
    fail<InvalidArgumentError>(c.op.name, ": mask ", to_string(shape), " does not broadcast to the logits ",
                               to_string(logits));
}

/// The shape of the weights; everything but the mask's, and what only gradients have, is checked.
Shape weights_shape(const OpContext& c) {
  require_inputs(c, 3);
  require_kind(c, 0, Kind::floating);
  for (const std::size_t i : {keys_in, values_in}) require_same_dtype(c, 0, i);
  const Tensor &q = c.inputs[queries_in], &k = c.inputs[keys_in], &v = c.inputs[values_in];
  for (const Tensor* matrix : {&q, &k, &v})
    if (matrix->rank() < 2)
      fail<InvalidArgumentError>(c.op.name, ": ",
                                 matrix == &q   ? "query"
                                 : matrix == &k ? "key"
                                                : "value",
                                 " has shape ", to_string(matrix->shape()), "; needs at least 2 axes");
  if (leading(q) != leading(k) || leading(q) != leading(v))
    fail<InvalidArgumentError>(c.op.name, ": query ", to_string(q.shape()), ", key ", to_string(k.shape()),
                               " and value ", to_string(v.shape()), " differ in their leading axes");
  if (from_end(q, 1) != from_end(k, 1))
    fail<InvalidArgumentError>(c.op.name, ": query ", to_string(q.shape()), " and key ", to_string(k.shape()),
                               " differ in their last axis");
  if (from_end(k, 2) != from_end(v, 2))
    fail<InvalidArgumentError>(c.op.name, ": key ", to_string(k.shape()), " and value ", to_string(v.shape()),
                               " differ in the number of keys");
  return with_ends(leading(q), from_end(q, 2), from_end(k, 2));
}

/// Matrices with contiguous rows: the tensor itself if it has them.
Tensor with_rows(const Tensor& tensor) {
  return tensor.strides()[tensor.rank() - 1] == 1 &&
                 tensor.strides()[tensor.rank() - 2] >= from_end(tensor, 1)
             ? tensor
             : contiguous(tensor);
}

/// New memory whose axes have the same order as the model's: heads that a view split off an axis stay
/// adjacent.
Tensor allocate_as(const TensorSpec& spec, const Tensor& model) {
  const int rank = spec.shape.rank();
  std::vector<int> order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end() - 1,
                   [&](int a, int b) { return model.strides()[a] > model.strides()[b]; });
  Shape shape;
  for (const int axis : order) shape.push_back(spec.shape[axis]);
  const Tensor dense = Tensor::allocate(spec.dtype, shape);
  Strides strides = dense.strides();
  for (int i = 0; i < rank; ++i) strides[order[static_cast<std::size_t>(i)]] = dense.strides()[i];
  return view_of(dense, spec.shape, strides);
}

/// First elements of all matrices, for kernels.
class HeadMatrices {
 public:
  HeadMatrices() = default;
  HeadMatrices(const Tensor& tensor, const Shape& batch) {
    const auto size = static_cast<std::int64_t>(item_size(tensor.dtype()));
    const std::int64_t count = element_count(batch);
    first_.reserve(static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t rest = i, offset = 0;
      for (int axis = batch.rank() - 1; axis >= 0; --axis) {
        const int own = axis - (batch.rank() + 2 - tensor.rank());
        if (own >= 0 && tensor.dim(own) != 1) offset += rest % batch[axis] * tensor.strides()[own];
        rest /= batch[axis];
      }
      first_.push_back(tensor.raw() + offset * size);
    }
  }
  std::span<const void* const> first() const { return first_; }

 private:
  std::vector<const void*> first_;
};

/// A tensor of matrices in the kernels' form.
struct AttentionOperand {
  Tensor tensor;
  HeadMatrices matrices;

  AttentionOperand() = default;
  AttentionOperand(Tensor values, const Shape& batch) : tensor(std::move(values)), matrices(tensor, batch) {}
  kernels::AttentionMatrices view() const {
    if (!tensor) return {};
    const std::int64_t stride = tensor.strides()[tensor.rank() - 2];
    return {matrices.first(), std::max({stride, from_end(tensor, 1), std::int64_t{1}})};
  }
};

kernels::AttentionSize attention_size(const OpContext& c, const Shape& batch) {
  return {element_count(batch),
          from_end(c.inputs[queries_in], 2),
          from_end(c.inputs[keys_in], 2),
          from_end(c.inputs[queries_in], 1),
          from_end(c.inputs[values_in], 1),
          scale_of(c, c.inputs[queries_in]),
          c.get<bool>("causal")};
}

TensorSpecs attention_shape(const OpContext& c) {
  const Shape weights = weights_shape(c);
  if (c.inputs.size() > mask_in) check_mask(c, mask_in, weights);
  const DType dtype = c.inputs[0].dtype();
  TensorSpecs specs = spec(dtype, with_ends(leading(c.inputs[0]), from_end(c.inputs[queries_in], 2),
                                            from_end(c.inputs[values_in], 1)));
  specs.push_back({dtype, weights});
  return specs;
}

Tensors attention_forward(const OpContext& c) {
  const Shape batch = leading(c.inputs[0]);
  const Tensor weights = allocate_output(c, 1);
  const AttentionOperand out(allocate_as(c.outputs[0], c.inputs[queries_in]), batch);
  Tensors results = one(out.tensor);
  results.push_back(weights);
  if (out.tensor.count() == 0 && weights.count() == 0) return results;
  const AttentionOperand q(with_rows(c.inputs[queries_in]), batch), k(with_rows(c.inputs[keys_in]), batch),
      v(with_rows(c.inputs[values_in]), batch);
  AttentionOperand mask;
  kernels::AttentionBias bias;
  if (c.inputs.size() > mask_in) {
    Tensor given = c.inputs[mask_in];
    while (given.rank() < 2) {  // as many leading axes
      Shape shape{1};
      Strides strides{0};
      for (int axis = 0; axis < given.rank(); ++axis) {
        shape.push_back(given.dim(axis));
        strides.push_back(given.strides()[axis]);
      }
      given = view_of(given, shape, strides);
    }
    mask = AttentionOperand(given, batch);
    const auto step = [&](int axis) {
      return from_end(given, axis) == 1 ? 0 : given.strides()[given.rank() - axis];
    };
    bias = {mask.matrices.first(), step(2), step(1), given.dtype() == DType::bool_};
  }
  backend().attention(weights.dtype(), attention_size(c, batch), q.view(), k.view(), v.view(), bias,
                      out.view(), weights.writable_data<std::byte>());
  return results;
}

/// Checks the attributes' lists: below `count`, ascending.
Integers attention_positions(const OpContext& c, AttributeName attribute, std::int64_t count) {
  const Integers values = integers_of(c.attribute(attribute));
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] < 0 || values[i] >= count || (i > 0 && values[i] <= values[i - 1]))
      fail<InvalidArgumentError>(c.op.name, ": ", attribute.text(), " is ", to_string(c.attribute(attribute)),
                                 "; needs rising numbers from 0 to ", count - 1);
  return values;
}

/// A call of the gradient op, checked.
struct AttentionReading {
  Integers given, wanted;
  Shape weights;
  std::size_t mask;  ///< where it is among the inputs; or their number

  explicit AttentionReading(const OpContext& c)
      : given(attention_positions(c, "given", 2)),
        wanted(attention_positions(c, "wanted", 4)),
        weights(weights_shape(c)) {
    mask = cotangents_from + given.size();
    require_inputs(c, mask);
    for (std::size_t i = 3; i < mask; ++i) {
      require_same_dtype(c, 0, i);
      const bool out = i > 3 && given[i - cotangents_from] == 0;
      const Shape shape = out ? with_ends(leading(c.inputs[0]), from_end(c.inputs[queries_in], 2),
                                          from_end(c.inputs[values_in], 1))
                              : weights;
      if (c.inputs[i].shape() != shape)
        fail<InvalidArgumentError>(c.op.name, ": ", input_name(c, i), " has shape ",
                                   to_string(c.inputs[i].shape()), "; needs ", to_string(shape));
    }
    if (c.inputs.size() > mask) check_mask(c, mask, weights);
    if (wants(mask_in) && (c.inputs.size() == mask || c.inputs[mask].dtype() == DType::bool_ ||
                           c.inputs[mask].shape() != weights))
      fail<InvalidArgumentError>(c.op.name, ": wanted names the mask; it has to be of the logits' shape ",
                                 to_string(weights), " and dtype");
  }

  bool wants(std::size_t input) const {
    return std::find(wanted.begin(), wanted.end(), static_cast<std::int64_t>(input)) != wanted.end();
  }
};

TensorSpecs attention_gradient_shape(const OpContext& c) {
  const AttentionReading call(c);
  TensorSpecs specs;
  for (const std::int64_t k : call.wanted)
    specs.push_back({c.inputs[0].dtype(), k == static_cast<std::int64_t>(mask_in)
                                              ? call.weights
                                              : c.inputs[static_cast<std::size_t>(k)].shape()});
  return specs;
}

Tensors attention_gradient_forward(const OpContext& c) {
  const AttentionReading call(c);
  const Shape batch = leading(c.inputs[0]);
  Tensors results;
  bool empty = true;
  for (std::size_t k = 0; k < call.wanted.size(); ++k) {
    const auto input = static_cast<std::size_t>(call.wanted[k]);
    results.push_back(input == mask_in ? allocate_output(c, k) : allocate_as(c.outputs[k], c.inputs[input]));
    empty = empty && results.back().count() == 0;
  }
  if (empty) return results;
  const AttentionOperand q(with_rows(c.inputs[queries_in]), batch), k(with_rows(c.inputs[keys_in]), batch),
      v(with_rows(c.inputs[values_in]), batch);
  const Tensor weights = contiguous(c.inputs[3]);
  AttentionOperand d_out;
  Tensor d_weights;
  for (std::size_t i = 0; i < call.given.size(); ++i) {
    const Tensor& cotangent = c.inputs[cotangents_from + i];
    if (call.given[i] == 0)
      d_out = AttentionOperand(with_rows(cotangent), batch);
    else
      d_weights = contiguous(cotangent);
  }
  AttentionOperand targets[3];
  void* logits = nullptr;
  for (std::size_t i = 0; i < results.size(); ++i)
    if (const auto input = static_cast<std::size_t>(call.wanted[i]); input == mask_in)
      logits = results[i].writable_data<std::byte>();
    else
      targets[input] = AttentionOperand(results[i], batch);
  backend().attention_gradient(weights.dtype(), attention_size(c, batch), q.view(), k.view(), v.view(),
                               weights.raw(), {d_out.view(), d_weights ? d_weights.raw() : nullptr},
                               {targets[0].view(), targets[1].view(), targets[2].view(), logits});
  return results;
}

/// The same of other ops; the mask may be undefined.
Tensors composed_attention(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& mask,
                           double scale, bool causal) {
  Tensor logits = matmul(q, k, false, true) * scale;
  Tensor may = mask && mask.dtype() == DType::bool_ ? mask : Tensor();
  if (mask && !may) logits = logits + mask;
  if (causal) {
    const Shape shape{from_end(q, 2), from_end(k, 2)};
    const Tensor lower = Tensor::allocate(DType::bool_, shape, Device{});
    for (std::int64_t i = 0; i < lower.count(); ++i)
      lower.writable_data<bool>()[i] = i % shape[1] <= i / shape[1];
    const Tensor earlier = copy_to(leaf(lower), logits.device());
    may = may ? logical_and(may, earlier) : earlier;
  }
  if (may) logits = where(may, logits, logits + kernels::masked_logit);
  const Tensor weights = softmax(logits);
  Tensors outputs = one(matmul(weights, v));
  outputs.push_back(weights);
  return outputs;
}

}  // namespace

extern const OpDef& attention_gradient_op;

namespace {

Tensors attention_vjp(const VjpContext& c) {
  Tensors inputs(c.inputs.begin(), c.inputs.begin() + 3);
  inputs.push_back(c.outputs[1]);
  Integers given, wanted;
  for (std::size_t k = 0; k < 2; ++k)
    if (c.cotangents[k]) {
      given.push_back(static_cast<std::int64_t>(k));
      inputs.push_back(c.cotangents[k]);
    }
  for (std::size_t i = 0; i < c.inputs.size(); ++i)
    if (c.wanted[i] && c.inputs[i].dtype() != DType::bool_) wanted.push_back(static_cast<std::int64_t>(i));
  Tensors gradients(c.inputs.size());
  if (given.empty() || wanted.empty()) return gradients;
  if (c.inputs.size() > mask_in) {
    const bool to_mask = wanted.back() == static_cast<std::int64_t>(mask_in);
    inputs.push_back(to_mask ? broadcast_to(c.inputs[mask_in], c.outputs[1].shape()) : c.inputs[mask_in]);
  }
  const Tensors found =
      run_op(attention_gradient_op, inputs, {c.attribute("scale"), c.attribute("causal"), given, wanted});
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto input = static_cast<std::size_t>(wanted[k]);
    gradients[input] = input == mask_in ? unbroadcast(found[k], c.inputs[mask_in].shape()) : found[k];
  }
  return gradients;
}

Tensors attention_gradient_vjp(const VjpContext& c) {
  const AttentionReading call({c.op, c.inputs, c.attributes, {}});
  const Tensor mask = c.inputs.size() > call.mask ? c.inputs[call.mask] : Tensor();
  Tensors primals(c.inputs.begin(), c.inputs.begin() + 3);
  const bool floating = mask && mask.dtype() != DType::bool_;
  if (floating) primals.push_back(mask);
  const double scale = scale_of(c, c.inputs[0]);
  const Tensors found = gradients_of_gradients(
      {[&](std::span<const Tensor> x) {
         return composed_attention(x[0], x[1], x[2], floating ? x[3] : mask, scale, c.get<bool>("causal"));
       },
       primals, call.given, c.inputs.subspan(cotangents_from, call.given.size()), call.wanted},
      c.cotangents);
  Tensors gradients(c.inputs.size());
  for (std::size_t i = 0; i < 3; ++i) gradients[i] = found[i];
  if (floating) gradients[call.mask] = found[mask_in];
  for (std::size_t i = 0; i < call.given.size(); ++i)
    gradients[cotangents_from + i] = found[primals.size() + i];
  return gradients;
}

std::vector<AttributeSpec> attributes_of(bool gradient) {
  std::vector<AttributeSpec> specs = {
      {.name = "scale", .kind = AttributeKind::real, .fallback = std::monostate{}},
      {.name = "causal", .kind = AttributeKind::boolean, .fallback = false}};
  if (!gradient) return specs;
  for (AttributeSpec& each : specs) each.required = true;
  specs.push_back({.name = "given", .kind = AttributeKind::integers, .fallback = {}, .required = true});
  specs.push_back({.name = "wanted", .kind = AttributeKind::integers, .fallback = {}, .required = true});
  return specs;
}

}  // namespace

TAPEDECK_OP(attention_op) = {
    .name = "attention",
    .python_names = {},
    .inputs = {{.name = "query"},
               {.name = "key"},
               {.name = "value"},
               {.name = "mask", .group = '\0', .variadic = true}},
    .attributes = attributes_of(false),
    .shape_rule = attention_shape,
    .forward = attention_forward,
    .vjp = attention_vjp,
    .vjp_formula =
        "d(value) = weightsᵀ·d(out), d(query) = scale·S·key, d(key) = scale·Sᵀ·query, "
        "S = weights·(P − Σ P·weights), P = d(out)·valueᵀ + d(weights)",
    .cost = [](const CostContext& c) -> OpCost {
      // Q·Kᵀ and weights·V, and five operations of softmax for each weight.
      const double weights = cost::count(c.outputs.back());
      const double depth = cost::stack(c.inputs[0]).columns, width = cost::stack(c.inputs[2]).columns;
      return {weights * (2 * depth + 2 * width + 5), cost::traffic(c)};
    },
    .doc =
        "Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762, (1)): "
        "softmax(scale·Q·Kᵀ + mask)·V.\n\n"
        "query: (…, queries, depth), key: (…, keys, depth), value: (…, keys, width), any floating dtype, one "
        "for all, the same leading axes; mask: none, or one tensor that broadcasts to (…, queries, keys): "
        "bool, False where a key may not be attended to (−1e9 is added to its logit), or of their dtype, "
        "added to the logits; scale: None for 1/√depth; causal: query i attends to keys 0 to i.\n"
        "Returns: (out, weights), (…, queries, width) and (…, queries, keys).\n"
        "Errors: InvalidArgumentError for shapes that do not fit; TypeMismatchError for other or different "
        "dtypes.",
    .results = {.fields = {"out", "weights"}},
};

TAPEDECK_OP(attention_gradient_op) = {
    .name = "attention_gradient",
    .python_names = {},
    .inputs = {{.name = "query", .group = '\0'},
               {.name = "key", .group = '\0'},
               {.name = "value", .group = '\0'},
               {.name = "weights", .group = '\0'},
               {.name = "cotangents", .group = '\0', .variadic = true}},
    .attributes = attributes_of(true),
    .shape_rule = attention_gradient_shape,
    .forward = attention_gradient_forward,
    .vjp_reads = VjpReads::inputs,
    .vjp = attention_gradient_vjp,
    .vjp_formula =
        "d(query) = P, P: the derivative of the weighted sum of what was computed, taken through "
        "attention composed of other ops; likewise of the other inputs, none for weights",
    .cost = [](const CostContext& c) -> OpCost {
      // P = d(out)·Vᵀ and S = weights·(P − Σ P·weights), then a product for each gradient.
      const double weights = cost::count(c.inputs[3]);
      const double depth = cost::stack(c.inputs[0]).columns, width = cost::stack(c.inputs[2]).columns;
      double each = 2 * width + 4;
      if (const Attribute* wanted = cost::attribute(c, "wanted"))
        for (const std::int64_t input : integers_of(*wanted))
          each += input == 2 ? 2 * width : input < 2 ? 2 * depth + 1 : 0;
      return {weights * each, cost::traffic(c)};
    },
    .doc =
        "Gradients of attention.\n\n"
        "Takes query, key, value and the weights of attention (counted as a function of the others when "
        "this is differentiated again), cotangents of the outputs that given lists by number, and at the "
        "end the mask, if there was one; scale, causal: as in attention; wanted: the numbers of the "
        "inputs whose gradients are asked "
        "for, 3 for a mask of the logits' shape.\n"
        "Returns: one gradient for each number in wanted.\n"
        "Errors: InvalidArgumentError for shapes that do not fit and for lists that are not ascending or "
        "name "
        "missing inputs; TypeMismatchError for other or different dtypes.",
    .returns_list = true,
};

}  // namespace tapedeck::ops
