// Arithmetic on two operands with NumPy's broadcasting.
#include "engine/ops/elementwise_rules.h"

namespace tapedeck {

using namespace rules;
using cpu::Binary;

Tensor sum_to_shape(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int missing = x.rank() - shape.rank();
  Axes axes;
  for (int i = 0; i < x.rank(); ++i)
    if (i < missing || (shape[i - missing] == 1 && x.dim(i) != 1)) axes.push_back(i);
  const Tensor sum = axes.empty() ? x : reduce_sum(x, axes, false);
  return sum.shape() == shape ? sum : reshape(sum, shape);
}

namespace {

/// The two gradients, summed over broadcast axes; `x` and `y` are functions, so that what is not wanted is not computed.
template <class X, class Y>
Tensors both(const VjpContext& c, X&& x, Y&& y) {
  Tensors gradients(2);
  if (c.wanted[0]) gradients[0] = sum_to_shape(x(), c.inputs[0].shape());
  if (c.wanted[1]) gradients[1] = sum_to_shape(y(), c.inputs[1].shape());
  return gradients;
}

}  // namespace

// ---- add
TAPEDECK_OP(add_op) = binary_op<Binary::add>(
    "add", {"add", "math.add"},
    [](const VjpContext& c) {
      const Tensor& dz = c.cotangents[0];
      return both(c, [&] { return dz; }, [&] { return dz; });
    },
    "dx = dz, dy = dz",
    "x + y, element by element.\n\nx, y: numbers of one dtype, shapes that broadcast. Integers wrap around.");
Tensor add(const Tensor& x, const Tensor& y) { return run_op1(add_op, {x, y}); }

// ---- subtract
TAPEDECK_OP(subtract_op) = binary_op<Binary::subtract>(
    "subtract", {"subtract", "math.subtract"},
    [](const VjpContext& c) {
      const Tensor& dz = c.cotangents[0];
      return both(c, [&] { return dz; }, [&] { return negative(dz); });
    },
    "dx = dz, dy = −dz",
    "x - y, element by element.\n\nx, y: numbers of one dtype, shapes that broadcast. Integers wrap around.");
Tensor subtract(const Tensor& x, const Tensor& y) { return run_op1(subtract_op, {x, y}); }

// ---- multiply
TAPEDECK_OP(multiply_op) = binary_op<Binary::multiply>(
    "multiply", {"multiply", "math.multiply"},
    [](const VjpContext& c) {
      const Tensor& dz = c.cotangents[0];
      return both(c, [&] { return dz * c.inputs[1]; }, [&] { return dz * c.inputs[0]; });
    },
    "dx = dz·y, dy = dz·x",
    "x * y, element by element.\n\nx, y: numbers of one dtype, shapes that broadcast. Integers wrap around.");
Tensor multiply(const Tensor& x, const Tensor& y) { return run_op1(multiply_op, {x, y}); }

// ---- divide
namespace {
/// True division: integers become float64 first, as Python's `/` on tensors does.
TensorSpecs divide_rule(const OpContext& c) {
  same_dtype(c);
  require(c, 0, c.inputs[0].dtype() != DType::bool_, "numbers");
  const DType dtype = is_floating(c.inputs[0].dtype()) ? c.inputs[0].dtype() : DType::float64;
  return one(dtype, broadcast_shapes(c.inputs[0].shape(), c.inputs[1].shape(), "divide"));
}
Tensors divide_forward(const OpContext& c) {
  if (is_floating(c.inputs[0].dtype())) return binary_forward<Binary::divide>(c);
  Tensors converted;
  for (const Tensor& input : c.inputs) {
    Tensor x = Tensor::allocate(DType::float64, input.shape());
    cpu::cast(input.dtype(), DType::float64, operand(input), output(x), input.shape());
    converted.push_back(std::move(x));
  }
  return binary_forward<Binary::divide>({c.op, converted, c.attributes, c.outputs});
}
}  // namespace
TAPEDECK_OP(divide_op) = {
    .name = "divide",
    .python_names = {"divide", "truediv", "div", "realdiv", "math.divide", "math.truediv"},
    .inputs = {{.name = "x"}, {.name = "y"}},
    .attributes = {},
    .shape_rule = divide_rule,
    .forward = divide_forward,
    .vjp =
        [](const VjpContext& c) {
          const Tensor &dz = c.cotangents[0], &y = c.inputs[1];
          return both(c, [&] { return dz / y; }, [&] { return negative(dz * c.outputs[0] / y); });
        },
    .vjp_formula = "dx = dz / y, dy = −dz·z / y",
    .doc = "x / y, element by element.\n\nx, y: numbers of one dtype, shapes that broadcast. Integers are divided as float64."};
Tensor divide(const Tensor& x, const Tensor& y) { return run_op1(divide_op, {x, y}); }

// ---- floordiv, floormod
namespace {
/// Division by zero has no value among integers, and the processor would trap.
void refuse_zero_divisor(const OpContext& c) {
  const Tensor& y = c.inputs[1];
  if (is_floating(y.dtype())) return;
  for (const double value : y.to_vector())
    if (value == 0) fail<InvalidArgumentError>(c.op.name, ": y has a 0; integers can't be divided by it");
}
template <Binary kind>
Tensors integer_division(const OpContext& c) {
  refuse_zero_divisor(c);
  return binary_forward<kind>(c);
}
}  // namespace
TAPEDECK_OP(floordiv_op) = [] {
  OpDef op = binary_op<Binary::floordiv>(
      "floordiv", {"floordiv", "floor_div", "math.floordiv"}, nullptr, "none",
      "The largest whole number not above x / y.\n\nx, y: numbers of one dtype, shapes that broadcast. Errors: an integer y of 0. "
      "Not differentiable: it is constant almost everywhere.");
  op.forward = integer_division<Binary::floordiv>;
  return op;
}();
Tensor floordiv(const Tensor& x, const Tensor& y) { return run_op1(floordiv_op, {x, y}); }

TAPEDECK_OP(floormod_op) = [] {
  OpDef op = binary_op<Binary::mod>(
      "floormod", {"floormod", "mod", "math.floormod", "math.mod"},
      [](const VjpContext& c) {
        const Tensor& dz = c.cotangents[0];
        return both(c, [&] { return dz; }, [&] { return negative(dz * floordiv(c.inputs[0], c.inputs[1])); });
      },
      "dx = dz, dy = −dz·⌊x / y⌋",
      "x - floor(x / y) * y: the remainder, with the sign of y.\n\nx, y: numbers of one dtype, shapes that broadcast. Errors: an "
      "integer y of 0.");
  op.forward = integer_division<Binary::mod>;
  return op;
}();
Tensor mod(const Tensor& x, const Tensor& y) { return run_op1(floormod_op, {x, y}); }

// ---- pow
namespace {
Tensors pow_forward(const OpContext& c) {
  if (!is_floating(c.inputs[1].dtype()))
    for (const double value : c.inputs[1].to_vector())
      if (value < 0)
        fail<InvalidArgumentError>("pow: y has ", value, "; integers can't be raised to negative powers, cast x to a float dtype");
  return binary_forward<Binary::pow>(c);
}
Tensors pow_vjp(const VjpContext& c) {
  const Tensor &dz = c.cotangents[0], &x = c.inputs[0], &y = c.inputs[1], &z = c.outputs[0];
  return both(
      c, [&] { return dz * y * pow(x, y - like(y, 1)); },
      [&] {
        // log x only where it is defined: elsewhere z does not depend smoothly on y.
        const Tensor positive = greater(x, like(x, 0));
        const Tensor safe = where(positive, x, ones_like(x));
        return dz * z * where(positive, log(safe), zeros_like(x));
      });
}
}  // namespace
TAPEDECK_OP(pow_op) = [] {
  OpDef op = binary_op<Binary::pow>("pow", {"pow", "math.pow"}, pow_vjp, "dx = dz·y·xʸ⁻¹, dy = dz·z·log x (0 where x ≤ 0)",
                                    "x to the power of y, element by element.\n\nx, y: numbers of one dtype, shapes that broadcast. "
                                    "Integers wrap around. Errors: negative integer powers of integers.");
  op.forward = pow_forward;
  return op;
}();
Tensor pow(const Tensor& x, const Tensor& y) { return run_op1(pow_op, {x, y}); }

// ---- maximum, minimum
namespace {
template <Tensor (*wins)(const Tensor&, const Tensor&)>
Tensors choice_vjp(const VjpContext& c) {
  const Tensor &dz = c.cotangents[0], &x = c.inputs[0], &y = c.inputs[1];
  const Tensor first = wins(x, y), zero = like(dz, 0);
  return both(c, [&] { return where(first, dz, zero); }, [&] { return where(first, zero, dz); });
}
}  // namespace
TAPEDECK_OP(maximum_op) = binary_op<Binary::maximum>(
    "maximum", {"maximum", "math.maximum"}, choice_vjp<greater_equal>, "dx = dz where x ≥ y, dy = dz elsewhere",
    "The larger of x and y, element by element; NaN where one is NaN.\n\nx, y: numbers of one dtype, shapes that broadcast.");
Tensor maximum(const Tensor& x, const Tensor& y) { return run_op1(maximum_op, {x, y}); }

TAPEDECK_OP(minimum_op) = binary_op<Binary::minimum>(
    "minimum", {"minimum", "math.minimum"}, choice_vjp<less_equal>, "dx = dz where x ≤ y, dy = dz elsewhere",
    "The smaller of x and y, element by element; NaN where one is NaN.\n\nx, y: numbers of one dtype, shapes that broadcast.");
Tensor minimum(const Tensor& x, const Tensor& y) { return run_op1(minimum_op, {x, y}); }

// ---- squared_difference
TAPEDECK_OP(squared_difference_op) = binary_op<Binary::squared_difference>(
    "squared_difference", {"squared_difference", "math.squared_difference"},
    [](const VjpContext& c) {
      const Tensor& dz = c.cotangents[0];
      const Tensor dx = dz * like(dz, 2) * (c.inputs[0] - c.inputs[1]);
      return both(c, [&] { return dx; }, [&] { return negative(dx); });
    },
    "dx = dz·2(x − y), dy = −dx",
    "(x - y)², element by element.\n\nx, y: numbers of one dtype, shapes that broadcast.");
Tensor squared_difference(const Tensor& x, const Tensor& y) { return run_op1(squared_difference_op, {x, y}); }

// ---- gradients of activations: one pass over memory each
TAPEDECK_OP(sigmoid_grad_op) = binary_op<Binary::sigmoid_grad>(
    "sigmoid_grad", {},
    [](const VjpContext& c) {
      const Tensor &dz = c.cotangents[0], &y = c.inputs[0], &dy = c.inputs[1];
      return both(c, [&] { return dz * dy * (like(y, 1) - like(y, 2) * y); }, [&] { return dz * y * (like(y, 1) - y); });
    },
    "dy = dz·g·(1 − 2y), dg = dz·y·(1 − y)", "g·y·(1 − y): the gradient of y = sigmoid(x) for the output's gradient g.");
Tensor sigmoid_grad(const Tensor& y, const Tensor& cotangent) { return run_op1(sigmoid_grad_op, {y, cotangent}); }

TAPEDECK_OP(tanh_grad_op) = binary_op<Binary::tanh_grad>(
    "tanh_grad", {},
    [](const VjpContext& c) {
      const Tensor &dz = c.cotangents[0], &y = c.inputs[0], &dy = c.inputs[1];
      return both(c, [&] { return dz * dy * like(y, -2) * y; }, [&] { return dz * (like(y, 1) - y * y); });
    },
    "dy = −dz·g·2y, dg = dz·(1 − y²)", "g·(1 − y²): the gradient of y = tanh(x) for the output's gradient g.");
Tensor tanh_grad(const Tensor& y, const Tensor& cotangent) { return run_op1(tanh_grad_op, {y, cotangent}); }

TAPEDECK_OP(relu_grad_op) = binary_op<Binary::relu_grad>(
    "relu_grad", {},
    [](const VjpContext& c) {
      return both(c, [&] { return relu_grad(c.cotangents[0], c.inputs[1]); }, [&] { return zeros_like(c.inputs[1]); });
    },
    "dg = dz where x > 0, dx = 0", "g where x > 0, else 0: the gradient of relu(x) for the output's gradient g.");
Tensor relu_grad(const Tensor& cotangent, const Tensor& x) { return run_op1(relu_grad_op, {cotangent, x}); }

// ---- add_n
namespace {
TensorSpecs add_n_rule(const OpContext& c) {
  if (c.inputs.empty()) fail<InvalidArgumentError>("add_n: inputs is an empty list; it takes at least one tensor");
  same_dtype(c);
  require(c, 0, c.inputs[0].dtype() != DType::bool_, "numbers");
  for (std::size_t i = 1; i < c.inputs.size(); ++i)
    if (c.inputs[i].shape() != c.inputs[0].shape())
      fail<InvalidArgumentError>("add_n: input 0 ", to_string(c.inputs[0].shape()), " and input ", i, " ",
                                 to_string(c.inputs[i].shape()), " differ in shape");
  return one(c.inputs[0].dtype(), c.inputs[0].shape());
}
Tensors add_n_forward(const OpContext& c) {
  Tensor sum = c.inputs[0];
  for (std::size_t i = 1; i < c.inputs.size(); ++i) {
    const Tensor pair[] = {sum, c.inputs[i]};
    sum = std::move(binary_forward<Binary::add>({c.op, pair, c.attributes, c.outputs})[0]);
  }
  if (c.inputs.size() == 1)
    sum = Tensor::view(sum.storage(), sum.dtype(), sum.shape(), sum.strides(), sum.offset());
  return one_tensor(std::move(sum));
}
}  // namespace
TAPEDECK_OP(add_n_op) = {.name = "add_n",
                         .python_names = {"add_n", "math.add_n"},
                         .inputs = {{.name = "inputs", .variadic = true}},
                         .attributes = {},
                         .shape_rule = add_n_rule,
                         .forward = add_n_forward,
                         .vjp = [](const VjpContext& c) { return Tensors(c.inputs.size(), c.cotangents[0]); },
                         .vjp_formula = "dxᵢ = dz",
                         .doc = "The sum of a list of tensors.\n\ninputs: at least one, all of one dtype and shape."};
Tensor add_n(std::span<const Tensor> inputs) { return run_op1(add_n_op, inputs); }

namespace detail {
void link_arithmetic() {}
}  // namespace detail

}  // namespace tapedeck
