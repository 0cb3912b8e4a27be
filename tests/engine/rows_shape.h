// Test rows of ops that make, move and pick elements.
#pragma once

#include <algorithm>

#include "tests/engine/op_row.h"

namespace tapedeck::testing {

using Index = std::vector<std::int64_t>;
using Integers = ops::Integers;

/// A call with one random input, and the shape that must come out.
inline MakeCall call_with(const Shape& input, std::vector<Attribute> attributes, const Shape& expected) {
  return [=](Random& random) { return Call{{random_tensor(random, input)}, attributes, expected}; };
}

/// Results keep the row-major order of the input.
inline Row reshaping_test(const std::string& op, std::vector<MakeCall> calls) {
  return {op, std::move(calls),
          [](const Call& call) {
            Array out(call.expected);
            out.values = call.inputs[0].to_vector();
            return Arrays{out};
          },
          0};
}

/// The result's element at `index` is the input's at `source(call, index)`.
inline Row moving_test(const std::string& op, std::vector<MakeCall> calls,
                       std::function<Index(const Call&, const Index&)> source) {
  return {op, std::move(calls),
          [source](const Call& call) {
            const Array x(call.inputs[0]);
            Array out(call.expected);
            for_each_index(out.shape, [&](const Index& index) { out(index) = x(source(call, index)); });
            return Arrays{out};
          },
          0};
}

/// The result's element at `index` is `value(call, index)`.
inline Row making_test(const std::string& op, std::vector<MakeCall> calls,
                       std::function<double(const Call&, const Index&)> value) {
  return {op, std::move(calls),
          [value](const Call& call) {
            Array out(call.expected);
            for_each_index(out.shape, [&](const Index& index) { out(index) = value(call, index); });
            return Arrays{out};
          },
          0};
}

inline MakeCall made_call(std::vector<Attribute> attributes, const Shape& expected) {
  return [=](Random&) { return Call{{}, attributes, expected}; };
}

inline const Integers& list_of(const Call& call, std::size_t attribute) {
  return std::get<Integers>(call.attributes[attribute]);
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
      making_test("range",
                  {made_call({2.0, 7.5, 1.5, f64}, {4}),
                   made_call({std::int64_t{2}, std::int64_t{-3}, std::int64_t{-2}, none()}, {3}),
                   made_call({5.0, 5.0, 1.0, f64}, {0})},
                  [](const Call& call, const Index& i) {
                    const auto number = [](const Attribute& a) {
                      const auto* integer = std::get_if<std::int64_t>(&a);
                      return integer ? static_cast<double>(*integer) : std::get<double>(a);
                    };
                    return number(call.attributes[0]) +
                           static_cast<double>(i[0]) * number(call.attributes[2]);
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
      "one_hot", {one_hot_call(-1, {4, 3}), one_hot_call(0, {3, 4})}, [](const Call& call, const Index& i) {
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
  return rows;
}

inline Rows shape_rows() {
  const auto same = [](const std::string& op) {
    return reshaping_test(
        op, {call_with({}, {}, {}), call_with({2, 3}, {}, {2, 3}), call_with({0, 2}, {}, {0, 2})});
  };
  const auto reversed = [](const Call& call, Index index) {
    for (const std::int64_t axis : list_of(call, 0)) {
      const int a = static_cast<int>(axis < 0 ? axis + call.expected.rank() : axis);
      index[static_cast<std::size_t>(a)] = call.expected[a] - 1 - index[static_cast<std::size_t>(a)];
    }
    return index;
  };
  Rows rows = {
      same("identity"),
      same("stop_gradient"),
      reshaping_test("reshape",
                     {call_with({2, 3}, {list({3, 2})}, {3, 2}), call_with({2, 3}, {list({-1})}, {6}),
                      call_with({2, 6}, {list({2, -1, 3})}, {2, 2, 3}), call_with({}, {list({1, 1})}, {1, 1}),
                      call_with({0, 3}, {list({5, 0})}, {5, 0})}),
      reshaping_test(
          "expand_dims",
          {call_with({2, 3}, {std::int64_t{0}}, {1, 2, 3}), call_with({2, 3}, {std::int64_t{-1}}, {2, 3, 1}),
           call_with({2, 3}, {std::int64_t{1}}, {2, 1, 3}), call_with({}, {std::int64_t{0}}, {1})}),
      reshaping_test("squeeze",
                     {call_with({1, 2, 1}, {none()}, {2}), call_with({1, 2, 1}, {list({-1})}, {1, 2}),
                      call_with({1, 1}, {list({})}, {}), call_with({2, 3}, {none()}, {2, 3})}),
      moving_test("transpose",
                  {call_with({2, 3}, {none()}, {3, 2}), call_with({2, 3, 4}, {list({1, 2, 0})}, {3, 4, 2}),
                   call_with({2, 3, 4}, {list({0, -1, 1})}, {2, 4, 3}), call_with({}, {none()}, {})},
                  [](const Call& call, const Index& index) {
                    Index from(index.size());
                    for (std::size_t i = 0; i < index.size(); ++i) {
                      const std::int64_t rank = static_cast<std::int64_t>(index.size());
                      std::int64_t axis = rank - 1 - static_cast<std::int64_t>(i);
                      if (!std::holds_alternative<std::monostate>(call.attributes[0]))
                        axis = list_of(call, 0)[i];
                      from[static_cast<std::size_t>(axis < 0 ? axis + rank : axis)] = index[i];
                    }
                    return from;
                  }),
      moving_test("broadcast_to",
                  {call_with({3}, {list({2, 3})}, {2, 3}), call_with({2, 1}, {list({2, 4})}, {2, 4}),
                   call_with({}, {list({2, 2})}, {2, 2}), call_with({1, 3}, {list({0, 3})}, {0, 3})},
                  [](const Call& call, const Index& index) {
                    const Shape& shape = call.inputs[0].shape();
                    Index from;
                    for (int i = 0; i < shape.rank(); ++i)
                      from.push_back(shape[i] == 1
                                         ? 0
                                         : index[index.size() - static_cast<std::size_t>(shape.rank() - i)]);
                    return from;
                  }),
      moving_test("reverse",
                  {call_with({4}, {list({0})}, {4}), call_with({2, 3, 2}, {list({0, -1})}, {2, 3, 2}),
                   call_with({2, 3}, {list({})}, {2, 3}), call_with({0, 2}, {list({1})}, {0, 2})},
                  reversed),
      moving_test("tile",
                  {call_with({3}, {list({2})}, {6}), call_with({2, 3}, {list({1, 2})}, {2, 6}),
                   call_with({2, 1, 3}, {list({2, 3, 1})}, {4, 3, 3}), call_with({2}, {list({0})}, {0}),
                   call_with({}, {list({})}, {})},
                  [](const Call& call, Index index) {
                    for (std::size_t i = 0; i < index.size(); ++i)
                      index[i] %= call.inputs[0].dim(static_cast<int>(i));
                    return index;
                  }),
      making_test(
          "pad",
          {call_with({2, 3}, {list({1, 0, 0, 2}), 0.5}, {3, 5}), call_with({3}, {list({2, 1}), 0.0}, {6}),
           call_with({0}, {list({1, 1}), 4.0}, {2}), call_with({}, {list({}), 0.0}, {})},
          [](const Call& call, Index index) {
            const Array x(call.inputs[0]);
            for (std::size_t i = 0; i < index.size(); ++i) {
              index[i] -= list_of(call, 0)[2 * i];
              if (index[i] < 0 || index[i] >= x.shape[static_cast<int>(i)])
                return std::get<double>(call.attributes[1]);
            }
            return x(index);
          }),
      making_test("shape", {call_with({2, 3}, {DType::int32}, {2}), call_with({}, {DType::int64}, {0})},
                  [](const Call& call, const Index& i) {
                    return static_cast<double>(call.inputs[0].dim(static_cast<int>(i[0])));
                  }),
      making_test("size", {call_with({2, 3}, {DType::int32}, {}), call_with({0}, {DType::int64}, {})},
                  [](const Call& call, const Index&) { return static_cast<double>(call.inputs[0].count()); }),
      making_test("rank", {call_with({2, 3}, {}, {}), call_with({}, {}, {})},
                  [](const Call& call, const Index&) { return static_cast<double>(call.inputs[0].rank()); }),
  };
  return rows;
}

inline Rows joining_rows() {
  const auto many = [](std::vector<Shape> shapes, std::int64_t axis, const Shape& expected) {
    return [=](Random& random) {
      Call call{{}, {axis}, expected};
      for (const Shape& shape : shapes) call.inputs.push_back(random_tensor(random, shape));
      return call;
    };
  };
  Row concat = making_test("concat",
                           {many({{2}, {3}, {0}}, 0, {5}), many({{2, 1}, {2, 3}}, 1, {2, 4}),
                            many({{1, 3}, {2, 3}}, -2, {3, 3}), many({{2, 2}}, 0, {2, 2})},
                           [](const Call& call, Index index) {
                             std::int64_t axis = std::get<std::int64_t>(call.attributes[0]);
                             if (axis < 0) axis += call.expected.rank();
                             std::int64_t& at = index[static_cast<std::size_t>(axis)];
                             std::size_t i = 0;
                             for (; at >= call.inputs[i].dim(static_cast<int>(axis)); ++i)
                               at -= call.inputs[i].dim(static_cast<int>(axis));
                             return Array(call.inputs[i])(index);
                           });
  Row stack = making_test("stack",
                          {many({{2}, {2}, {2}}, 0, {3, 2}), many({{2}, {2}}, -1, {2, 2}),
                           many({{2, 3}, {2, 3}}, 1, {2, 2, 3}), many({{}, {}}, 0, {2})},
                          [](const Call& call, Index index) {
                            std::int64_t axis = std::get<std::int64_t>(call.attributes[0]);
                            if (axis < 0) axis += call.expected.rank();
                            const auto i = static_cast<std::size_t>(index[static_cast<std::size_t>(axis)]);
                            index.erase(index.begin() + axis);
                            return Array(call.inputs[i])(index);
                          });
  // Parts along an axis: which extents, whether the axis goes.
  const auto parts = [](const Call& call, std::int64_t axis, const Integers& sizes, bool goes) {
    const Array x(call.inputs[0]);
    Arrays outs;
    std::int64_t first = 0;
    for (const std::int64_t size : sizes) {
      Shape shape = x.shape;
      shape[static_cast<int>(axis)] = size;
      Array out(shape);
      for_each_index(shape, [&](const Index& index) {
        Index from = index;
        from[static_cast<std::size_t>(axis)] += first;
        out(index) = x(from);
      });
      if (goes) {
        Index left;
        for (int i = 0; i < shape.rank(); ++i)
          if (i != axis) left.push_back(shape[i]);
        out.shape = Shape(std::span<const std::int64_t>(left));
      }
      outs.push_back(out);
      first += size;
    }
    return outs;
  };
  Row unstack{"unstack",
              {call_with({3, 2}, {none(), std::int64_t{0}}, {}),
               call_with({2, 3}, {std::int64_t{3}, std::int64_t{-1}}, {})},
              [parts](const Call& call) {
                const std::int64_t axis = std::get<std::int64_t>(call.attributes[1]) == 0 ? 0 : 1;
                return parts(
                    call, axis,
                    Integers(static_cast<std::size_t>(call.inputs[0].dim(static_cast<int>(axis))), 1), true);
              },
              0};
  Row split{"split",
            {call_with({6}, {list({3}), std::int64_t{0}}, {2}),
             call_with({2, 5}, {list({1, 4}), std::int64_t{1}}, {1, 4}),
             call_with({2, 5}, {list({2, -1, 1}), std::int64_t{1}}, {2, 2, 1}),
             call_with({4, 1}, {list({2}), std::int64_t{0}}, {2})},
            [parts](const Call& call) {
              Integers sizes(call.expected.begin(), call.expected.end());
              if (sizes.size() == 1)
                sizes.assign(static_cast<std::size_t>(call.inputs[0].dim(0) / sizes[0]), sizes[0]);
              return parts(call, std::get<std::int64_t>(call.attributes[1]), sizes, false);
            },
            0};
  return {concat, stack, unstack, split};
}

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

/// Slicings of a (4, 5) tensor: attributes, and what they pick from rows and columns.
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
  for (const Picked& p : picked_slices()) {
    slice_row.calls.push_back(call_with({4, 5}, p.attributes, p.expected));
    std::vector<Attribute> with_shape(p.attributes.size() + 1);
    with_shape[0] = list({4, 5});
    std::copy(p.attributes.begin(), p.attributes.end(), with_shape.begin() + 1);
    grad_row.calls.push_back(call_with(p.expected, with_shape, {4, 5}));
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
  Row slice =
      moving_test("slice",
                  {call_with({4, 5}, {list({1, 2}), list({2, -1})}, {2, 3}),
                   call_with({4}, {list({4}), list({0})}, {0}), call_with({}, {list({}), list({})}, {})},
                  [](const Call& call, Index index) {
                    for (std::size_t i = 0; i < index.size(); ++i) index[i] += list_of(call, 0)[i];
                    return index;
                  });
  const auto gather_call = [](const Shape& params, const Tensor& indices, std::int64_t axis,
                              const Shape& expected) {
    return [=](Random& random) { return Call{{random_tensor(random, params), indices}, {axis}, expected}; };
  };
  const Tensor picks = integers({2, 0, 2}, {3});
  const Tensor matrix = integers({1, 0, 2, 2}, {2, 2});
  Row gather = making_test(
      "gather",
      {gather_call({4}, picks, 0, {3}), gather_call({3, 2}, picks, 0, {3, 2}),
       gather_call({2, 3}, matrix, 1, {2, 2, 2}), gather_call({2, 3, 2}, picks, -2, {2, 3, 2}),
       gather_call({3, 2}, integers({1}, {}), 0, {2}), gather_call({3, 2}, integers({}, {0}), 0, {0, 2})},
      [](const Call& call, const Index& index) {
        const Array params(call.inputs[0]), indices(call.inputs[1]);
        std::int64_t axis = std::get<std::int64_t>(call.attributes[0]);
        if (axis < 0) axis += params.shape.rank();
        const auto a = index.begin() + axis;
        const Index which(a, a + indices.shape.rank());
        Index from(index.begin(), a);
        from.push_back(static_cast<std::int64_t>(indices(which)));
        from.insert(from.end(), a + indices.shape.rank(), index.end());
        return params(from);
      });
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
  return {slice_row, grad_row, slice, gather, segments};
}

}  // namespace tapedeck::testing
