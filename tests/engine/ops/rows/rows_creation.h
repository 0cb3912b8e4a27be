// Test rows of ops that make tensors.
#pragma once

#include "tests/engine/ops/rows/row_makers.h"

namespace tapedeck::testing {

/// The gamma distribution's function for shape parameter a: xᵃ·e⁻ˣ·Σ xⁿ / Γ(a + n + 1).
inline long double gamma_distribution(long double a, long double x) {
  long double term = std::exp(a * std::log(x) - x - std::lgamma(a + 1)), sum = 0;
  for (int n = 1; term > 1e-30L * sum; ++n) {
    sum += term;
    term *= x / (a + static_cast<long double>(n));
  }
  return sum;
}

inline Row gamma_slope_row() {
  Row row{"random_gamma_grad", {}, {}, 1e-9};
  for (const auto& [alpha, sample] : std::vector<std::pair<Shape, Shape>>{
           {{}, {}}, {{4}, {4}}, {{3}, {2, 3}}, {{2, 1}, {3, 1, 4}}, {{0}, {2, 0}}})
    for (const auto& [scale, width] : {std::pair{1.0, 0.9}, std::pair{30.0, 0.3}})  // both sides of 1
      row.calls.push_back([=, alpha = alpha, sample = sample, scale = scale, width = width](Random& random) {
        const double low = scale * (1 - width), high = scale * (1 + width);
        return Call{{random_tensor(random, alpha, low, high), random_tensor(random, sample, low, high)},
                    {std::int64_t{0}}};
      });
  row.reference = [](const Call& call) {
    const Array alpha(call.inputs[0]), sample(call.inputs[1]);
    Array out(broadcast_shapes(alpha.shape, sample.shape, "test"));
    for_each_index(out.shape, [&](const Index& index) {
      const long double a = alpha.broadcast(index), x = sample.broadcast(index), h = 1e-3L * std::sqrt(a);
      const auto f = [=](int steps) {
        return gamma_distribution(a + h * static_cast<long double>(steps), x);
      };
      const long double slope = (8 * (f(1) - f(-1)) - (f(2) - f(-2))) / (12 * h);
      out(index) = static_cast<double>(-slope / std::exp((a - 1) * std::log(x) - x - std::lgamma(a)));
    });
    return Arrays{out};
  };
  return row;
}

inline Rows creation_rows() {
  const auto constant = [](double value) { return [value](const Call&, const Index&) { return value; }; };
  const Attribute f64 = DType::float64;
  Rows rows = {
      making_test("zeros", {made_call({list({2, 3}), f64}, {2, 3}), made_call({list({}), DType::bool_}, {})},
                  constant(0)),
      making_test("ones", {made_call({list({2, 3}), DType::int64}, {2, 3}), made_call({list({0}), f64}, {0})},
                  constant(1)),
      making_test("zeros_like", {call_with({2, 3}, {none()}, {2, 3}), call_with({2}, {DType::int32}, {2})},
                  constant(0)),
      making_test("ones_like", {call_with({2, 3}, {none()}, {2, 3}), call_with({}, {DType::float32}, {})},
                  constant(1)),
      making_test("fill", {call_with({}, {list({2, 3})}, {2, 3}), call_with({}, {list({})}, {})},
                  [](const Call& call, const Index&) { return call.inputs[0].item(); }),
      making_test("eye",
                  {made_call({std::int64_t{3}, none(), none(), f64}, {3, 3}),
                   made_call({std::int64_t{2}, std::int64_t{4}, none(), DType::int32}, {2, 4}),
                   made_call({std::int64_t{0}, std::int64_t{4}, list({2}), f64}, {2, 0, 4}),
                   made_call({std::int64_t{4}, std::int64_t{2}, list({3, 2}), f64}, {3, 2, 4, 2})},
                  [](const Call&, const Index& i) { return i[i.size() - 2] == i.back(); }),
      making_test(
          "range",
          {made_call({2.0, 7.5, 1.5, f64}, {4}),
           made_call({std::int64_t{2}, std::int64_t{-3}, std::int64_t{-2}, none()}, {3}),
           made_call({5.0, 5.0, 1.0, f64}, {0}),
           made_call({std::int64_t{4}, none(), std::int64_t{1}, none()}, {4}),
           made_call({std::int64_t{1} << 40, (std::int64_t{1} << 40) + 5, std::int64_t{2}, DType::int64},
                     {3})},
          [](const Call& call, const Index& i) {
            const auto number = [](const Attribute& a) {
              const auto* integer = std::get_if<std::int64_t>(&a);
              return integer ? static_cast<double>(*integer) : std::get<double>(a);
            };
            if (std::holds_alternative<std::monostate>(call.attributes[1])) return static_cast<double>(i[0]);
            return number(call.attributes[0]) + static_cast<double>(i[0]) * number(call.attributes[2]);
          }),
  };
  const auto linspace_call = [](std::int64_t num) {
    return [num](Random& random) {
      return Call{{random_tensor(random, {}), random_tensor(random, {})}, {num}, {num}};
    };
  };
  rows.push_back(making_test("linspace", {linspace_call(5), linspace_call(2), linspace_call(1)},
                             [](const Call& call, const Index& i) {
                               const double a = call.inputs[0].item(), b = call.inputs[1].item();
                               const double last = static_cast<double>(call.expected[0] - 1);
                               return last == 0 ? a : a + (b - a) * static_cast<double>(i[0]) / last;
                             }));
  rows.back().tolerance = 1e-15;
  const auto one_hot_call = [](std::int64_t axis, const Shape& expected) {
    return [=](Random&) {
      return Call{
          {integers({0, 2, -1, 3}, {4})}, {std::int64_t{3}, 5.0, -1.0, axis, DType::float64}, expected};
    };
  };
  rows.push_back(making_test(
      "one_hot",
      {one_hot_call(-1, {4, 3}), one_hot_call(0, {3, 4}),
       [](Random&) {
         return Call{
             {integers({1, 0}, {2})}, {std::int64_t{2}, none(), none(), std::int64_t{-1}, none()}, {2, 2}};
       }},
      [](const Call& call, const Index& i) {
        if (std::holds_alternative<std::monostate>(call.attributes[1])) return i[0] == i[1] ? 0.0 : 1.0;
        const bool first = std::get<std::int64_t>(call.attributes[3]) == 0;
        const auto index = call.inputs[0].to_vector()[static_cast<std::size_t>(i[first ? 1 : 0])];
        return index == static_cast<double>(i[first ? 0 : 1]) ? 5.0 : -1.0;
      }));
  for (const char* op : {"random_uniform", "random_normal", "truncated_normal"}) {
    Row row{op, {}, {}, 0, "tst_ops_random"};
    const Attribute second = std::string(op) == "random_uniform" ? Attribute(3.0) : Attribute(2.0);
    row.calls.push_back(
        made_call({list({3, 5}), 1.0, second, f64, none(), std::int64_t{7}, std::int64_t{1} << 40}, {3, 5}));
    rows.push_back(row);
  }
  const std::vector<Attribute> place = {none(), std::int64_t{7}, std::int64_t{1} << 40};
  const auto draw = [place](const Shape& shape, double low, std::vector<Attribute> attributes) {
    attributes.insert(attributes.end(), place.begin(), place.end());
    return [=](Random& random) { return Call{{random_tensor(random, shape, low, 2.0)}, attributes}; };
  };
  rows.push_back({"random_shuffle",
                  {draw({5, 2}, -2, {}), draw({0, 2}, -2, {})},
                  {},
                  0,
                  "tests/python/math/test_random.py"});
  rows.push_back(
      {"random_categorical",
       {draw({2, 3}, -2, {std::int64_t{4}, DType::int64}), draw({1, 1}, -2, {std::int64_t{0}, DType::int32})},
       {},
       0,
       "tests/python/math/test_random.py"});
  rows.push_back({"random_gamma",
                  {draw({3}, 0.5, {list({2})}), draw({}, 0.1, {list({})})},
                  {},
                  0,
                  "tests/python/math/test_random.py",
                  {},
                  "tests/python/math/test_random.py"});
  rows.push_back({"random_poisson",
                  {draw({3}, 0.5, {list({2}), f64}), draw({}, 0.1, {list({}), DType::int32})},
                  {},
                  0,
                  "tests/python/math/test_random.py"});
  rows.push_back(
      {"random_binomial",
       {[place, f64](Random& random) {
          std::vector<Attribute> attributes = {f64};
          attributes.insert(attributes.end(), place.begin(), place.end());
          return Call{{integers({0, 5, 1000}, {3}), random_tensor(random, {3}, 0.1, 0.9)}, attributes};
        },
        [place](Random& random) {
          std::vector<Attribute> attributes = {DType::int32};
          attributes.insert(attributes.end(), place.begin(), place.end());
          return Call{{integers({}, {0}), random_tensor(random, {0}, 0.1, 0.9)}, attributes};
        }},
       {},
       0,
       "tests/python/math/test_random.py"});
  rows.push_back(gamma_slope_row());
  return rows;
}

}  // namespace tapedeck::testing
