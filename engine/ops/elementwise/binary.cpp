// Arithmetic of two operands, with broadcasting.
#include <algorithm>
#include <array>
#include <string>

#include "engine/ops/elementwise/binary_row.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/tensor/strings.h"

namespace tapedeck::ops {

using kernels::Binary;

Tensor run_binary(Binary kernel, const Tensor& a, const Tensor& b, const TensorSpec& result) {
  Tensor out = Tensor::allocate(result.dtype, result.shape);
  std::byte* target = out.writable_data<std::byte>();
  const std::int64_t count = out.count();
  const auto walks_along = [count](const Tensor& input) {
    return input.contiguous() && (input.count() == count || input.count() == 1);
  };
  const auto run_along = [&](const Tensor& left, const Tensor& right) {
    const auto values = [count](const Tensor& side) {
      return side.count() == count && !is_immediate(side) ? kernels::Values{side.raw()} : single(side);
    };
    backend().binary(kernel, left.dtype(), values(left), values(right), target, count);
  };
  if (walks_along(a) && walks_along(b)) {
    run_along(a, b);
    return out;
  }
  const Tensor left = readable(a);
  const Tensor right = readable(b);
  if (walks_along(left) && walks_along(right))
    run_along(left, right);
  else
    backend().binary_strided(kernel, left.dtype(), operand(left, result.shape), operand(right, result.shape),
                             target, result.shape);
  return out;
}

Tensor run_binary_on_repeated(Binary kernel, const Tensor& a, const Tensor& b, const TensorSpec& result) {
  return repeat_value(run_binary(kernel, repeated_value(a), repeated_value(b), {result.dtype, {}}),
                      result.shape);
}

OpDef binary_row(BinaryText text, Kind kind, bool to_bool, ShapeRule shape_rule, Forward forward, Vjp vjp) {
  const char* dtypes = kind == Kind::numeric    ? "any numeric dtype"
                       : kind == Kind::addable  ? "any numeric dtype, or string"
                       : kind == Kind::ordered  ? "any real or integer dtype"
                       : kind == Kind::inexact  ? "any floating or complex dtype"
                       : kind == Kind::floating ? "any floating dtype"
                       : kind == Kind::boolean  ? "bool"
                       : kind == Kind::integer  ? "any integer dtype"
                                                : "any dtype";
  const std::string names = text.first + ", " + text.second;
  return {
      .name = text.name,
      .python_names = std::move(text.python_names),
      .inputs = {{.name = text.first}, {.name = text.second}},
      .attributes = {},
      .shape_rule = shape_rule,
      .forward = forward,
      .vjp = vjp,
      .vjp_formula = std::move(text.formula),
      .doc = text.doc + "\n\n" + names + ": " + dtypes +
             ", of one dtype; shapes that broadcast by NumPy's rule.\nReturns: " +
             (to_bool ? "bool" : "the dtype of both") +
             ", the broadcast shape.\nErrors: TypeMismatchError for other or different dtypes; "
             "InvalidArgumentError for "
             "shapes that do not broadcast.",
      .takes_others = true,
      .immediates = true,
  };
}

namespace {

/// Concatenates strings.
Tensor joined(const OpContext& c) {
  const Shape& shape = c.outputs[0].shape;
  std::array<std::vector<std::string_view>, 2> sides;
  for (const std::size_t i : {0, 1})
    sides[i] = strings_of(view_of(c.inputs[i], shape, broadcast_strides(c.inputs[i], shape)));
  std::vector<std::string> sums(sides[0].size());
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i].append(sides[0][i]).append(sides[1][i]);
  return string_tensor(shape, sums);
}

}  // namespace

TAPEDECK_OP(add_op, VjpReads::shapes, Form::sum) = binary_row(
    {"add",
     {"add", "math.add"},
     "The sum: x + y. Integers wrap around; strings are put behind one another.",
     "dx = dz, dy = dz"},
    Kind::addable, false, binary_shape<Kind::addable>,
    [](const OpContext& c) {
      if (c.inputs[0].dtype() == DType::string) [[unlikely]]
        return one(joined(c));
      return binary_forward<Binary::add>(c);
    },
    [](const VjpContext& c) {
      const auto same = [&] { return c.cotangents[0]; };
      return binary_gradients(c, same, same);
    });
TAPEDECK_FACTS(add_op) = {.of_infinities = "∞ − ∞ is undefined", .infix = " + ", .sums = true};

TAPEDECK_OP(subtract_op, VjpReads::shapes) = binary_op<Binary::subtract, Kind::numeric>(
    {"subtract",
     {"subtract", "math.subtract"},
     "The difference: x − y. Integers wrap around.",
     "dx = dz, dy = −dz"},
    [](const VjpContext& c) {
      return binary_gradients(
          c, [&] { return c.cotangents[0]; }, [&] { return -c.cotangents[0]; });
    });
TAPEDECK_FACTS(subtract_op) = {.of_infinities = "∞ − ∞ is undefined", .infix = " - ", .sums = true};

TAPEDECK_OP(multiply_op, VjpReads::inputs) = binary_op<Binary::multiply, Kind::numeric>(
    {"multiply",
     {"multiply", "math.multiply"},
     "The product: x·y, element by element. Integers wrap around.",
     "dx = dz·y, dy = dz·x"},
    [](const VjpContext& c) {
      return binary_gradients(
          c, [&] { return c.cotangents[0] * c.inputs[1]; }, [&] { return c.cotangents[0] * c.inputs[0]; });
    });
TAPEDECK_FACTS(multiply_op) = {
    .flat = facts::other_factor, .of_infinities = "0 · ∞ is undefined", .infix = " · "};

// divide has its own shape rule and forward function: integers give float64, as Python's `/` does.
TAPEDECK_OP(divide_op) = binary_row(
    {"divide",
     {"divide", "math.divide", "truediv", "math.truediv", "realdiv"},
     "The quotient: x / y. Integers are divided as float64 and give float64, as Python's `/` does, "
     "those of 8 and 16 bits float32; x / "
     "0 is ±∞ "
     "or NaN.",
     "dx = dz / y, dy = −dz·z / y"},
    Kind::numeric, false,
    [](const OpContext& c) {
      TensorSpecs specs = binary_shape<Kind::numeric>(c);
      if (!is_differentiable(specs[0].dtype))
        specs[0].dtype = item_size(specs[0].dtype) < 4 ? DType::float32 : DType::float64;
      return specs;
    },
    [](const OpContext& c) {
      const auto to_result = [&](const Tensor& input) {
        if (input.dtype() == c.outputs[0].dtype) return input;
        Tensor out = Tensor::allocate(c.outputs[0].dtype, input.shape());
        backend().cast(input.dtype(), out.dtype(), operand(input, input.shape()),
                       out.writable_data<std::byte>(), input.shape());
        return out;
      };
      return one(run_binary(Binary::divide, to_result(c.inputs[0]), to_result(c.inputs[1]), c.outputs[0]));
    },
    [](const VjpContext& c) {
      if (!is_differentiable(c.inputs[0].dtype())) return Tensors(2);  // no gradient flows into integers
      const Tensor& y = c.inputs[1];
      return binary_gradients(
          c, [&] { return c.cotangents[0] / y; }, [&] { return -c.cotangents[0] * (c.outputs[0] / y); });
    });
TAPEDECK_FACTS(divide_op) = {.flat = facts::other_factor,
                             .outside = facts::quotient,
                             .of_infinities = "∞ / ∞ is undefined",
                             .infix = " / "};

void require_no_zero_divisor(const OpContext& context) {
  const Tensor& divisor = context.inputs[1];
  if (is_integer(divisor.dtype()) && context.inputs[0].count() > 0 && divisor.count() > 0) {
    const Tensor zero = Tensor::scalar(0.0, divisor.dtype());
    const Tensor zeros = run_binary(Binary::equal, divisor, zero, {DType::bool_, divisor.shape()});
    const std::string error = context.op.name + ": y holds a 0; integers cannot be divided by it";
    if (backend().any(zeros.data<bool>(), zeros.count(), error)) fail<InvalidArgumentError>(error);
  }
}

namespace {

void require_no_negative_exponent(const OpContext& context) {
  const Tensor& exponent = context.inputs[1];
  if (exponent.on_cpu()) {
    for (const double value : exponent.to_vector())
      if (value < 0)
        fail<InvalidArgumentError>(context.op.name, ": y holds ", static_cast<std::int64_t>(value),
                                   "; integers have no negative powers");
    return;
  }
  const Tensor flags = run_binary(Binary::less, exponent, Tensor::scalar(0.0, exponent.dtype()),
                                  {DType::bool_, exponent.shape()});
  backend().any(flags.data<bool>(), flags.count(),
                context.op.name + ": y holds a number below 0; integers have no negative powers");
}

Tensors checked_power(const OpContext& context) {
  const Tensor& exponent = context.inputs[1];
  if (is_integer(exponent.dtype()) && context.inputs[0].count() > 0) require_no_negative_exponent(context);
  return binary_forward<Binary::pow>(context);
}

Tensors power_vjp(const VjpContext& c) {
  const Tensor& x = c.inputs[0];
  const Tensor& y = c.inputs[1];
  const Tensor& g = c.cotangents[0];
  const Tensor zero = number(0.0, x.dtype());
  const Tensor unit = number(1.0, x.dtype());
  return binary_gradients(
      c,
      [&] {
        if (!c.wanted[1] && y.count() == 1)  // x⁰ is constant, also where x⁻¹ is infinite
          return g * multiply_no_nan(pow(x, where(equal(y, zero), unit, y - 1.0)), y);
        // The derivative of x⁰ with respect to y is not constant, so only the exponent of 0⁰ may be replaced.
        const Tensor both_zero = logical_and(equal(x, zero), equal(y, zero));
        return g * multiply_no_nan(pow(x, where(both_zero, unit, y - 1.0)), y);
      },
      [&] {
        // The logarithm of 1 is 0.
        const Tensor base =
            is_complex(x.dtype()) ? where(equal(x, zero), unit, x) : where(greater(x, zero), x, unit);
        return g * (c.outputs[0] * log(base));
      });
}

/// 1 where x is not below y (maximum) or not above it (minimum): there x takes the whole gradient, ties
/// included.
template <auto comparison>
Tensors extreme_gradients(const VjpContext& c) {
  const Tensor first = comparison(c.inputs[0], c.inputs[1]);
  const Tensor zero = number(0.0, c.inputs[0].dtype());
  return binary_gradients(
      c, [&] { return where(first, c.cotangents[0], zero); },
      [&] { return where(first, zero, c.cotangents[0]); });
}

}  // namespace

TAPEDECK_OP(floordiv_op) = binary_row(
    {"floordiv",
     {"floordiv", "math.floordiv", "floor_div"},
     "The quotient rounded down: ⌊x / y⌋. Dividing integers by 0 is an InvalidArgumentError.",
     "none"},
    Kind::ordered, false, binary_shape<Kind::ordered>, division_forward<Binary::floordiv>, nullptr);
TAPEDECK_FACTS(floordiv_op) = {.flat = facts::flat_everywhere};

TAPEDECK_OP(mod_op, VjpReads::inputs) =
    binary_row({"mod",
                {"mod", "floormod", "math.mod", "math.floormod"},
                "The remainder x − y·⌊x / y⌋, with the sign of y. Dividing integers "
                "by 0 is an InvalidArgumentError.",
                "dx = dz, dy = −dz·⌊x / y⌋"},
               Kind::ordered, false, binary_shape<Kind::ordered>, division_forward<Binary::mod>,
               [](const VjpContext& c) {
                 return binary_gradients(
                     c, [&] { return c.cotangents[0]; },
                     [&] { return -c.cotangents[0] * floordiv(c.inputs[0], c.inputs[1]); });
               });

TAPEDECK_OP(pow_op) =
    binary_row({"pow",
                {"pow", "math.pow"},
                "The power: xʸ; x⁰ = 1. A negative power of integers is an InvalidArgumentError.",
                "dx = dz·y·x^(y−1) (0 where y = 0), dy = dz·z·ln x (0 where x ≤ 0)"},
               Kind::numeric, false, binary_shape<Kind::numeric>, checked_power, power_vjp);
TAPEDECK_FACTS(pow_op) = {.outside = [](double a, double b) {
  if (a < 0) return "a negative number has no real power that is not an integer";
  return a == 0 && b < 0 ? "0 to a negative power is infinite" : nullptr;
}};

namespace {

template <Binary kernel, auto comparison>
OpDef extreme_op(const std::string& name, const std::string& adjective, const std::string& formula) {
  return binary_op<kernel, Kind::ordered>(
      {name, {name, "math." + name}, "The " + adjective + " of x and y; NaN if either is NaN.", formula},
      extreme_gradients<comparison>);
}

}  // namespace

TAPEDECK_OP(maximum_op, VjpReads::inputs) = extreme_op<Binary::maximum, greater_equal>(
    "maximum", "larger", "dx = dz where x ≥ y, dy = dz where x < y");
TAPEDECK_FACTS(maximum_op) = {.flat = facts::not_chosen};

TAPEDECK_OP(minimum_op, VjpReads::inputs) =
    extreme_op<Binary::minimum, less_equal>("minimum", "smaller", "dx = dz where x ≤ y, dy = dz where x > y");
TAPEDECK_FACTS(minimum_op) = {.flat = facts::not_chosen};

TAPEDECK_OP(squared_difference_op, VjpReads::inputs) =
    with_complex_vjp(binary_op<Binary::squared_difference, Kind::numeric>(
        {"squared_difference",
         {"squared_difference", "math.squared_difference"},
         "The square of the difference: (x − y)²; of complex numbers |x − y|².",
         "dx = dz·2(x − y), dy = −dz·2(x − y)"},
        [](const VjpContext& c) {
          const Tensor& g = c.cotangents[0];
          const Tensor difference = c.inputs[0] - c.inputs[1];
          // |x − y|² has no imaginary part, whatever the cotangent's is.
          const Tensor half = is_complex(g.dtype()) ? cast(real(g), g.dtype()) * difference : g * difference;
          return binary_gradients(
              c, [&] { return 2.0 * half; }, [&] { return -2.0 * half; });
        }));

namespace {

/// The gradients of g·f′(y), the VJP of a function f in terms of its output y: it is linear in g, so the
/// op itself is the second one. `slope(y, w)`: w times the derivative of f′ with respect to y.
template <auto op, class Slope>
Tensors output_gradients(const VjpContext& c, Slope slope) {
  const Tensor& y = c.inputs[0];
  const Tensor& g = c.cotangents[0];
  return binary_gradients(
      c, [&] { return slope(y, g * c.inputs[1]); }, [&] { return op(y, g); });
}

template <Binary kernel>
OpDef output_grad_op(const std::string& function, const std::string& value, const std::string& formula,
                     Vjp vjp) {
  const std::string what = "The VJP of " + function + ", from its output y: " + value + ".";
  return binary_op<kernel, Kind::inexact>({function + "_grad", {}, what, formula, "y", "g"}, vjp);
}

}  // namespace

TAPEDECK_OP(sigmoid_grad_op, VjpReads::inputs) = output_grad_op<Binary::sigmoid_grad>(
    "sigmoid", "g·y·(1 − y)", "dy = dz·g·(1 − 2y), dg = dz·y·(1 − y)", [](const VjpContext& c) {
      return output_gradients<sigmoid_grad>(
          c, [](const Tensor& y, const Tensor& w) { return w * (1.0 - 2.0 * y); });
    });

TAPEDECK_OP(tanh_grad_op, VjpReads::inputs) = output_grad_op<Binary::tanh_grad>(
    "tanh", "g·(1 − y²)", "dy = −2·dz·g·y, dg = dz·(1 − y²)", [](const VjpContext& c) {
      return output_gradients<tanh_grad>(c, [](const Tensor& y, const Tensor& w) { return -2.0 * (w * y); });
    });

TAPEDECK_OP(relu_grad_op, VjpReads::inputs) = binary_op<Binary::relu_grad, Kind::ordered>(
    {"relu_grad",
     {},
     "The VJP of relu: g where features > 0, else 0.",
     "dg = dz where features > 0, else 0, none for features",
     "g",
     "features"},
    [](const VjpContext& c) {
      return binary_gradients(
          c, [&] { return relu_grad(c.cotangents[0], c.inputs[1]); },
          [&] { return zeros_like(c.cotangents[0]); });
    });
TAPEDECK_FACTS(relu_grad_op) = {.flat = "its input is not above zero there, and relu is flat below zero"};

}  // namespace tapedeck::ops
