// A few small ops for the tests of run_op, tape and playback, so that these are self-contained: elementwise
// ones on equal shapes, a sum and its inverse, one with two outputs, one without a VJP, one that fails.
#pragma once

#include <cmath>
#include <string>

#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/run_op.h"

namespace test_ops {

using namespace tapedeck;

inline Tensor vector_of(std::initializer_list<double> values, DType dtype = DType::float64) {
  Tensor tensor = Tensor::allocate(dtype, {static_cast<std::int64_t>(values.size())});
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    T* to = tensor.writable_data<T>();
    for (const double value : values) *to++ = static_cast<T>(value);
  });
  return tensor;
}
inline Tensor scalar(double value) {
  return Tensor::scalar(value, DType::float64);
}

/// `f(i)` for every element of a tensor of the spec's shape and dtype.
template <class F>
Tensor fill(const TensorSpec& spec, F&& f) {
  Tensor result = Tensor::allocate(spec.dtype, spec.shape);
  visit_dtype(spec.dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    for (std::int64_t i = 0; i < result.count(); ++i)
      result.writable_data<T>()[i] = static_cast<T>(f(static_cast<std::size_t>(i)));
  });
  return result;
}

/// The output is like the first input; all inputs must have its shape.
inline TensorSpecs same_shape(const OpContext& call) {
  for (const Tensor& input : call.inputs)
    if (input.shape() != call.inputs[0].shape())
      fail<InvalidArgumentError>(call.op.name, ": shapes ", to_string(call.inputs[0].shape()), " and ",
                                 to_string(input.shape()), " differ");
  return {{call.inputs[0].dtype(), call.inputs[0].shape()}};
}

template <auto f>
Tensors map1(const OpContext& call) {
  const auto a = call.inputs[0].to_vector();
  return {fill(call.outputs[0], [&](std::size_t i) { return f(a[i]); })};
}
template <auto f>
Tensors map2(const OpContext& call) {
  const auto a = call.inputs[0].to_vector(), b = call.inputs[1].to_vector();
  return {fill(call.outputs[0], [&](std::size_t i) { return f(a[i], b[i]); })};
}

/// The op with that name; registers it if the program has none.
inline const OpDef& op_named(const std::string& name, OpDef op) {
  if (const OpDef* known = Registry::instance().find(name)) return *known;
  op.name = name;
  if (op.vjp_formula.empty()) op.vjp_formula = op.vjp ? "see test_ops.h" : "none";
  return Registry::instance().add(std::move(op));
}

inline OpDef unary(Forward forward, Vjp vjp) {
  OpDef op;
  op.inputs = {{.name = "x"}};
  op.shape_rule = same_shape;
  op.forward = forward;
  op.vjp = vjp;
  return op;
}
inline OpDef binary(Forward forward, Vjp vjp) {
  OpDef op = unary(forward, vjp);
  op.inputs = {{.name = "a"}, {.name = "b"}};
  return op;
}

inline Tensor multiply(const Tensor& a, const Tensor& b);
inline Tensor spread(const Tensor& value, const Tensor& like);
inline Tensor sum(const Tensor& x);

/// The four ops that the engine itself calls by name.
inline void register_core_ops() {
  op_named("add", [] {
    OpDef add_op =
        binary(map2<[](double a, double b) { return a + b; }>, [](const VjpContext& call) -> Tensors {
          return {call.cotangents[0], call.cotangents[0]};
        });
    add_op.form = Form::sum;
    return add_op;
  }());
  op_named("ones_like", unary(map1<[](double) { return 1.; }>, nullptr));
  op_named("zeros_like", unary(map1<[](double) { return 0.; }>, nullptr));
  op_named("identity", unary([](const OpContext& call) -> Tensors { return {call.inputs[0]}; },
                             [](const VjpContext& call) -> Tensors { return {call.cotangents[0]}; }));
}

inline Tensor add(const Tensor& a, const Tensor& b) {
  return detail::add(a, b);
}

inline const OpDef& multiply_op() {
  static const OpDef& op =
      op_named("test_multiply",
               binary(map2<[](double a, double b) { return a * b; }>, [](const VjpContext& call) -> Tensors {
                 const Tensor& cotangent = call.cotangents[0];
                 return {call.wanted[0] ? multiply(cotangent, call.inputs[1]) : Tensor(),
                         call.wanted[1] ? multiply(cotangent, call.inputs[0]) : Tensor()};
               }));
  return op;
}
inline Tensor multiply(const Tensor& a, const Tensor& b) {
  return run_op1(multiply_op(), {a, b});
}

inline Tensor exponential(const Tensor& x) {
  static const OpDef& op = op_named(
      "test_exp", unary(map1<[](double x) { return std::exp(x); }>, [](const VjpContext& call) -> Tensors {
        return {multiply(call.cotangents[0], call.outputs[0])};
      }));
  return run_op1(op, {x});
}

/// All elements' sum, a scalar; and a scalar at every place of another tensor.
inline Tensor sum(const Tensor& x) {
  static const OpDef& op = op_named("test_sum", [] {
    OpDef sum_op = unary(
        [](const OpContext& call) -> Tensors {
          double total = 0;
          for (const double value : call.inputs[0].to_vector()) total += value;
          return {Tensor::scalar(total, call.outputs[0].dtype)};
        },
        [](const VjpContext& call) -> Tensors { return {spread(call.cotangents[0], call.inputs[0])}; });
    sum_op.shape_rule = [](const OpContext& call) -> TensorSpecs { return {{call.inputs[0].dtype(), {}}}; };
    return sum_op;
  }());
  return run_op1(op, {x});
}
inline Tensor spread(const Tensor& value, const Tensor& like) {
  static const OpDef& op = op_named("test_spread", [] {
    OpDef spread_op = binary(
        [](const OpContext& call) -> Tensors {
          return {fill(call.outputs[0], [&](std::size_t) { return call.inputs[0].item(); })};
        },
        [](const VjpContext& call) -> Tensors {
          return {sum(call.cotangents[0]), Tensor()};
        });
    spread_op.shape_rule = [](const OpContext& call) -> TensorSpecs {
      return {{call.inputs[1].dtype(), call.inputs[1].shape()}};
    };
    return spread_op;
  }());
  return run_op1(op, {value, like});
}

/// x ↦ (x, 2x): two outputs, either of which may get no gradient.
inline Tensors once_and_twice(const Tensor& x) {
  static const OpDef& op = op_named("test_once_and_twice", [] {
    OpDef both = unary(
        [](const OpContext& call) -> Tensors {
          const auto values = call.inputs[0].to_vector();
          return {fill(call.outputs[0], [&](std::size_t i) { return values[i]; }),
                  fill(call.outputs[1], [&](std::size_t i) { return 2 * values[i]; })};
        },
        [](const VjpContext& call) -> Tensors {
          Tensor gradient = call.cotangents[0];
          if (const Tensor& second = call.cotangents[1]) {
            const Tensor doubled = detail::add(second, second);
            gradient = gradient ? detail::add(gradient, doubled) : doubled;
          }
          return {gradient};
        });
    both.shape_rule = [](const OpContext& call) -> TensorSpecs {
      return {{call.inputs[0].dtype(), call.inputs[0].shape()},
              {call.inputs[0].dtype(), call.inputs[0].shape()}};
    };
    return both;
  }());
  Tensors outputs = run_op(op, std::span(&x, 1));
  return outputs;
}

/// Truncates: int64 out; its VJP must never be requested.
inline Tensor truncate(const Tensor& x) {
  static const OpDef& op = op_named("test_truncate", [] {
    OpDef to_integer = unary(map1<[](double value) { return value; }>, [](const VjpContext&) -> Tensors {
      fail<Error>("the VJP of an op with integer outputs was called");
    });
    to_integer.shape_rule = [](const OpContext& call) -> TensorSpecs {
      return {{DType::int64, call.inputs[0].shape()}};
    };
    return to_integer;
  }());
  return run_op1(op, {x});
}
inline Tensor to_float(const Tensor& x) {
  static const OpDef& op = op_named("test_to_float", [] {
    OpDef to_float_op = unary(map1<[](double value) { return value; }>,
                              [](const VjpContext& call) -> Tensors { return {call.cotangents[0]}; });
    to_float_op.shape_rule = [](const OpContext& call) -> TensorSpecs {
      return {{DType::float64, call.inputs[0].shape()}};
    };
    return to_float_op;
  }());
  return run_op1(op, {x});
}

/// Is not differentiable.
inline Tensor sign(const Tensor& x) {
  static const OpDef& op =
      op_named("test_sign", unary(map1<[](double value) { return value < 0 ? -1. : 1.; }>, nullptr));
  return run_op1(op, {x});
}

/// Fails in forward or, if its attribute says so, in its VJP.
inline Tensor failing(const Tensor& x, bool backwards) {
  static const OpDef& op = op_named("test_failing", [] {
    OpDef failing_op = unary(
        [](const OpContext& call) -> Tensors {
          if (!call.get<bool>("backwards")) fail<UnimplementedError>("test_failing: no kernel for float64");
          return {Tensor::scalar(1, call.outputs[0].dtype)};
        },
        [](const VjpContext&) -> Tensors { fail<UnimplementedError>("test_failing: no VJP today"); });
    failing_op.attributes = {{.name = "backwards", .kind = AttributeKind::boolean, .fallback = false}};
    return failing_op;
  }());
  return run_op1(op, {x}, {backwards});
}

}  // namespace test_ops
