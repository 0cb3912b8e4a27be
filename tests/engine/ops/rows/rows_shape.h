// Test rows of ops that move elements.
#pragma once

#include <algorithm>

#include "tests/engine/ops/rows/row_makers.h"

namespace tapedeck::testing {

/// An attribute that is a number or a list of them.
inline Index ops_integers(const Attribute& attribute) {
  const auto* one = std::get_if<std::int64_t>(&attribute);
  return one ? Index{*one} : std::get<Integers>(attribute);
}

inline Row pad_test() {
  const auto call = [](const Shape& shape, Integers paddings, const char* mode, double value,
                       const Shape& expected) {
    return call_with(shape, {paddings, std::string(mode), value}, expected);
  };
  return making_test(
      "pad",
      {call({2, 3}, {1, 0, 0, 2}, "CONSTANT", 0.5, {3, 5}), call({3}, {2, 1}, "constant", 0.0, {6}),
       call({0}, {1, 1}, "CONSTANT", 4.0, {2}), call({}, {}, "CONSTANT", 0.0, {}),
       call({3}, {2, 1}, "REFLECT", 0.0, {6}), call({2, 3}, {1, 1, 0, 2}, "reflect", 0.0, {4, 5}),
       call({3}, {2, 3}, "SYMMETRIC", 0.0, {8}), call({2, 2}, {2, 0, 1, 2}, "Symmetric", 0.0, {4, 5}),
       call({2, 0}, {1, 0, 0, 0}, "SYMMETRIC", 0.0, {3, 0})},
      [](const Call& c, Index index) {
        const Array x(c.inputs[0]);
        const char first = static_cast<char>(std::toupper(std::get<std::string>(c.attributes[1])[0]));
        for (std::size_t i = 0; i < index.size(); ++i) {
          const std::int64_t n = x.shape[static_cast<int>(i)];
          index[i] -= list_of(c, 0)[2 * i];
          if (first == 'C' && (index[i] < 0 || index[i] >= n)) return std::get<double>(c.attributes[2]);
          const std::int64_t edge = first == 'S' ? 1 : 0;
          if (index[i] < 0) index[i] = -index[i] - edge;
          if (index[i] >= n) index[i] = 2 * n - 2 + edge - index[i];
        }
        return x(index);
      });
}

inline Row copy_test() {
  const std::vector<Attribute> to_cpu = {std::string("/cpu:0"), std::string()};
  return reshaping_test("copy_to_device",
                        {call_with({2, 3}, to_cpu, {2, 3}), call_with({}, to_cpu, {}),
                         call_with({0, 2}, {std::string("cpu"), std::string("asked")}, {0, 2})});
}

/// Places along an axis as weighted sums, and the transpose.
inline Row resample_test(bool transpose) {
  const auto call = [=](const Shape& input, Integers indices, std::int64_t taps, std::int64_t axis,
                        const Shape& expected) -> MakeCall {
    return [=](Random& random) {
      const Shape places{std::ssize(indices) / taps, taps};
      Call made{{random_tensor(random, input), integers(indices, places), random_tensor(random, places)},
                {axis},
                expected};
      if (transpose)
        made.attributes.emplace_back(expected[static_cast<int>(axis < 0 ? axis + expected.rank() : axis)]);
      return made;
    };
  };
  std::vector<MakeCall> calls;
  if (transpose)
    calls = {call({2, 3, 4}, {0, 1, 4, 4, 2, 0}, 2, 1, {2, 5, 4}), call({3}, {0, 1, 0}, 1, 0, {2}),
             call({2, 2, 9}, {1, 0, 1, 3, 0, 2}, 3, 1, {2, 4, 9}), call({0, 1}, {0, 0}, 2, -1, {0, 3})};
  else
    calls = {
        call({2, 5, 4}, {0, 1, 4, 4, 2, 0}, 2, 1, {2, 3, 4}),  call({2}, {0, 1, 0}, 1, 0, {3}),
        call({2, 4, 9}, {1, 0, 1, 3, 0, 2}, 3, 1, {2, 2, 9}),  call({3, 4, 3}, {3, 0, 1, 2}, 2, 1, {3, 2, 3}),
        call({3, 2, 1}, {1, 0, 1, 1, 0, 0}, 2, -2, {3, 3, 1}), call({0, 3}, {0, 0}, 2, -1, {0, 1})};
  Row row{transpose ? "resample_grad" : "resample", std::move(calls), [=](const Call& c) {
            const Array x(c.inputs[0]), weights(c.inputs[2]);
            const auto given = std::get<std::int64_t>(c.attributes[0]);
            const auto axis = static_cast<std::size_t>(given < 0 ? given + x.shape.rank() : given);
            const std::vector<double> indices = c.inputs[1].to_vector();
            const std::int64_t taps = weights.shape[1];
            Array out(c.expected);
            for_each_index(transpose ? x.shape : out.shape, [&](const Index& index) {
              for (std::int64_t k = 0; k < taps; ++k) {
                Index other = index;
                other[axis] =
                    static_cast<std::int64_t>(indices[static_cast<std::size_t>(index[axis] * taps + k)]);
                const double weight = weights({index[axis], k});
                if (transpose)
                  out(other) += weight * x(index);
                else
                  out(index) += weight * x(other);
              }
            });
            return Arrays{out};
          }};
  row.constants = {2};
  return row;
}

/// Where a pixel's channel comes from, as TensorFlow's documents of both ops say.
inline Row block_test(const std::string& op, std::vector<MakeCall> calls, bool to_depth) {
  return moving_test(op, std::move(calls), [to_depth](const Call& call, const Index& index) {
    const std::int64_t block = std::get<std::int64_t>(call.attributes[0]);
    const bool first = std::get<std::string>(call.attributes[1]) == "NCHW";
    const std::size_t h = first ? 2 : 1, w = first ? 3 : 2, c = first ? 1 : 3;
    Index from = index;
    if (to_depth) {
      const std::int64_t channels = call.inputs[0].dim(static_cast<int>(c));
      const std::int64_t pixel = index[c] / channels;
      from[c] = index[c] % channels;
      from[h] = index[h] * block + pixel / block;
      from[w] = index[w] * block + pixel % block;
    } else {
      const std::int64_t channels = call.expected[static_cast<int>(c)];
      from[c] = (index[h] % block * block + index[w] % block) * channels + index[c];
      from[h] = index[h] / block;
      from[w] = index[w] / block;
    }
    return from;
  });
}

inline Rows shape_rows() {
  const auto same_with = [](const std::string& op, std::vector<Attribute> attributes) {
    return reshaping_test(op, {call_with({}, attributes, {}), call_with({2, 3}, attributes, {2, 3}),
                               call_with({0, 2}, attributes, {0, 2})});
  };
  const auto same = [same_with](const std::string& op) { return same_with(op, {}); };
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
      moving_test(
          "transpose",
          {call_with({2, 3}, {none(), false}, {3, 2}),
           call_with({2, 3, 4}, {list({1, 2, 0}), true}, {3, 4, 2}),
           call_with({2, 3, 4}, {list({0, -1, 1}), false}, {2, 4, 3}), call_with({}, {none(), false}, {})},
          [](const Call& call, const Index& index) {
            Index from(index.size());
            for (std::size_t i = 0; i < index.size(); ++i) {
              const std::int64_t rank = static_cast<std::int64_t>(index.size());
              std::int64_t axis = rank - 1 - static_cast<std::int64_t>(i);
              if (!std::holds_alternative<std::monostate>(call.attributes[0])) axis = list_of(call, 0)[i];
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
      pad_test(),
      moving_test("roll",
                  {call_with({5}, {list({2}), list({0})}, {5}),
                   call_with({2, 3}, {list({-1, 4}), list({0, 1})}, {2, 3}),
                   call_with({2, 3, 2}, {list({1, 1, -1}), list({-2, 1, 0})}, {2, 3, 2}),
                   call_with({0, 2}, {list({1}), list({0})}, {0, 2}), call_with({}, {list({}), list({})}, {}),
                   call_with({3}, {std::numeric_limits<std::int64_t>::min(), std::int64_t{0}}, {3})},
                  [](const Call& call, Index index) {
                    const Index shifts = ops_integers(call.attributes[0]),
                                axes = ops_integers(call.attributes[1]);
                    for (std::size_t i = 0; i < axes.size(); ++i) {
                      const int axis =
                          static_cast<int>(axes[i] < 0 ? axes[i] + call.expected.rank() : axes[i]);
                      const std::int64_t n = call.expected[axis];
                      std::int64_t& at = index[static_cast<std::size_t>(axis)];
                      at = ((at - shifts[i] % n) % n + n) % n;
                    }
                    return index;
                  }),
      same_with("check_numerics", {std::string("x")}),
      block_test("space_to_depth",
                 {call_with({1, 4, 6, 2}, {std::int64_t{2}, std::string("NHWC")}, {1, 2, 3, 8}),
                  call_with({2, 1, 3, 3}, {std::int64_t{3}, std::string("NCHW")}, {2, 9, 1, 1})},
                 true),
      block_test("depth_to_space",
                 {call_with({1, 2, 3, 8}, {std::int64_t{2}, std::string("NHWC")}, {1, 4, 6, 2}),
                  call_with({1, 9, 2, 1}, {std::int64_t{3}, std::string("NCHW")}, {1, 1, 6, 3}),
                  call_with({0, 2, 2, 4}, {std::int64_t{2}, std::string("NHWC")}, {0, 4, 4, 1})},
                 false),
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

/// Images in blocks: element (b, y, x) of the images is in image (y % h · w + x % w)·batch + b of the blocks.
inline Rows space_batch_rows() {
  const auto call = [](const Shape& input, Integers block, Integers borders, const Shape& expected) {
    return call_with(input, {block, borders}, expected);
  };
  Row apart{"space_to_batch_nd", {}, {}, 0};
  apart.calls = {call({1, 4, 4, 1}, {2, 2}, {0, 0, 0, 0}, {4, 2, 2, 1}),
                 call({2, 3, 5, 2}, {2, 3}, {1, 0, 0, 1}, {12, 2, 2, 2}),
                 call({2, 2}, {5}, {4, 4}, {10, 2}),
                 call({3, 1, 2, 3}, {1}, {0, 0}, {3, 1, 2, 3}),
                 call({2, 3}, {}, {}, {2, 3}),
                 call({1, 0, 3}, {2, 3}, {2, 0, 0, 0}, {6, 1, 1}),
                 call({0, 4}, {2}, {0, 0}, {0, 2})};
  Row together{"batch_to_space_nd", {}, {}, 0};
  together.calls = {call({4, 2, 2, 1}, {2, 2}, {0, 0, 0, 0}, {1, 4, 4, 1}),
                    call({12, 2, 2, 2}, {2, 3}, {1, 0, 0, 1}, {2, 3, 5, 2}),
                    call({10, 2}, {5}, {4, 4}, {2, 2}),
                    call({2, 3}, {}, {}, {2, 3}),
                    call({6, 1, 2}, {3}, {2, 1}, {2, 0, 2}),
                    call({0, 2}, {2}, {0, 0}, {0, 4})};
  apart.reference = together.reference = [](const Call& call) {
    const bool to_batch = call.expected[0] > call.inputs[0].dim(0) || call.expected == call.inputs[0].shape();
    const Integers &block = list_of(call, 0), &borders = list_of(call, 1);
    const Array x(call.inputs[0]);
    Array out(call.expected);
    const Array& images = to_batch ? x : out;
    for_each_index(images.shape, [&](const Index& index) {
      Index other = index;
      std::int64_t number = 0;
      for (std::size_t axis = 0; axis < block.size(); ++axis) {
        const std::int64_t place = index[axis + 1] + borders[2 * axis];
        other[axis + 1] = place / block[axis];
        number = number * block[axis] + place % block[axis];
      }
      other[0] += number * images.shape[0];
      if (to_batch)
        out(other) = x(index);
      else
        out(index) = x(other);
    });
    return Arrays{out};
  };
  return {apart, together};
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
  // Parts along an axis: which extents, whether the axis is removed.
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
            {call_with({6}, {std::int64_t{3}, std::int64_t{0}, none()}, {2}),
             call_with({6}, {list({6}), std::int64_t{0}, none()}, {6}),
             call_with({2, 5}, {list({1, 4}), std::int64_t{1}, std::int64_t{2}}, {1, 4}),
             call_with({2, 5}, {list({2, -1, 1}), std::int64_t{1}, none()}, {2, 2, 1}),
             call_with({4, 1}, {std::int64_t{2}, std::int64_t{0}, std::int64_t{2}}, {2})},
            [parts](const Call& call) {
              Integers sizes(call.expected.begin(), call.expected.end());
              if (sizes.size() == 1)
                sizes.assign(static_cast<std::size_t>(call.inputs[0].dim(0) / sizes[0]), sizes[0]);
              return parts(call, std::get<std::int64_t>(call.attributes[1]), sizes, false);
            },
            0};
  return {concat, stack, unstack, split};
}

}  // namespace tapedeck::testing
