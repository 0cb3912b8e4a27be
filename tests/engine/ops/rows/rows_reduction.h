// Test rows of reductions, products, and parts of losses.
#pragma once

#include <algorithm>

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

inline std::vector<bool> flags_of(const Attribute& axis, int rank) {
  std::vector<bool> flags(static_cast<std::size_t>(rank), std::holds_alternative<std::monostate>(axis));
  if (const auto* axes = std::get_if<std::vector<std::int64_t>>(&axis))
    for (const std::int64_t a : *axes) flags[static_cast<std::size_t>(a < 0 ? a + rank : a)] = true;
  return flags;
}

/// The values from which each element of the result is computed, in row-major order of the result.
struct Groups {
  Shape shape;
  std::vector<std::vector<double>> values;

  Groups(const Array& x, const Attribute& axis, bool keepdims) {
    const std::vector<bool> flags = flags_of(axis, x.shape.rank());
    Shape kept;
    for (int i = 0; i < x.shape.rank(); ++i) {
      const bool reduced = flags[static_cast<std::size_t>(i)];
      kept.push_back(reduced ? 1 : x.shape[i]);
      if (!reduced || keepdims) shape.push_back(reduced ? 1 : x.shape[i]);
    }
    values.resize(static_cast<std::size_t>(element_count(kept)));
    const Array positions(kept);
    for_each_index(x.shape, [&](std::vector<std::int64_t> index) {
      const double value = x(index);
      for (std::size_t i = 0; i < index.size(); ++i)
        if (flags[i]) index[i] = 0;
      values[positions.position(index)].push_back(value);
    });
  }

  Array map(const std::function<double(const std::vector<double>&)>& f) const {
    Array out(shape);
    for (std::size_t i = 0; i < values.size(); ++i) out.values[i] = f(values[i]);
    return out;
  }
};

using Fold = std::function<double(const std::vector<double>&)>;

inline Row reduction_test(const std::string& op, const Fold& fold, double low = -2, double high = 2) {
  Row row{op, {}, {}, 1e-13};
  const std::vector<std::tuple<Shape, Attribute, bool>> cases = {
      {{}, none(), false},          {{5}, none(), false},
      {{2, 3}, none(), true},       {{2, 3}, list({0}), false},
      {{2, 3}, list({-1}), true},   {{2, 3, 4}, list({0, 2}), false},
      {{2, 3, 4}, list({1}), true}, {{2, 3, 2}, list({-1, 0}), true},
      {{3, 2}, list({}), false},    {{4, 1}, list({1}), false}};
  for (const auto& [shape, axis, keepdims] : cases)
    row.calls.push_back([=, shape = shape, axis = axis, keepdims = keepdims](Random& random) {
      return Call{{random_tensor(random, shape, low, high)}, {axis, keepdims}};
    });
  row.reference = [fold](const Call& call) {
    return Arrays{
        Groups(Array(call.inputs[0]), call.attributes[0], std::get<bool>(call.attributes[1])).map(fold)};
  };
  return row;
}

inline double sum_of(const std::vector<double>& values) {
  long double sum = 0;
  for (const double value : values) sum += value;
  return static_cast<double>(sum);
}
inline double product_of(const std::vector<double>& values) {
  double product = 1;
  for (const double value : values) product *= value;
  return product;
}
inline double log_sum_exp_of(const std::vector<double>& values) {
  long double sum = 0;
  for (const double value : values) sum += std::exp(static_cast<long double>(value));
  return static_cast<double>(std::log(sum));
}

inline Rows reduction_rows() {
  Rows rows = {
      reduction_test("reduce_sum", sum_of),
      reduction_test("reduce_mean",
                     [](const std::vector<double>& v) { return sum_of(v) / static_cast<double>(v.size()); }),
      reduction_test("reduce_prod", product_of),
      reduction_test("reduce_max",
                     [](const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }),
      reduction_test("reduce_min",
                     [](const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }),
      reduction_test("reduce_logsumexp", log_sum_exp_of),
  };
  rows[0].calls.push_back([](Random& random) {
    return Call{{random_tensor(random, {0, 3})}, {list({0}), false}};
  });
  // Zeros among the factors: the gradient of a product must not divide by them.
  rows[2].calls.push_back([](Random&) {
    return Call{{Tensor::from_values<double>(std::vector<double>{2, 0, 3, 1.5, 0, 0, 4, 5, 6, 7}, {2, 5})},
                {list({1}), false}};
  });
  const auto boolean_test = [](const std::string& op, const Fold& fold) {
    Row row = reduction_test(op, fold);
    row.calls = {[](Random&) {
                   return Call{{booleans({1, 0, 1, 1, 0, 0}, {3, 2})}, {list({1}), false}};
                 },
                 [](Random&) {
                   return Call{{booleans({1, 0, 1, 1, 1, 0}, {3, 2})}, {list({0}), true}};
                 },
                 [](Random&) {
                   return Call{{booleans({0, 0, 0, 0}, {4})}, {none(), false}};
                 },
                 [](Random&) {
                   return Call{{booleans({1, 1, 1, 1}, {4})}, {none(), false}};
                 },
                 [](Random&) {
                   return Call{{booleans({}, {0})}, {none(), false}};
                 }};
    return row;
  };
  rows.push_back(boolean_test("reduce_any", [](const std::vector<double>& v) {
    return std::any_of(v.begin(), v.end(), [](double x) { return x != 0; });
  }));
  rows.push_back(boolean_test("reduce_all", [](const std::vector<double>& v) {
    return std::all_of(v.begin(), v.end(), [](double x) { return x != 0; });
  }));
  const auto position_test = [](const std::string& op, bool largest) {
    Row row{op, {}, {}, 0};
    for (const auto& [shape, axis] :
         std::vector<std::pair<Shape, std::int64_t>>{{{6}, 0}, {{3, 4}, 0}, {{3, 4}, -1}, {{2, 3, 2}, 1}})
      row.calls.push_back([shape = shape, axis = axis](Random& random) {
        return Call{{random_tensor(random, shape)}, {axis, DType::int64}};
      });
    row.calls.push_back([](Random&) {  // the first of equals; None is axis 0
      return Call{{Tensor::from_values<double>(std::vector<double>{1, 3, 3, 1}, {4})},
                  {none(), DType::int32}};
    });
    row.calls.push_back([](Random&) {  // of bool the first that holds, or does not
      return Call{{booleans({0, 1, 1, 0, 0, 0, 1, 1}, {4, 2})}, {std::int64_t{0}, DType::int64}};
    });
    row.calls.push_back([](Random&) {
      return Call{{booleans({0, 0, 0, 1, 1, 1, 1, 0, 1}, {3, 3})}, {std::int64_t{-1}, DType::int32}};
    });
    row.reference = [largest](const Call& call) {
      const auto* axis = std::get_if<std::int64_t>(&call.attributes[0]);
      const Groups groups(Array(call.inputs[0]), list({axis ? *axis : 0}), false);
      return Arrays{groups.map([largest](const std::vector<double>& v) {
        const auto at = largest ? std::max_element(v.begin(), v.end()) : std::min_element(v.begin(), v.end());
        return static_cast<double>(at - v.begin());
      })};
    };
    return row;
  };
  rows.push_back(position_test("argmax", true));
  rows.push_back(position_test("argmin", false));
  return rows;
}

inline Rows product_rows() {
  Row matmul{"matmul", {}, {}, 1e-12};
  const auto add = [&](const Shape& a, const Shape& b, bool ta, bool tb) {
    matmul.calls.push_back([=](Random& random) {
      return Call{{random_tensor(random, a), random_tensor(random, b)}, {ta, tb, false, false}};
    });
  };
  add({2, 3}, {3, 4}, false, false);
  add({3, 2}, {3, 4}, true, false);
  add({2, 3}, {4, 3}, false, true);
  add({3, 2}, {4, 3}, true, true);
  add({2, 2, 3}, {3, 2}, false, false);
  add({2, 2, 3}, {2, 3, 1}, false, false);
  add({2, 1, 2, 3}, {3, 2, 3}, false, true);
  add({1, 3}, {3, 1}, false, false);
  add({2, 0}, {0, 3}, false, false);
  add({0, 2}, {2, 3}, false, false);
  add({5, 1}, {1, 4}, true, true);
  matmul.calls.pop_back();
  add({1, 5}, {4, 1}, true, true);
  matmul.reference = [](const Call& call) {
    const bool ta = std::get<bool>(call.attributes[0]);
    const bool tb = std::get<bool>(call.attributes[1]);
    const Array a(call.inputs[0]), b(call.inputs[1]);
    const int ra = a.shape.rank(), rb = b.shape.rank();
    const std::int64_t inner = a.shape[ra - (ta ? 2 : 1)];
    Shape shape = broadcast_shapes(Shape(a.shape.span().first(static_cast<std::size_t>(ra - 2))),
                                   Shape(b.shape.span().first(static_cast<std::size_t>(rb - 2))), "test");
    shape.push_back(a.shape[ra - (ta ? 1 : 2)]);
    shape.push_back(b.shape[rb - (tb ? 2 : 1)]);
    Array out(shape);
    for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
      const std::size_t last = index.size() - 1;
      for (std::int64_t k = 0; k < inner; ++k) {
        std::vector<std::int64_t> left = index, right = index;
        left[last - 1] = ta ? k : index[last - 1];
        left[last] = ta ? index[last - 1] : k;
        right[last - 1] = tb ? index[last] : k;
        right[last] = tb ? k : index[last];
        out(index) += a.broadcast(left) * b.broadcast(right);
      }
    });
    return Arrays{out};
  };
  Row dot{"dot",
          {[](Random& random) {
             return Call{{random_tensor(random, {7}), random_tensor(random, {7})}};
           },
           [](Random& random) {
             return Call{{random_tensor(random, {3, 4}), random_tensor(random, {3, 4})}};
           },
           [](Random& random) {
             return Call{{random_tensor(random, {0}), random_tensor(random, {0})}};
           }},
          [](const Call& call) {
            const std::vector<double> x = call.inputs[0].to_vector(), y = call.inputs[1].to_vector();
            Array out(Shape{});
            for (std::size_t i = 0; i < x.size(); ++i) out.values[0] += x[i] * y[i];
            return Arrays{out};
          }};
  Row axpby{"axpby", {}, [](const Call& call) {
              const double a = call.inputs[0].to_vector()[0], b = call.inputs[2].to_vector()[0];
              const std::vector<double> x = call.inputs[1].to_vector(), y = call.inputs[3].to_vector();
              Array out(call.inputs[1].shape());
              for (std::size_t i = 0; i < x.size(); ++i) out.values[i] = a * x[i] + b * y[i];
              return Arrays{out};
            }};
  for (const Shape& shape : std::vector<Shape>{{}, {5}, {3, 4}, {2, 0, 3}, {2, 1, 2, 1, 3, 2}})
    axpby.calls.push_back([=](Random& random) {
      return Call{{random_tensor(random, {}), random_tensor(random, shape), random_tensor(random, {}),
                   random_tensor(random, shape)}};
    });
  return {matmul, dot, axpby};
}

inline std::int64_t axis_of(const Call& call) {
  return std::get<std::int64_t>(call.attributes[0]);
}

inline Rows nn_rows() {
  const auto along_axis = [](const std::string& op,
                             const std::function<double(double, const std::vector<double>&)>& f) {
    Row row{op, {}, {}, 1e-13};
    for (const auto& [shape, axis] :
         std::vector<std::pair<Shape, std::int64_t>>{{{5}, -1}, {{2, 3}, -1}, {{2, 3}, 0}, {{2, 3, 2}, 1}})
      row.calls.push_back([shape = shape, axis = axis](Random& random) {
        return Call{{random_tensor(random, shape)}, {axis}};
      });
    row.reference = [f](const Call& call) {
      const Array x(call.inputs[0]);
      const Groups groups(x, list({axis_of(call)}), true);
      Array positions(groups.shape), out(x.shape);
      for (std::size_t i = 0; i < positions.values.size(); ++i) positions.values[i] = static_cast<double>(i);
      for_each_index(x.shape, [&](const auto& index) {
        out(index) = f(x(index), groups.values[static_cast<std::size_t>(positions.broadcast(index))]);
      });
      return Arrays{out};
    };
    return row;
  };
  Rows rows = {
      along_axis("softmax",
                 [](double x, const std::vector<double>& v) { return std::exp(x - log_sum_exp_of(v)); }),
      along_axis("log_softmax",
                 [](double x, const std::vector<double>& v) { return x - log_sum_exp_of(v); })};
  Row entropy{"softmax_cross_entropy_with_logits", {}, {}, 1e-12};
  for (const auto& [shape, axis] :
       std::vector<std::pair<Shape, std::int64_t>>{{{4}, -1}, {{3, 4}, -1}, {{3, 4}, 0}})
    entropy.calls.push_back([shape = shape, axis = axis](Random& random) {
      return Call{{random_tensor(random, shape, 0.1, 1), random_tensor(random, shape)}, {axis}};
    });
  entropy.reference = [](const Call& call) {
    const Groups labels(Array(call.inputs[0]), list({axis_of(call)}), false);
    const Groups logits(Array(call.inputs[1]), list({axis_of(call)}), false);
    Array out(labels.shape);
    for (std::size_t i = 0; i < out.values.size(); ++i)
      for (std::size_t k = 0; k < labels.values[i].size(); ++k)
        out.values[i] -= labels.values[i][k] * (logits.values[i][k] - log_sum_exp_of(logits.values[i]));
    return Arrays{out};
  };
  rows.push_back(entropy);
  rows.push_back({"sparse_softmax_cross_entropy_with_logits",
                  {[](Random& random) {
                     return Call{{integers({2, 0, 1}, {3}), random_tensor(random, {3, 4})}};
                   },
                   [](Random& random) {
                     return Call{{integers({1}, {}), random_tensor(random, {3})}};
                   }},
                  [](const Call& call) {
                    const Groups logits(Array(call.inputs[1]), list({-1}), false);
                    const Array labels(call.inputs[0]);
                    Array out(labels.shape);
                    for (std::size_t i = 0; i < out.values.size(); ++i)
                      out.values[i] = log_sum_exp_of(logits.values[i]) -
                                      logits.values[i][static_cast<std::size_t>(labels.values[i])];
                    return Arrays{out};
                  },
                  1e-13});
  rows.push_back({"l2_loss",
                  {[](Random& random) {
                     return Call{{random_tensor(random, {3, 4})}};
                   },
                   [](Random& random) { return Call{{random_tensor(random, {})}}; }},
                  [](const Call& call) {
                    Array out(Shape{});
                    for (const double x : call.inputs[0].to_vector()) out.values[0] += x * x / 2;
                    return Arrays{out};
                  }});
  Row moments = reduction_test("moments", sum_of);
  moments.calls.erase(moments.calls.begin());
  moments.reference = [](const Call& call) {
    const Groups groups(Array(call.inputs[0]), call.attributes[0], std::get<bool>(call.attributes[1]));
    const auto mean = [](const std::vector<double>& v) { return sum_of(v) / static_cast<double>(v.size()); };
    return Arrays{groups.map(mean), groups.map([&](const std::vector<double>& v) {
                    double sum = 0;
                    for (const double x : v) sum += (x - mean(v)) * (x - mean(v));
                    return sum / static_cast<double>(v.size());
                  })};
  };
  rows.push_back(moments);
  return rows;
}

}  // namespace tapedeck::testing
