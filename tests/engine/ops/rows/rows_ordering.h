// Test rows of scans, spread, order, segments and counts.
#pragma once

#include <numeric>

#include "tests/engine/ops/rows/rows_reduction.h"

namespace tapedeck::testing {

/// Applies `f` to every row of values along the axis that an attribute names.
inline Array along(const Tensor& tensor, std::int64_t axis,
                   const std::function<std::vector<double>(const std::vector<double>&)>& f) {
  const Array x(tensor);
  const std::size_t which = static_cast<std::size_t>(axis < 0 ? axis + x.shape.rank() : axis);
  Array out(x.shape);
  for_each_index(x.shape, [&](std::vector<std::int64_t> index) {
    if (index[which] != 0) return;
    std::vector<double> row;
    for (index[which] = 0; index[which] < x.shape[static_cast<int>(which)]; ++index[which])
      row.push_back(x(index));
    const std::vector<double> result = f(row);
    for (std::size_t i = 0; i < result.size(); ++i) {
      index[which] = static_cast<std::int64_t>(i);
      out(index) = result[i];
    }
  });
  return out;
}

inline Row scan_test(const std::string& op, double start, const std::function<double(double, double)>& join) {
  Row row{op, {}, {}, 1e-13};
  for (const auto& [shape, axis] : std::vector<std::pair<Shape, std::int64_t>>{
           {{5}, 0}, {{1}, 0}, {{0}, 0}, {{3, 4}, -1}, {{3, 4}, 0}, {{2, 5, 2}, 1}, {{2, 0, 3}, 2}})
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true})
        row.calls.push_back([=, shape = shape, axis = axis](Random& random) {
          return Call{{random_tensor(random, shape)}, {axis, exclusive, reverse}};
        });
  // Zeros: the gradient of a product must not divide by them.
  row.calls.push_back([](Random&) {
    return Call{{Tensor::from_values<double>(std::vector<double>{2, 0, 3, 1.5, 0, 4, 5}, {7})},
                {std::int64_t{0}, false, false}};
  });
  row.reference = [=](const Call& call) {
    const bool exclusive = std::get<bool>(call.attributes[1]);
    const bool reverse = std::get<bool>(call.attributes[2]);
    return Arrays{along(call.inputs[0], axis_of(call), [=](std::vector<double> values) {
      if (reverse) std::reverse(values.begin(), values.end());
      std::vector<double> result;
      for (std::size_t i = 0; i < values.size(); ++i) {
        double value = start;
        for (std::size_t k = 0; k < i + (exclusive ? 0 : 1); ++k) value = join(value, values[k]);
        result.push_back(value);
      }
      if (reverse) std::reverse(result.begin(), result.end());
      return result;
    })};
  };
  return row;
}

inline double log_of_sum(double a, double b) {
  const double larger = std::max(a, b);
  if (std::isnan(a) || std::isnan(b)) return not_a_number;
  if (std::isinf(larger)) return larger;
  return larger + std::log(std::exp(a - larger) + std::exp(b - larger));
}

inline Rows scan_rows() {
  Rows rows = {scan_test("cumsum", 0, [](double a, double b) { return a + b; }),
               scan_test("cumprod", 1, [](double a, double b) { return a * b; }),
               scan_test("cumulative_logsumexp", -infinity, log_of_sum)};
  for (const std::vector<double>& values :
       {std::vector<double>{-infinity, -infinity, 1, -infinity, 2, infinity, 3},
        std::vector<double>{1, not_a_number, 2, 3, 4, 5, 6},
        std::vector<double>{-1e300, 1e300, -1e300, 700, 800, 5e-324, -0.0}})
    rows.back().calls.push_back([values](Random&) {
      return Call{{Tensor::from_values<double>(values, {7})}, {std::int64_t{0}, false, false}};
    });
  // No power of e here is a float64.
  rows.back().calls.push_back([](Random&) {
    return Call{{Tensor::from_values<double>(std::vector<double>{-90, 60, 95, -20, 94.5}, {5})},
                {std::int64_t{-1}, false, true}};
  });
  return rows;
}

inline double variance_of(const std::vector<double>& values) {
  const double mean = sum_of(values) / static_cast<double>(values.size());
  double sum = 0;
  for (const double x : values) sum += (x - mean) * (x - mean);
  return sum / static_cast<double>(values.size());
}

inline Rows statistics_rows() {
  Rows rows = {
      reduction_test("reduce_variance", variance_of),
      reduction_test("reduce_std", [](const std::vector<double>& v) { return std::sqrt(variance_of(v)); }),
      reduction_test("reduce_euclidean_norm", [](const std::vector<double>& v) {
        double sum = 0;
        for (const double x : v) sum += x * x;
        return std::sqrt(sum);
      })};
  // A deviation of 0 is a kink: rows of one value have it.
  auto& calls = rows[1].calls;
  calls = {calls[1], calls[2], calls[3], calls[4], calls[5], calls[6], calls[7]};
  // |x| of a single value has none where x is not near 0, which random numbers promise.
  for (std::size_t i : {0, 2})
    rows[i].calls.push_back([](Random& random) {
      return Call{{random_tensor(random, {0, 3})}, {list({0}), false}};
    });
  return rows;
}

/// NaN is the largest number.
inline bool is_below(double a, double b) {
  return a < b || (std::isnan(b) && !std::isnan(a));
}

inline std::vector<double> order_of(const std::vector<double>& values, bool descending) {
  std::vector<double> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  // Insertion: moves back past what is strictly on the wrong side.
  for (std::size_t i = 1; i < order.size(); ++i)
    for (std::size_t k = i; k > 0; --k) {
      const double a = values[static_cast<std::size_t>(order[k - 1])],
                   b = values[static_cast<std::size_t>(order[k])];
      if (!(descending ? is_below(a, b) : is_below(b, a))) break;
      std::swap(order[k - 1], order[k]);
    }
  return order;
}

inline Rows order_rows() {
  const std::vector<std::pair<Shape, std::int64_t>> cases = {
      {{6}, -1}, {{1}, 0}, {{0}, 0}, {{3, 4}, -1}, {{3, 4}, 0}, {{2, 5, 2}, 1}, {{2, 0}, 0}};
  const std::vector<double> ties = {2, not_a_number, 1, 2, infinity, -0.0, 0.0, -infinity, 1, not_a_number};
  const auto order_test = [&](const std::string& op, std::vector<Attribute> more, bool values) {
    Row row{op, {}, {}, 0};
    for (const std::string direction : {"ASCENDING", "DESCENDING"}) {
      const auto attributes = [=](std::int64_t axis) {
        std::vector<Attribute> all = {axis, direction};
        all.insert(all.end(), more.begin(), more.end());
        return all;
      };
      for (const auto& [shape, axis] : cases)
        row.calls.push_back([=, shape = shape, axis = axis](Random& random) {
          return Call{{random_tensor(random, shape)}, attributes(axis)};
        });
      row.calls.push_back([=](Random&) {
        return Call{{Tensor::from_values<double>(ties, {10})}, attributes(0)};
      });
    }
    row.reference = [values](const Call& call) {
      const bool descending = std::get<std::string>(call.attributes[1]) == "DESCENDING";
      return Arrays{along(call.inputs[0], axis_of(call), [=](const std::vector<double>& v) {
        std::vector<double> order = order_of(v, descending);
        if (values)
          for (double& place : order) place = v[static_cast<std::size_t>(place)];
        return order;
      })};
    };
    return row;
  };
  Row cummax{"cummax", {}, {}, 0};
  for (const bool reverse : {false, true}) {
    for (const auto& [shape, axis] : cases)
      cummax.calls.push_back([=, shape = shape, axis = axis](Random& random) {
        return Call{{random_tensor(random, shape)}, {axis, reverse}};
      });
    for (const std::vector<double>& values :
         {ties, std::vector<double>{101, -infinity, 3, 3, 101, infinity, 0.0, -0.0, infinity, 2}})
      cummax.calls.push_back([=](Random&) {
        return Call{{Tensor::from_values<double>(values, {10})}, {std::int64_t{0}, reverse}};
      });
  }
  cummax.reference = [](const Call& call) {
    const bool reverse = std::get<bool>(call.attributes[1]);
    const auto places = [reverse](const std::vector<double>& v) {
      std::vector<double> result(v.size());
      for (std::size_t i = 0; i < v.size(); ++i) {  // each on its own: the latest of the largest so far
        const std::size_t first = reverse ? v.size() - 1 : 0;
        std::size_t best = first;
        for (std::size_t at = first; at != (reverse ? i - 1 : i + 1); at += reverse ? -1 : 1)
          if (std::isnan(v[at]) || v[at] >= v[best]) best = at;
        result[i] = static_cast<double>(best);
      }
      return result;
    };
    return Arrays{along(call.inputs[0], axis_of(call),
                        [&](const std::vector<double>& v) {
                          std::vector<double> result = places(v);
                          for (double& place : result) place = v[static_cast<std::size_t>(place)];
                          return result;
                        }),
                  along(call.inputs[0], axis_of(call), places)};
  };
  Row top_k{"top_k", {}, {}, 0};
  for (const auto& [shape, k] : std::vector<std::pair<Shape, std::int64_t>>{
           {{6}, 2}, {{6}, 6}, {{3, 4}, 1}, {{2, 2, 5}, 3}, {{3, 4}, 0}, {{0, 4}, 2}})
    top_k.calls.push_back([shape = shape, k = k](Random& random) {
      return Call{{random_tensor(random, shape)}, {k, true, k == 1 ? DType::int64 : DType::int32}};
    });
  top_k.calls.push_back([ties](Random&) {
    return Call{{Tensor::from_values<double>(ties, {10})}, {std::int64_t{7}, true, DType::int32}};
  });
  top_k.reference = [](const Call& call) {
    const std::int64_t k = axis_of(call);  // the first attribute
    const auto cut = [k](const Array& full) {
      Shape shape = full.shape;
      shape[shape.rank() - 1] = k;
      Array out(shape);
      for_each_index(shape, [&](const auto& index) { out(index) = full(index); });
      return out;
    };
    const auto order = [](const std::vector<double>& v) { return order_of(v, true); };
    return Arrays{cut(along(call.inputs[0], -1,
                            [&](const std::vector<double>& v) {
                              std::vector<double> result = order(v);
                              for (double& place : result) place = v[static_cast<std::size_t>(place)];
                              return result;
                            })),
                  cut(along(call.inputs[0], -1, order))};
  };
  return {order_test("sort", {}, true), order_test("argsort", {true}, false), cummax, top_k};
}

inline Row segment_test(const std::string& op, double empty,
                        const std::function<double(double, double)>& join) {
  Row row{op, {}, {}, 1e-14};
  const auto add = [&](const Shape& data, const Tensor& ids, std::int64_t segments) {
    row.calls.push_back([=](Random& random) { return Call{{random_tensor(random, data), ids}, {segments}}; });
  };
  add({3}, integers({1, 0, 1}, {3}), 2);
  add({5, 2}, integers({2, -1, 2, 0, 1}, {5}), 3);  // a number below 0 leaves its slice out
  add({2, 2, 3}, integers({1, 0, 2, 2}, {2, 2}), 3);
  add({2}, integers({0}, {}), 1);
  add({0, 2}, integers({}, {0}), 0);
  // For their values only, since 101 is an "edge": ties, zeros, and numbers that do not occur, whose extreme
  // is so large that differences drown in it.
  row.calls.push_back([](Random&) {
    return Call{{Tensor::from_values<double>(std::vector<double>{2, 3, 3, 0, 2, 101}, {6}),
                 integers({0, 0, 0, 1, 1, 3}, {6})},
                {std::int64_t{5}}};
  });
  row.reference = [=](const Call& call) {
    const Array data(call.inputs[0]), ids(call.inputs[1]);
    Shape shape{axis_of(call)};  // the first attribute: num_segments
    for (int i = ids.shape.rank(); i < data.shape.rank(); ++i) shape.push_back(data.shape[i]);
    Array out(shape);
    for_each_index(shape, [&](const std::vector<std::int64_t>& index) {
      double value = empty;
      for_each_index(ids.shape, [&](std::vector<std::int64_t> from) {
        if (static_cast<std::int64_t>(ids(from)) != index[0]) return;
        from.insert(from.end(), index.begin() + 1, index.end());
        value = join(value, data(from));
      });
      out(index) = value;
    });
    return Arrays{out};
  };
  return row;
}

inline Rows segment_rows() {
  const double most = std::numeric_limits<double>::max();
  Row product = segment_test("unsorted_segment_prod", 1, [](double a, double b) { return a * b; });
  // Zeros, alone, together and left out: the gradient must not divide by them.
  product.calls.push_back([](Random&) {
    const std::vector<double> factors = {2, 0, 3, 0, -2, 0, 1.5, 4, 0, 0.5};
    return Call{{Tensor::from_values<double>(factors, {10}), integers({0, 1, 0, 0, 2, 1, 1, 2, -1, 1}, {10})},
                {std::int64_t{4}}};
  });
  return {product,
          segment_test("unsorted_segment_max", -most, [](double a, double b) { return std::max(a, b); }),
          segment_test("unsorted_segment_min", most, [](double a, double b) { return std::min(a, b); })};
}

inline Rows counting_rows() {
  Row unique{"unique_with_counts", {}, {}, 0};
  unique.calls = {[](Random&) {
                    return Call{{integers({3, -1, 3, 3, 7, -1, 0}, {7})}, {DType::int64}};
                  },
                  [](Random&) {
                    return Call{{integers({}, {0})}, {DType::int32}};
                  },
                  [](Random&) {
                    return Call{{booleans({0, 1, 0}, {3})}, {DType::int32}};
                  },
                  [](Random&) {
                    const std::vector<double> values = {1.5, not_a_number, 1.5, 0.0, not_a_number, 2.5};
                    return Call{{Tensor::from_values<double>(values, {6})}, {DType::int32}};
                  }};
  unique.reference = [](const Call& call) {
    std::vector<double> values, places, counts;
    for (const double value : call.inputs[0].to_vector()) {
      const auto found = std::find(values.begin(), values.end(), value);
      places.push_back(static_cast<double>(found - values.begin()));
      if (found == values.end()) {
        values.push_back(value);
        counts.push_back(0);
      }
      ++counts[static_cast<std::size_t>(places.back())];
    }
    const auto vector = [](const std::vector<double>& elements) {
      Array out(Shape{static_cast<std::int64_t>(elements.size())});
      out.values = elements;
      return out;
    };
    return Arrays{vector(values), vector(places), vector(counts)};
  };
  Row without_counts = unique;
  without_counts.op = "unique";
  without_counts.reference = [reference = unique.reference](const Call& call) {
    Arrays arrays = reference(call);
    arrays.pop_back();
    return arrays;
  };
  return {unique, without_counts};
}

}  // namespace tapedeck::testing
