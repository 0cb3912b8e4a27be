// Test rows of ops that pick and place elements by number.
#pragma once

#include <algorithm>

#include "tests/engine/ops/rows/row_makers.h"

namespace tapedeck::testing {

/// begin, end, strides and the five masks.
inline std::vector<Attribute> slicing(Integers begin, Integers end, Integers strides,
                                      std::array<std::int64_t, 5> masks = {}) {
  return {begin, end, strides, masks[0], masks[1], masks[2], masks[3], masks[4]};
}

/// The input's index along an axis for each index of the result, as Python's `range(n)[begin:end:step]` lists
/// them.
inline Index python_range(std::int64_t n, std::int64_t begin, std::int64_t end, std::int64_t step) {
  Index picked;
  for (std::int64_t i = begin; step > 0 ? i < end : i > end; i += step)
    if (i >= 0 && i < n) picked.push_back(i);
  return picked;
}

/// Slicings of a (4, 5) tensor: attributes, and the selected rows and columns.
struct Picked {
  std::vector<Attribute> attributes;
  Shape expected;
  Index rows, columns;
};
inline std::vector<Picked> picked_slices() {
  const Index all_rows = python_range(4, 0, 4, 1), all_columns = python_range(5, 0, 5, 1);
  return {
      {slicing({1, 0}, {3, 5}, {1, 2}), {2, 3}, {1, 2}, {0, 2, 4}},
      {slicing({-3}, {100}, {1}), {3, 5}, {1, 2, 3}, all_columns},
      {slicing({0, -1}, {0, 0}, {1, -2}, {3, 3, 0, 0, 0}), {4, 3}, all_rows, {4, 2, 0}},
      {slicing({2}, {3}, {1}, {0, 0, 0, 0, 1}), {5}, {2}, all_columns},
      {slicing({0, -1}, {0, 0}, {1, 1}, {0, 0, 1, 0, 2}), {4}, all_rows, {4}},
      {slicing({0, 0, 1}, {0, 0, 4}, {1, 1, 1}, {0, 0, 2, 1, 0}), {1, 4, 3}, all_rows, {1, 2, 3}},
      {slicing({3, 3}, {1, 1}, {-1, 1}), {2, 0}, {3, 2}, {}},
      {slicing({}, {}, {}), {4, 5}, all_rows, all_columns},
      {slicing({1, 4}, {2, 5}, {1, 1}, {0, 0, 0, 0, 3}), {}, {1}, {4}},
  };
}

inline Rows indexing_rows() {
  Row slice_row{"strided_slice", {}, {}, 0};
  Row grad_row{"strided_slice_grad", {}, {}, 0};
  Row update_row{"tensor_strided_slice_update", {}, {}, 0};
  for (const Picked& p : picked_slices()) {
    slice_row.calls.push_back(call_with({4, 5}, p.attributes, p.expected));
    std::vector<Attribute> with_shape(p.attributes.size() + 1);
    with_shape[0] = list({4, 5});
    std::copy(p.attributes.begin(), p.attributes.end(), with_shape.begin() + 1);
    grad_row.calls.push_back(call_with(p.expected, with_shape, {4, 5}));
    update_row.calls.push_back([p](Random& random) {
      return Call{{random_tensor(random, {4, 5}), random_tensor(random, p.expected)}, p.attributes, {4, 5}};
    });
  }
  const auto find = [](const std::vector<Attribute>& attributes) {
    for (const Picked& p : picked_slices())
      if (p.attributes == attributes) return p;
    return Picked{};
  };
  slice_row.reference = [find](const Call& call) {
    const Picked p = find(call.attributes);
    const Array x(call.inputs[0]);
    Array out(p.expected);
    std::size_t at = 0;
    for (const std::int64_t row : p.rows)
      for (const std::int64_t column : p.columns) out.values[at++] = x({row, column});
    return Arrays{out};
  };
  grad_row.reference = [find](const Call& call) {
    const Picked p = find({call.attributes.begin() + 1, call.attributes.end()});
    const std::vector<double> dy = call.inputs[0].to_vector();
    Array out(Shape{4, 5});
    std::size_t at = 0;
    for (const std::int64_t row : p.rows)
      for (const std::int64_t column : p.columns) out({row, column}) = dy[at++];
    return Arrays{out};
  };
  update_row.reference = [find](const Call& call) {
    const Picked p = find(call.attributes);
    const std::vector<double> value = call.inputs[1].to_vector();
    Array out(call.inputs[0]);
    std::size_t at = 0;
    for (const std::int64_t row : p.rows)
      for (const std::int64_t column : p.columns) out({row, column}) = value[at++];
    return Arrays{out};
  };
  Row slice =
      moving_test("slice",
                  {call_with({4, 5}, {list({1, 2}), list({2, -1})}, {2, 3}),
                   call_with({4}, {list({4}), list({0})}, {0}), call_with({}, {list({}), list({})}, {})},
                  [](const Call& call, Index index) {
                    for (std::size_t i = 0; i < index.size(); ++i) index[i] += list_of(call, 0)[i];
                    return index;
                  });
  const Tensor picks = integers({2, 0, 2}, {3});
  const Tensor matrix = integers({1, 0, 2, 2}, {2, 2});
  const auto segment_call = [](const Shape& data, const Tensor& ids, const Shape& expected) {
    return [=](Random& random) {
      return Call{{random_tensor(random, data), ids}, {std::int64_t{4}}, expected};
    };
  };
  Row segments =
      making_test("unsorted_segment_sum",
                  {segment_call({3}, picks, {4}), segment_call({3, 2}, picks, {4, 2}),
                   segment_call({2, 2, 3}, matrix, {4, 3}), segment_call({2}, integers({3}, {}), {4, 2})},
                  [](const Call& call, const Index& index) {
                    const Array data(call.inputs[0]), ids(call.inputs[1]);
                    double sum = 0;
                    for_each_index(ids.shape, [&](Index from) {
                      if (static_cast<std::int64_t>(ids(from)) != index[0]) return;
                      from.insert(from.end(), index.begin() + 1, index.end());
                      sum += data(from);
                    });
                    return sum;
                  });
  segments.tolerance = 1e-14;
  return {slice_row, grad_row, update_row, slice, segments};
}

inline Row gather_test() {
  const auto call = [](const Shape& params, const Tensor& indices, Attribute axis, std::int64_t batch_dims,
                       const Shape& expected) {
    return [=](Random& random) {
      return Call{{random_tensor(random, params), indices}, {none(), axis, batch_dims}, expected};
    };
  };
  const Attribute at0 = std::int64_t{0}, at1 = std::int64_t{1}, at2 = std::int64_t{2};
  const Tensor picks = integers({2, 0, 2}, {3});
  const Tensor matrix = integers({1, 0, 2, 2}, {2, 2});
  return making_test(
      "gather",
      {call({4}, picks, at0, 0, {3}), call({3, 2}, picks, none(), 0, {3, 2}),
       call({2, 3}, matrix, at1, 0, {2, 2, 2}), call({2, 3, 2}, picks, std::int64_t{-2}, 0, {2, 3, 2}),
       call({3, 2}, integers({1}, {}), at0, 0, {2}), call({3, 2}, integers({}, {0}), at0, 0, {0, 2}),
       call({2, 3}, matrix, none(), 1, {2, 2}), call({2, 2, 3}, matrix, at2, 1, {2, 2, 2}),
       call({2, 3, 2}, matrix, at1, -1, {2, 2, 2}), call({2, 2, 4}, matrix, at2, 2, {2, 2}),
       call({0, 3}, integers({}, {0, 2}), at1, 1, {0, 2})},
      [](const Call& c, const Index& index) {
        const Array params(c.inputs[0]), indices(c.inputs[1]);
        std::int64_t batch = std::get<std::int64_t>(c.attributes[2]);
        if (batch < 0) batch += indices.shape.rank();
        const auto* given = std::get_if<std::int64_t>(&c.attributes[1]);
        const std::int64_t axis = !given ? batch : *given < 0 ? *given + params.shape.rank() : *given;
        const std::int64_t own = indices.shape.rank() - batch;
        Index which(index.begin(), index.begin() + batch);
        which.insert(which.end(), index.begin() + axis, index.begin() + axis + own);
        Index from(index.begin(), index.begin() + axis);
        from.push_back(static_cast<std::int64_t>(indices(which)));
        from.insert(from.end(), index.begin() + axis + own, index.end());
        return params(from);
      });
}

/// The coordinates in row `row` of indices.
inline Index coordinates(const Array& indices, const Index& row) {
  Index found;
  for (std::int64_t k = 0; k < indices.shape[indices.shape.rank() - 1]; ++k) {
    Index at = row;
    at.push_back(k);
    found.push_back(static_cast<std::int64_t>(indices(at)));
  }
  return found;
}

inline Row gather_nd_test() {
  const auto call = [](const Shape& params, const Tensor& indices, std::int64_t batch_dims,
                       const Shape& expected) {
    return [=](Random& random) {
      return Call{{random_tensor(random, params), indices}, {batch_dims}, expected};
    };
  };
  return making_test(
      "gather_nd",
      {call({3, 2}, integers({2, 1, 0, 0, 2, 1}, {3, 2}), 0, {3}),
       call({3, 2}, integers({1, 1}, {2, 1}), 0, {2, 2}),
       call({2, 3, 2}, integers({1, 2, 0, 1}, {1, 2, 2}), 0, {1, 2, 2}),
       call({2, 2}, integers({}, {3, 0}), 0, {3, 2, 2}), call({2, 3}, integers({}, {0, 1}), 0, {0, 3}),
       call({4}, integers({3}, {1}), 0, {}), call({2, 3, 2}, integers({1, 2, 2, 0}, {2, 2, 1}), 1, {2, 2, 2}),
       call({2, 3, 2}, integers({1, 0, 2, 1}, {2, 1, 2}), 1, {2, 1})},
      [](const Call& c, const Index& index) {
        const Array params(c.inputs[0]), indices(c.inputs[1]);
        const Index row(index.begin(), index.begin() + indices.shape.rank() - 1);
        Index from(index.begin(), index.begin() + std::get<std::int64_t>(c.attributes[0]));
        const Index named = coordinates(indices, row);
        from.insert(from.end(), named.begin(), named.end());
        from.insert(from.end(), index.begin() + indices.shape.rank() - 1, index.end());
        return params(from);
      });
}

/// Ops that combine slices of `target` with updates in order: `combine(old, update)`.
inline Row scatter_test(const std::string& op, std::vector<MakeCall> calls,
                        std::function<double(double, double)> combine) {
  const bool from_zeros = op == "scatter_nd";
  Row row{op, std::move(calls), {}, 1e-14};
  row.reference = [=](const Call& call) {
    Array out = from_zeros ? Array(call.expected) : Array(call.inputs[0]);
    const Array indices(call.inputs[from_zeros ? 0 : 1]), updates(call.inputs[from_zeros ? 1 : 2]);
    const auto rows = static_cast<std::ptrdiff_t>(indices.shape.rank() - 1);
    for_each_index(updates.shape, [&](const Index& index) {
      Index to = coordinates(indices, Index(index.begin(), index.begin() + rows));
      to.insert(to.end(), index.begin() + rows, index.end());
      out(to) = combine(out(to), updates(index));
    });
    return Arrays{out};
  };
  return row;
}

inline Rows scatter_rows() {
  const Tensor twice = integers({1, 1, 3}, {3, 1});
  const Tensor apart = integers({3, 0}, {2, 1});
  const Tensor pairs = integers({1, 2, 0, 0}, {2, 2});
  const auto scatter = [](const Tensor& indices, const Shape& updates, const Shape& shape) {
    return [=](Random& random) {
      return Call{{indices, random_tensor(random, updates)}, {attribute_list(shape)}, shape};
    };
  };
  const auto onto = [](const Shape& shape, const Tensor& indices, const Shape& updates) {
    return [=](Random& random) {
      return Call{{random_tensor(random, shape), indices, random_tensor(random, updates)}, {}, shape};
    };
  };
  const std::vector<MakeCall> changes = {onto({4}, apart, {2}),
                                         onto({4, 2}, apart, {2, 2}),
                                         onto({2, 3}, pairs, {2}),
                                         onto({2, 3, 2}, pairs, {2, 2}),
                                         onto({4}, integers({}, {0, 1}), {0}),
                                         onto({0, 2}, integers({}, {0, 1}), {0, 2})};
  std::vector<MakeCall> sums = changes;
  sums.push_back(onto({4}, twice, {3}));
  std::vector<MakeCall> extremes = sums;
  extremes.push_back([](Random&) {
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan("");
    return Call{{Tensor::from_values<double>(std::vector<double>{nan, 1, infinity, -infinity}, {4}),
                 integers({0, 1, 2, 3, 1}, {5, 1}),
                 Tensor::from_values<double>(std::vector<double>{1, nan, 2, 3, 5}, {5})}};
  });
  const auto larger = [](double old, double update) {
    return std::isnan(old) || std::isnan(update) ? std::nan("") : std::max(old, update);
  };
  Row onto_zeros =
      scatter_test("scatter_nd",
                   {scatter(twice, {3}, {5}), scatter(pairs, {2}, {2, 3}), scatter(pairs, {2, 2}, {2, 3, 2}),
                    scatter(integers({2}, {1}), {}, {4}), scatter(integers({}, {0, 1}), {0, 2}, {3, 2})},
                   [](double old, double update) { return old + update; });
  const auto flags = [](const Tensor& indices, const std::vector<int>& updates, const Shape& shape) {
    return [=](Random&) {
      const Tensor values = booleans(updates, {static_cast<std::int64_t>(updates.size())});
      return Call{{indices, values}, {attribute_list(shape)}, shape};
    };
  };
  // Of bool, those of one place are joined by 'or', in either order.
  onto_zeros.calls.push_back(flags(twice, {1, 0, 1}, {5}));
  onto_zeros.calls.push_back(flags(twice, {0, 1, 0}, {5}));
  onto_zeros.calls.push_back(flags(twice, {1, 1, 0}, {5}));
  onto_zeros.reference = [sums = onto_zeros.reference](const Call& call) {
    Arrays arrays = sums(call);
    if (call.inputs[1].dtype() == DType::bool_)
      for (double& value : arrays[0].values) value = value != 0;
    return arrays;
  };
  return {onto_zeros,
          scatter_test("tensor_scatter_nd_update", changes, [](double, double update) { return update; }),
          scatter_test("tensor_scatter_nd_add", sums, [](double old, double update) { return old + update; }),
          scatter_test("tensor_scatter_nd_sub", sums, [](double old, double update) { return old - update; }),
          scatter_test("tensor_scatter_nd_max", extremes, larger),
          scatter_test("tensor_scatter_nd_min", extremes,
                       [larger](double old, double update) { return -larger(-old, -update); })};
}

inline Rows search_rows() {
  const auto flags = [](const std::vector<int>& values, const Shape& shape, const Shape& expected) {
    return [=](Random&) { return Call{{booleans(values, shape)}, {}, expected}; };
  };
  Row places{"where_indices",
             {flags({1, 0, 1, 1}, {4}, {3, 1}), flags({0, 1, 1, 0, 0, 1}, {2, 3}, {3, 2}),
              flags({1}, {}, {1, 0}), flags({}, {0, 2}, {0, 2}), flags({0, 0}, {2}, {0, 1})},
             [](const Call& call) {
               const Array condition(call.inputs[0]);
               Array out(call.expected);
               out.values.clear();
               for_each_index(condition.shape, [&](const Index& index) {
                 if (condition(index) != 0) out.values.insert(out.values.end(), index.begin(), index.end());
               });
               return Arrays{out};
             },
             0};
  const auto search = [](const std::vector<double>& sorted, const Shape& shape,
                         const std::vector<double>& values, const Shape& expected, const char* side,
                         DType out_type) {
    return [=](Random&) {
      return Call{{Tensor::from_values<double>(sorted, shape), Tensor::from_values<double>(values, expected)},
                  {std::string(side), out_type},
                  expected};
    };
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> sorted = {-infinity, -1, 0, 0, 0, 2.5};
  const std::vector<double> values = {0, -infinity, infinity, 1, -1, 3};
  Row searched = making_test(
      "searchsorted",
      {search(sorted, {6}, values, {2, 3}, "left", DType::int32),
       search(sorted, {6}, values, {6}, "right", DType::int64),
       search(sorted, {2, 3}, values, {2, 3}, "left", DType::int64),
       search({}, {0}, {1}, {1}, "right", DType::int32), search(sorted, {6}, {0}, {}, "right", DType::int32),
       search({}, {2, 0}, {}, {2, 0}, "left", DType::int32)},
      [](const Call& call, const Index& index) {
        const Array all(call.inputs[0]), wanted(call.inputs[1]);
        const bool right = std::get<std::string>(call.attributes[0]) == "right";
        double before = 0;
        for_each_index(all.shape, [&](const Index& at) {
          if (all.shape.rank() > 1 && at[0] != index[0]) return;
          before += all(at) < wanted(index) || (right && all(at) == wanted(index));
        });
        return before;
      });
  const auto permutation = [](const std::vector<std::int64_t>& x) {
    return [=](Random&) {
      const Shape shape{static_cast<std::int64_t>(x.size())};
      return Call{{integers(x, shape)}, {}, shape};
    };
  };
  Row inverse = making_test(
      "invert_permutation", {permutation({2, 0, 1, 3}), permutation({0}), permutation({})},
      [](const Call& call, const Index& index) {
        const std::vector<double> x = call.inputs[0].to_vector();
        return static_cast<double>(std::find(x.begin(), x.end(), static_cast<double>(index[0])) - x.begin());
      });
  return {places, searched, inverse};
}

}  // namespace tapedeck::testing
