// Test rows of divisions, bits, special functions and activations.
#pragma once

#include "tests/engine/ops/rows/rows_creation.h"
#include "tests/engine/ops/rows/rows_elementwise.h"

namespace tapedeck::testing {

using Wide = long double;

/// ψ(x) for x > 0 by its recurrence up to 40, far past where the engine's stops.
inline Wide digamma_above_zero(Wide x) {
  Wide sum = 0;
  for (; x < 40; x += 1) sum -= 1 / x;
  const Wide z = 1 / (x * x);
  return sum + std::log(x) - 1 / (2 * x) - z * (1.0L / 12 - z * (1.0L / 120 - z * (1.0L / 252 - z / 240)));
}
inline double digamma_reference(double x) {
  const Wide pi = 3.14159265358979323846264338327950288L;
  if (x == 0) return std::signbit(x) ? infinity : -infinity;
  if (!(x < 0)) return static_cast<double>(digamma_above_zero(x));
  const Wide fraction = static_cast<Wide>(x) - std::nearbyint(static_cast<Wide>(x));
  if (!(fraction != 0)) return not_a_number;
  return static_cast<double>(digamma_above_zero(1 - static_cast<Wide>(x)) - pi / std::tan(pi * fraction));
}

/// Σ (q + k)⁻ˢ: 300 terms, and the rest by Euler's and Maclaurin's formula.
inline double zeta_reference(double s, double q) {
  Wide sum = 0;
  for (int k = 0; k < 300; ++k) sum += std::pow(static_cast<Wide>(q) + k, -static_cast<Wide>(s));
  const Wide at = static_cast<Wide>(q) + 300;
  const Wide power = std::pow(at, -static_cast<Wide>(s));
  return static_cast<double>(sum + power * at / (s - 1.0L) + power / 2 + s * power / at / 12 -
                             s * (s + 1.0L) * (s + 2.0L) * power / (at * at * at) / 720);
}

/// Solves f(y) = x for a function that rises, by halving.
inline double solved(const std::function<Wide(Wide)>& f, double x, Wide low, Wide high) {
  for (int i = 0; i < 200; ++i) {
    const Wide middle = (low + high) / 2;
    (f(middle) < x ? low : high) = middle;
  }
  return static_cast<double>((low + high) / 2);
}

/// Calls with one input and attributes.
inline Row with_attributes(Row row, const std::vector<std::vector<Attribute>>& attributes) {
  std::vector<MakeCall> calls;
  for (const MakeCall& make : row.calls)
    for (const auto& each : attributes)
      calls.push_back([=](Random& random) {
        Call call = make(random);
        call.attributes = each;
        return call;
      });
  row.calls = calls;
  return row;
}

/// `f` gets the element and the first attribute.
inline Row parameter_test(const std::string& op, std::function<double(double, double)> f,
                          const std::vector<Attribute>& parameters, double tolerance) {
  Row row = unary_test(op, -3, 3, {}, tolerance);
  std::vector<std::vector<Attribute>> attributes;
  for (const Attribute& parameter : parameters) attributes.push_back({parameter});
  row = with_attributes(row, attributes);
  row.reference = [f](const Call& call) {
    const auto* flag = std::get_if<bool>(&call.attributes[0]);
    const double parameter = flag ? *flag : std::get<double>(call.attributes[0]);
    Array out(call.inputs[0]);
    for (double& value : out.values) value = f(value, parameter);
    return Arrays{out};
  };
  return row;
}

/// A call whose values are compared, and whose gradients are not: 101 is an "edge".
inline MakeCall values_only(const std::vector<double>& first, const std::vector<double>& second) {
  return [=](Random&) {
    std::vector<double> b = second;
    b.push_back(101);
    std::vector<double> a = first;
    a.push_back(2);
    return Call{{Tensor::from_values<double>(a, {static_cast<std::int64_t>(a.size())}),
                 Tensor::from_values<double>(b, {static_cast<std::int64_t>(b.size())})}};
  };
}

/// Every pair of zeros, infinities, NaN and ordinary numbers.
inline MakeCall pairs_of_edges() {
  return [](Random&) {
    const std::vector<double> values = {0.0,       -0.0,         1.0,    -2.5, infinity,
                                        -infinity, not_a_number, 5e-324, 1e300};
    const auto count = static_cast<std::int64_t>(values.size());
    return Call{
        {Tensor::from_values<double>(values, {count, 1}), Tensor::from_values<double>(values, {count})}};
  };
}
inline Row with_edges(Row row) {
  row.calls.push_back(pairs_of_edges());
  return row;
}

inline Rows more_unary_rows() {
  Rows rows = {
      unary_test(
          "trunc", -3, 3, [](double x) { return std::trunc(x); }, 0),
      unary_test("asinh", -3, 3,
                 [](double x) { return static_cast<double>(std::asinh(static_cast<Wide>(x))); }),
      unary_test("acosh", 1.2, 4,
                 [](double x) { return static_cast<double>(std::acosh(static_cast<Wide>(x))); }),
      unary_test("atanh", -0.9, 0.9,
                 [](double x) { return static_cast<double>(std::atanh(static_cast<Wide>(x))); }),
      unary_test(
          "reciprocal_no_nan", 0.3, 3, [](double x) { return x == 0 ? 0 : 1 / x; }, 0),
      unary_test(
          "erfc", -2, 2, [](double x) { return static_cast<double>(std::erfc(static_cast<Wide>(x))); },
          4e-15),
      unary_test(
          "lgamma", 0.3, 5, [](double x) { return static_cast<double>(std::lgamma(static_cast<Wide>(x))); },
          2e-14),
      unary_test("digamma", 0.3, 5, digamma_reference, 2e-14),
      unary_test("log_sigmoid", -3, 3,
                 [](double x) { return (x < 0 ? x : 0) - std::log1p(std::exp(-std::abs(x))); }),
      unary_test(
          "relu6", 0.1, 5.9, [](double x) { return x < 0   ? 0
                                                   : x > 6 ? 6
                                                           : x; }, 0),
      unary_test("elu", -3, 3, [](double x) { return x < 0 ? std::expm1(x) : x; }),
      unary_test("selu", -3, 3,
                 [](double x) {
                   return 1.0507009873554804934193349852946 *
                          (x < 0 ? 1.6732632423543772848170429916717 * std::expm1(x) : x);
                 }),
      unary_test(
          "softsign", 0.1, 3, [](double x) { return x / (1 + std::abs(x)); }, 0),
      parameter_test(
          "leaky_relu", [](double x, double alpha) { return x > 0 ? x : alpha * x; }, {0.2, 0.01, 1.5}, 0),
      parameter_test(
          "swish", [](double x, double beta) { return x / (1 + std::exp(-beta * x)); }, {1.0, 1.7}, 1e-14),
      parameter_test(
          "gelu",
          [](double x, double approximate) {
            if (approximate == 0) return x * std::erfc(-x / std::sqrt(2.0)) / 2;
            return x / (1 + std::exp(-std::sqrt(8 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
          },
          {false, true}, 2e-14),
  };
  // −∞·0 and −1e300·0 differ between these forms: the infinite and the huge are tried in Python, where the
  // limits are.
  for (Row& row : rows)
    if (row.op == "swish" || row.op == "gelu" || row.op == "lgamma")
      row.calls.erase(std::remove_if(row.calls.begin(), row.calls.end(),
                                     [](const MakeCall& make) {
                                       Random random(1);
                                       return make(random).inputs[0].count() == 22;
                                     }),
                      row.calls.end());
  for (const double low : {-0.8, -6.3})
    rows[7].calls.push_back(
        [low](Random& random) { return Call{{random_tensor(random, {9}, low, low + 0.6)}}; });
  rows.push_back(unary_test(
      "erfinv", -0.9, 0.9, [](double x) { return solved([](Wide y) { return std::erf(y); }, x, -4, 4); },
      1e-14, false));
  rows.push_back(unary_test(
      "erfcinv", 0.05, 1.95,
      [](double x) { return solved([](Wide y) { return -std::erfc(y); }, -x, -30, 30); }, 1e-14, false));
  rows.push_back(unary_test(
      "ndtri", 0.02, 0.98,
      [](double p) { return solved([](Wide y) { return std::erfc(-y / std::sqrt(2.0L)) / 2; }, p, -40, 40); },
      1e-14, false));
  rows.back().calls.push_back([](Random&) {
    return Call{
        {Tensor::from_values<double>(std::vector<double>{1e-300, 1e-100, 1e-20, 1e-5, 0.07, 0.999999}, {6})}};
  });
  return rows;
}

inline Rows more_binary_rows() {
  Rows rows = {
      with_edges(binary_test(
          "truncatediv", [](double x, double y) { return std::trunc(x / y); }, 0.4, 2)),
      with_edges(binary_test(
          "truncatemod", [](double x, double y) { return std::fmod(x, y); }, 0.4, 2)),
      with_edges(binary_test(
          "divide_no_nan", [](double x, double y) { return y == 0 ? 0 : x / y; }, 0.4, 2)),
      with_edges(binary_test("multiply_no_nan", [](double x, double y) { return y == 0 ? 0 : x * y; })),
      with_edges(binary_test(
          "atan2", [](double y, double x) { return std::atan2(y, x); }, 0.4, 2)),
      with_edges(binary_test(
          "xdivy", [](double x, double y) { return x == 0 ? 0 : x / y; }, 0.4, 2)),
      with_edges(binary_test(
          "xlogy", [](double x, double y) { return x == 0 ? 0 : x * std::log(y); }, 0.4, 2)),
      with_edges(binary_test(
          "xlog1py", [](double x, double y) { return x == 0 ? 0 : x * std::log1p(y); }, -0.5, 2)),
  };
  const auto order_and_real = [](const std::vector<double>& orders, const Shape& shape) {
    return [=](Random& random) {
      const Shape last{static_cast<std::int64_t>(orders.size())};
      return Call{{Tensor::from_values<double>(orders, last), random_tensor(random, shape, 1, 3)}};
    };
  };
  rows.push_back(with_edges(binary_test(
      "nextafter", [](double x, double y) { return std::nextafter(x, y); }, -2, 2, -2, 0)));
  rows.push_back({"polygamma",
                  {values_only({0, 1, 1, 2, 3, 5, 1}, {0.7, 0.3, 4.2, 1.5, 0.9, 2.5, 30}),
                   order_and_real({0, 1, 2}, {2, 3}), order_and_real({1}, {4})},
                  [](const Call& call) {
                    Array out(call.inputs[1]);
                    const Array orders(call.inputs[0]);
                    for_each_index(out.shape, [&](const auto& index) {
                      const double n = orders.broadcast(index), x = out(index);
                      out(index) = n == 0 ? digamma_reference(x)
                                          : (std::fmod(n, 2) == 0 ? -1 : 1) * std::tgamma(n + 1) *
                                                zeta_reference(n + 1, x);
                    });
                    return Arrays{out};
                  },
                  2e-14});
  rows.back().constants = {0};
  rows.push_back({"zeta",
                  {values_only({2, 1.5, 3, 7.25, 2, 2}, {1, 0.3, 4.2, 0.6, 12, 0.01}),
                   order_and_real({2, 1.5, 3}, {2, 3}), order_and_real({2.5}, {4})},
                  [](const Call& call) {
                    Array out(call.inputs[1]);
                    const Array orders(call.inputs[0]);
                    for_each_index(out.shape, [&](const auto& index) {
                      out(index) = zeta_reference(orders.broadcast(index), out(index));
                    });
                    return Arrays{out};
                  },
                  2e-14});
  rows.back().constants = {0};
  rows.push_back(logic_test("logical_xor", [](double x, double y) { return (x != 0) != (y != 0); }));
  return rows;
}

/// Of a and x, which broadcast; at small, middle and large a, and at both ends of x.
inline Row gamma_row(const std::string& op, const std::function<double(double, double)>& f) {
  Row row{op, {}, {}, 2e-14};
  for (const auto& [a, x] : std::vector<std::pair<Shape, Shape>>{
           {{}, {}}, {{4}, {4}}, {{3}, {2, 3}}, {{2, 1}, {3, 1, 4}}, {{0}, {2, 0}}})
    for (const auto& [scale, width] : {std::pair{1.0, 0.9}, std::pair{8.0, 0.6}, std::pair{40.0, 0.2}})
      row.calls.push_back([=, a = a, x = x, scale = scale, width = width](Random& random) {
        const double low = scale * (1 - width), high = scale * (1 + width);
        return Call{{random_tensor(random, a, low, high), random_tensor(random, x, low, high)}};
      });
  row.calls.push_back(
      values_only({0.3, 1e-3, 250, 250, 5e3, 12, 2.5, 1e-9}, {0.01, 1e-3, 240, 260, 5.1e3, 3, 30, 2}));
  row.calls.push_back([](Random&) {
    const std::vector<double> a = {0.5, 2, 2, 0, -1, 1, infinity, infinity, not_a_number, 1};
    const std::vector<double> x = {0, 0, infinity, 1, 1, -1, 3, infinity, 1, not_a_number};
    return Call{{Tensor::from_values<double>(a, {10}), Tensor::from_values<double>(x, {10})}};
  });
  row.reference = [f](const Call& call) {
    const Array a(call.inputs[0]), x(call.inputs[1]);
    Array out(broadcast_shapes(a.shape, x.shape, "test"));
    for_each_index(out.shape,
                   [&](const auto& index) { out(index) = f(a.broadcast(index), x.broadcast(index)); });
    return Arrays{out};
  };
  return row;
}

inline bool is_in_gammas_domain(double a, double x) {
  return a > 0 && x >= 0 && !(std::isinf(a) && std::isinf(x));
}

inline Row incomplete_gamma_row(const std::string& op, bool upper) {
  return gamma_row(op, [upper](double a, double x) {
    const Wide lower = !is_in_gammas_domain(a, x) ? static_cast<Wide>(not_a_number)
                       : x == 0 || std::isinf(a)  ? 0
                       : std::isinf(x)            ? 1
                                                  : gamma_distribution(a, x);
    return static_cast<double>(upper ? 1 - lower : lower);
  });
}

inline Row gamma_density_row() {
  return gamma_row("gamma_density", [](double a, double x) {
    if (!is_in_gammas_domain(a, x)) return not_a_number;
    if (std::isinf(a) || std::isinf(x)) return 0.0;
    const Wide shape = a, at = x, power = shape == 1 ? 0 : (shape - 1) * std::log(at);
    return static_cast<double>(std::exp(power - at - std::lgamma(shape)));
  });
}

/// I(x; a, b) = xᵃ(1 − x)ᵇ/(a·B(a, b))·Σ (a + b)…(a + b + n − 1)·xⁿ / ((a + 1)…(a + n)): all terms above 0.
inline double beta_distribution(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || std::isinf(a) || std::isinf(b)) return not_a_number;
  if (x == 0 || x == 1) return x;
  const Wide wide_a = a, wide_b = b, wide_x = x;
  Wide term = 1, sum = 0;
  for (int n = 0; term > 1e-30L * sum; ++n) {
    sum += term;
    term *= wide_x * (wide_a + wide_b + n) / (wide_a + 1 + n);
  }
  return static_cast<double>(sum * std::exp(wide_a * std::log(wide_x) + wide_b * std::log1p(-wide_x) -
                                            std::lgamma(wide_a + 1) - std::lgamma(wide_b) +
                                            std::lgamma(wide_a + wide_b)));
}

inline double beta_density(double a, double b, double x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1) || std::isinf(a) || std::isinf(b)) return not_a_number;
  const Wide wide_a = a, wide_b = b, wide_x = x;
  return static_cast<double>(
      std::pow(wide_x, wide_a - 1) * std::pow(1 - wide_x, wide_b - 1) *
      std::exp(std::lgamma(wide_a + wide_b) - std::lgamma(wide_a) - std::lgamma(wide_b)));
}

/// Of a, b and x, which broadcast.
inline Row beta_row(const std::string& op, const std::function<double(double, double, double)>& f) {
  Row row{op, {}, {}, 2e-14};
  row.constants = {0, 1};
  const auto values = [](const std::vector<double>& list) {
    return Tensor::from_values<double>(list, {static_cast<std::int64_t>(list.size())});
  };
  for (const auto& [a, b, x] : std::vector<std::array<Shape, 3>>{{Shape{}, Shape{}, Shape{}},
                                                                 {Shape{4}, Shape{4}, Shape{4}},
                                                                 {Shape{3}, Shape{}, Shape{2, 3}},
                                                                 {Shape{2, 1}, Shape{3}, Shape{}},
                                                                 {Shape{0}, Shape{2, 0}, Shape{1}}})
    for (const double scale : {1.0, 6.0})
      row.calls.push_back([=, a = a, b = b, x = x](Random& random) {
        return Call{{random_tensor(random, a, 0.3 * scale, scale),
                     random_tensor(random, b, 0.4 * scale, 2 * scale), random_tensor(random, x, 0.1, 0.9)}};
      });
  row.calls.push_back([=](Random&) {  // 200 is an "edge": values alone
    return Call{{values({200, 300, 1e-3, 0.01, 30, 1500, 0.2, 5}),
                 values({200, 10, 2, 500, 1e-3, 0.5, 900, 0.02}),
                 values({0.49, 0.97, 0.3, 1e-5, 0.99, 0.9995, 1e-4, 0.9})}};
  });
  row.calls.push_back([=](Random&) {
    return Call{{values({2, 2, 0, 1, 1, 1, infinity, 1, not_a_number}),
                 values({3, 3, 1, -1, 1, 1, 1, infinity, 1}),
                 values({0, 1, 0.5, 0.5, -0.1, 1.1, 0.5, 0.5, 0.5})}};
  });
  row.reference = [f](const Call& call) {
    const Array a(call.inputs[0]), b(call.inputs[1]), x(call.inputs[2]);
    Array out(broadcast_shapes(broadcast_shapes(a.shape, b.shape, "test"), x.shape, "test"));
    for_each_index(out.shape, [&](const auto& index) {
      out(index) = f(a.broadcast(index), b.broadcast(index), x.broadcast(index));
    });
    return Arrays{out};
  };
  return row;
}

inline Rows incomplete_rows() {
  return {incomplete_gamma_row("igamma", false), incomplete_gamma_row("igammac", true),
          beta_row("betainc", beta_distribution), gamma_density_row(),
          beta_row("beta_density", beta_density)};
}

inline Rows bitwise_rows() {
  using Whole = std::int64_t;
  const Tensor values = integers({0, 1, -1, 5, -12, 255, INT64_MAX, INT64_MIN}, {8, 1});
  const auto bits = [values](const std::string& op, const std::vector<Whole>& others,
                             const std::function<Whole(Whole, Whole)>& f) {
    const Tensor second = integers(others, {static_cast<Whole>(others.size())});
    Row row{op, {}, {}, 0};
    row.calls = {[=](Random&) {
                   return Call{{values, second}};
                 },
                 [](Random&) {
                   return Call{{integers({}, {0}), integers({1}, {1})}};
                 }};
    row.reference = [f](const Call& call) {
      const Tensor &a = call.inputs[0], &b = call.inputs[1];
      Array out(broadcast_shapes(a.shape(), b.shape(), "test"));
      for (Whole i = 0; i < static_cast<Whole>(out.values.size()); ++i)
        out.values[static_cast<std::size_t>(i)] =
            static_cast<double>(f(a.make_contiguous().data<Whole>()[i / b.count()],
                                  b.make_contiguous().data<Whole>()[i % b.count()]));
      return Arrays{out};
    };
    return row;
  };
  Row invert{"invert", {[values](Random&) { return Call{{values}}; }}, [](const Call& call) {
               Array out(call.inputs[0]);
               for (double& value : out.values) value = -value - 1;
               return Arrays{out};
             }};
  const std::vector<Whole> others = {0, 3, -1, -8, INT64_MIN};
  const auto times_power = [](Whole x, Whole n) {  // doubling wraps around
    std::uint64_t result = static_cast<std::uint64_t>(x);
    for (Whole i = 0; i < std::min<Whole>(n, 63); ++i) result += result;
    return static_cast<Whole>(result);
  };
  const auto halved = [](Whole x, Whole n) {
    for (Whole i = 0; i < std::min<Whole>(n, 63); ++i) x = (x - (x % 2 != 0 && x < 0 ? 1 : 0)) / 2;
    return x;
  };
  return {bits("bitwise_and", others, [](Whole x, Whole y) { return ~(~x | ~y); }),
          bits("bitwise_or", others, [](Whole x, Whole y) { return ~(~x & ~y); }),
          bits("bitwise_xor", others, [](Whole x, Whole y) { return (x | y) & ~(x & y); }),
          bits("left_shift", {0, 1, 5, 62, 63, 64, 1000, -3}, times_power),
          bits("right_shift", {0, 1, 5, 62, 63, 64, 1000, -3}, halved),
          invert};
}

}  // namespace tapedeck::testing
