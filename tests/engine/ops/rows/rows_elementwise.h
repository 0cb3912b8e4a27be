// Test rows of elementwise ops.
#pragma once

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// One operand, values in [low, high]; `edges` are tried for their values only.
inline Row unary_test(const std::string& op, double low, double high, std::function<double(double)> f,
                      double tolerance = 1e-15, bool edges = true) {
  Row row{op, {}, {}, tolerance};
  for (const Shape& shape : {Shape{}, Shape{0, 3}, Shape{7}, Shape{2, 3, 2}})
    row.calls.push_back([=](Random& random) { return Call{{random_tensor(random, shape, low, high)}}; });
  if (edges)
    row.calls.push_back([](Random&) {
      const std::vector<double> values = {
          0.0,  -0.0, infinity, -infinity, not_a_number, 5e-324, -5e-324, 1e-310, 1.0,    -1.0,  0.5,
          -0.5, 1.5,  2.5,      709.7,     710.0,        -745.0, -746.0,  1e300,  -1e300, 1e-20, -1e-20};
      return Call{{Tensor::from_values<double>(values, {static_cast<std::int64_t>(values.size())})}};
    });
  row.reference = [f](const Call& call) {
    Array out(call.inputs[0]);
    for (double& value : out.values) value = f(value);
    return Arrays{out};
  };
  return row;
}

/// Two operands that broadcast; the second one in [low, high].
inline Row binary_test(const std::string& op, std::function<double(double, double)> f, double low = -2.0,
                       double high = 2.0, double first_low = -2.0, double tolerance = 1e-14) {
  Row row{op, {}, {}, tolerance};
  const std::vector<std::pair<Shape, Shape>> pairs = {
      {{}, {}},      {{4}, {4}},       {{2, 3}, {}},        {{}, {2, 3}},
      {{2, 3}, {3}}, {{2, 1}, {2, 3}}, {{4, 1, 2}, {3, 1}}, {{0, 2}, {2}}};
  for (const auto& [a, b] : pairs)
    row.calls.push_back([=](Random& random) {
      return Call{{random_tensor(random, a, first_low, 2.0), random_tensor(random, b, low, high)}};
    });
  row.reference = [f](const Call& call) {
    const Array a(call.inputs[0]);
    const Array b(call.inputs[1]);
    Array out(broadcast_shapes(a.shape, b.shape, "test"));
    for_each_index(out.shape,
                   [&](const auto& index) { out(index) = f(a.broadcast(index), b.broadcast(index)); });
    return Arrays{out};
  };
  return row;
}

/// A comparison also sees equal values and NaN.
inline Row comparison_test(const std::string& op, std::function<double(double, double)> f) {
  Row row = binary_test(op, std::move(f));
  row.calls.push_back([](Random&) {
    const std::vector<double> a = {1, 2, 3, not_a_number, infinity, -0.0, not_a_number};
    const std::vector<double> b = {1, 3, 2, 1, infinity, 0.0, not_a_number};
    return Call{{Tensor::from_values<double>(a, {7}), Tensor::from_values<double>(b, {7})}};
  });
  return row;
}

inline Row logic_test(const std::string& op, std::function<double(double, double)> f) {
  Row row = binary_test(op, std::move(f));
  row.calls = {[](Random&) {
                 return Call{{booleans({0, 0, 1, 1}, {4}), booleans({0, 1, 0, 1}, {4})}};
               },
               [](Random&) {
                 return Call{{booleans({0, 1}, {2, 1}), booleans({0, 1}, {2})}};
               }};
  return row;
}

inline Rows unary_rows() {
  Rows rows = {
      unary_test(
          "negative", -2, 2, [](double x) { return -x; }, 0),
      unary_test(
          "abs", 0.1, 2, [](double x) { return std::abs(x); }, 0),
      unary_test(
          "sign", 0.1, 2, [](double x) { return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0)); },
          0),
      unary_test(
          "square", -2, 2, [](double x) { return x * x; }, 0),
      unary_test(
          "sqrt", 0.2, 4, [](double x) { return std::sqrt(x); }, 0),
      unary_test("rsqrt", 0.3, 4, [](double x) { return 1 / std::sqrt(x); }),
      unary_test(
          "reciprocal", 0.3, 3, [](double x) { return 1 / x; }, 0),
      unary_test("exp", -2, 2, [](double x) { return std::exp(x); }),
      unary_test("expm1", -2, 2, [](double x) { return std::expm1(x); }),
      unary_test("log", 0.2, 4, [](double x) { return std::log(x); }),
      unary_test("log1p", -0.8, 4, [](double x) { return std::log1p(x); }),
      unary_test("sin", -3, 3, [](double x) { return std::sin(x); }),
      unary_test("cos", -3, 3, [](double x) { return std::cos(x); }),
      unary_test("tan", -1.2, 1.2, [](double x) { return std::tan(x); }),
      unary_test("asin", -0.8, 0.8, [](double x) { return std::asin(x); }),
      unary_test("acos", -0.8, 0.8, [](double x) { return std::acos(x); }),
      unary_test("atan", -2, 2, [](double x) { return std::atan(x); }),
      unary_test("sinh", -2, 2, [](double x) { return std::sinh(x); }),
      unary_test("cosh", -2, 2, [](double x) { return std::cosh(x); }),
      unary_test("tanh", -2, 2, [](double x) { return std::tanh(x); }),
      unary_test("sigmoid", -4, 4,
                 [](double x) { return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x)); }),
      unary_test(
          "relu", 0.1, 2, [](double x) { return x < 0 ? 0 : x; }, 0),
      unary_test("softplus", -3, 3,
                 [](double x) { return (x < 0 ? 0 : x) + std::log1p(std::exp(-std::abs(x))); }),
      unary_test("erf", -2, 2, [](double x) { return std::erf(x); }),
      unary_test(
          "floor", -3, 3, [](double x) { return std::floor(x); }, 0),
      unary_test(
          "ceil", -3, 3, [](double x) { return std::ceil(x); }, 0),
      unary_test(
          "round", -3, 3,
          [](double x) {
            const double down = std::floor(x);
            if (!std::isfinite(x) || x - down == 0) return x;
            const double up = std::copysign(down + 1, x);
            if (x - down != 0.5) return x - down < 0.5 ? down : up;
            return std::fmod(down, 2) == 0 ? down : up;
          },
          0),
      unary_test(
          "is_nan", -3, 3, [](double x) { return x != x; }, 0),
      unary_test(
          "is_inf", -3, 3, [](double x) { return x == infinity || x == -infinity; }, 0),
      unary_test(
          "is_finite", -3, 3, [](double x) { return x - x == 0; }, 0),
  };
  Row logical_not = unary_test(
      "logical_not", 0, 1, [](double x) { return x == 0; }, 0);
  logical_not.calls = {[](Random&) { return Call{{booleans({0, 1, 1}, {3, 1})}}; }};
  rows.push_back(logical_not);
  return rows;
}

inline Rows binary_rows() {
  Rows rows = {
      binary_test("add", [](double x, double y) { return x + y; }),
      binary_test("subtract", [](double x, double y) { return x - y; }),
      binary_test("multiply", [](double x, double y) { return x * y; }),
      binary_test(
          "divide", [](double x, double y) { return x / y; }, 0.4, 2),
      binary_test(
          "floordiv", [](double x, double y) { return std::floor(x / y); }, 0.4, 2),
      binary_test(
          "mod", [](double x, double y) { return x - y * std::floor(x / y); }, 0.4, 2),
      binary_test(
          "pow", [](double x, double y) { return std::pow(x, y); }, -2, 2, 0.3),
      binary_test("maximum", [](double x, double y) { return x > y ? x : y; }),
      binary_test("minimum", [](double x, double y) { return x < y ? x : y; }),
      binary_test("squared_difference", [](double x, double y) { return (x - y) * (x - y); }),
      binary_test("sigmoid_grad", [](double y, double dy) { return dy * y * (1 - y); }),
      binary_test("tanh_grad", [](double y, double dy) { return dy * (1 - y * y); }),
      binary_test("relu_grad", [](double dy, double x) { return x > 0 ? dy : 0; }),
      binary_test(
          "gelu_grad",
          [](double dy, double x) {
            return dy * (0.5 * (1 + std::erf(x / std::sqrt(2.0))) +
                         x * std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0)));
          },
          -2.0, 2.0, -2.0, 1e-13),  // two terms that cancel near its zero
      comparison_test("equal", [](double x, double y) { return x == y; }),
      comparison_test("not_equal", [](double x, double y) { return x != y; }),
      comparison_test("less", [](double x, double y) { return x < y; }),
      comparison_test("less_equal", [](double x, double y) { return x <= y; }),
      comparison_test("greater", [](double x, double y) { return x > y; }),
      comparison_test("greater_equal", [](double x, double y) { return x >= y; }),
      logic_test("logical_and", [](double x, double y) { return x != 0 && y != 0; }),
      logic_test("logical_or", [](double x, double y) { return x != 0 || y != 0; }),
  };
  return rows;
}

inline Rows selection_rows() {
  Row where{"where",
            {[](Random& random) {
               return Call{
                   {booleans({1, 0, 1}, {3}), random_tensor(random, {2, 3}), random_tensor(random, {2, 3})}};
             },
             [](Random& random) {
               return Call{{booleans({1, 0}, {2, 1}), random_tensor(random, {3}), random_tensor(random, {})}};
             }},
            [](const Call& call) {
              const Array c(call.inputs[0]), x(call.inputs[1]), y(call.inputs[2]);
              Array out(broadcast_shapes(c.shape, broadcast_shapes(x.shape, y.shape, "test"), "test"));
              for_each_index(out.shape, [&](const auto& index) {
                out(index) = c.broadcast(index) != 0 ? x.broadcast(index) : y.broadcast(index);
              });
              return Arrays{out};
            },
            0};
  Row clip{"clip_by_value",
           {[](Random& random) {
              return Call{{random_tensor(random, {3, 4}), Tensor::scalar(-0.7, DType::float64),
                           random_tensor(random, {4}, 0.1, 1.0)}};
            },
            [](Random& random) {
              return Call{{random_tensor(random, {}), Tensor::scalar(-0.5, DType::float64),
                           Tensor::scalar(0.5, DType::float64)}};
            }},
           [](const Call& call) {
             const Array t(call.inputs[0]), low(call.inputs[1]), high(call.inputs[2]);
             Array out(t.shape);
             for_each_index(out.shape, [&](const auto& index) {
               out(index) = std::fmin(std::fmax(t(index), low.broadcast(index)), high.broadcast(index));
             });
             return Arrays{out};
           },
           0};
  const auto sum_of_n = [](int n) {
    return [n](Random& random) {
      Call call;
      for (int i = 0; i < n; ++i) call.inputs.push_back(random_tensor(random, {2, 3}));
      return call;
    };
  };
  Row add_n{"add_n", {sum_of_n(1), sum_of_n(2), sum_of_n(4)}, [](const Call& call) {
              Array out(call.inputs[0].shape());
              for (const Tensor& input : call.inputs) {
                const std::vector<double> values = input.to_vector();
                for (std::size_t i = 0; i < values.size(); ++i) out.values[i] += values[i];
              }
              return Arrays{out};
            }};
  Row cast{"cast",
           {[](Random& random) {
              return Call{{random_tensor(random, {2, 3})}, {DType::float64}};
            },
            [](Random& random) {
              return Call{{random_tensor(random, {5}, -9, 9)}, {DType::int32}};
            },
            [](Random&) {
              return Call{{integers({0, 3, -1}, {3})}, {DType::bool_}};
            },
            [](Random&) {
              return Call{{booleans({0, 1}, {2})}, {DType::float32}};
            }},
           [](const Call& call) {
             Array out(call.inputs[0]);
             const DType to = std::get<DType>(call.attributes[0]);
             for (double& value : out.values)
               value = to == DType::bool_ ? value != 0 : is_integer(to) ? (std::trunc(value) + 0.0) : value;
             return Arrays{out};
           },
           0};
  // By what the bytes are on a machine that stores a number's lowest byte first.
  Row bitcast{"bitcast",
              {[](Random&) {
                 const std::vector<std::int64_t> bits = {0x3ff8000000000000, -0x4010000000000000, 0};
                 return Call{{integers(bits, {3, 1})}, {DType::float64}, {3, 1}};
               },
               [](Random&) {
                 return Call{{integers({1, -2, (std::int64_t{5} << 32) + 7}, {3})}, {DType::int32}, {3, 2}};
               },
               [](Random&) {
                 const std::vector<std::int32_t> halves = {7, 5, -2, -1, 9, 0};
                 return Call{{Tensor::from_values<std::int32_t>(halves, {3, 1, 2})}, {DType::int64}, {3, 1}};
               }},
              [](const Call& call) {
                const DType type = std::get<DType>(call.attributes[0]);
                Array out(call.expected);
                if (type == DType::float64)
                  out.values = {1.5, -1, 0};
                else if (type == DType::int32)
                  out.values = {1, 0, -2, -1, 7, 5};
                else
                  out.values = {5 * 0x1p32 + 7, -2, 9};
                return Arrays{out};
              },
              0};
  return {where, clip, add_n, cast, bitcast};
}

}  // namespace tapedeck::testing
