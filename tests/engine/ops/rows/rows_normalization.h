// Test rows of dropout, and of batch and layer normalization and their gradients.
#pragma once

#include "engine/cpu/loops/draws.h"
#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

/// One call's values along the axes of the statistics. `layers`: these are the axes from `axis` on, and scale
/// has their shape; else they are all but `axis`, and scale has one value for each place of it.
struct Normal {
  bool layers;
  int axis;

  Shape statistics(const Shape& x) const {
    Shape shape;
    for (int i = 0; i < x.rank(); ++i)
      if (layers ? i < axis : i == axis) shape.push_back(x[i]);
    return shape;
  }
  Shape scale(const Shape& x) const {
    Shape shape;
    for (int i = 0; i < x.rank(); ++i)
      if (layers ? i >= axis : i == axis) shape.push_back(x[i]);
    return shape;
  }
  std::vector<std::int64_t> part(const std::vector<std::int64_t>& index, bool front) const {
    if (!layers) return {index[static_cast<std::size_t>(axis)]};
    return front ? std::vector<std::int64_t>(index.begin(), index.begin() + axis)
                 : std::vector<std::int64_t>(index.begin() + axis, index.end());
  }
  double count(const Shape& x) const {
    return static_cast<double>(element_count(x)) / static_cast<double>(element_count(statistics(x)));
  }
  /// The mean of f(index) over the axes of the statistics.
  template <class F>
  Array mean(const Shape& x, F&& f) const {
    Array sums(statistics(x));
    for_each_index(x, [&](const std::vector<std::int64_t>& at) { sums(part(at, true)) += f(at) / count(x); });
    return sums;
  }
};

inline Normal normal_of(const Call& call, bool layers) {
  const auto axis = static_cast<int>(std::get<std::int64_t>(call.attributes[0]));
  return {layers, axis < 0 ? axis + call.inputs[0].shape().rank() : axis};
}

inline Arrays normalized(const Call& call, bool layers) {
  const Normal of = normal_of(call, layers);
  const Array x(call.inputs[0]), scale(call.inputs[1]), offset(call.inputs[2]);
  const double epsilon = std::get<double>(call.attributes[1]);
  using Index = std::vector<std::int64_t>;
  const Array mean = of.mean(x.shape, [&](const Index& at) { return x(at); });
  const Array variance =
      of.mean(x.shape, [&](const Index& at) { return std::pow(x(at) - mean(of.part(at, true)), 2); });
  Array y(x.shape);
  for_each_index(x.shape, [&](const Index& at) {
    const Index row = of.part(at, true), place = of.part(at, false);
    y(at) = (x(at) - mean(row)) / std::sqrt(variance(row) + epsilon) * scale(place) + offset(place);
  });
  return {y, mean, variance};
}

inline Arrays gradient_of_normalized(const Call& call, bool layers) {
  const Normal of = normal_of(call, layers);
  const Array x(call.inputs[0]), scale(call.inputs[1]), mean(call.inputs[2]), variance(call.inputs[3]),
      dy(call.inputs[4]);
  const double epsilon = std::get<double>(call.attributes[1]);
  using Index = std::vector<std::int64_t>;
  const auto normal = [&](const Index& at) {
    const Index row = of.part(at, true);
    return (x(at) - mean(row)) / std::sqrt(variance(row) + epsilon);
  };
  const auto h = [&](const Index& at) { return dy(at) * scale(of.part(at, false)); };
  const Array plain = of.mean(x.shape, h);
  const Array weighted = of.mean(x.shape, [&](const Index& at) { return h(at) * normal(at); });
  Array dx(x.shape), dscale(scale.shape), doffset(scale.shape);
  for_each_index(x.shape, [&](const Index& at) {
    const Index row = of.part(at, true), place = of.part(at, false);
    dx(at) = (h(at) - plain(row) - normal(at) * weighted(row)) / std::sqrt(variance(row) + epsilon);
    dscale(place) += dy(at) * normal(at);
    doffset(place) += dy(at);
  });
  return {dx, dscale, doffset};
}

inline Tensor positive_tensor(Random& random, const Shape& shape) {
  Tensor tensor = Tensor::allocate(DType::float64, shape);
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.writable_data<double>()[i] = std::uniform_real_distribution<double>(0.5, 2)(random);
  return tensor;
}

inline Row normalization_test(bool layers, bool gradient) {
  Row row{std::string(layers ? "layer_norm" : "batch_norm") + (gradient ? "_grad" : ""), {}, {}, 1e-12};
  const std::vector<std::pair<Shape, std::int64_t>> cases = {
      {{4, 3}, -1}, {{5, 2, 3}, 1}, {{2, 3, 2, 2}, layers ? 2 : 1}, {{70, 2}, 1}, {{3, 40}, layers ? 1 : 0}};
  for (const auto& [shape, axis] : cases)
    row.calls.push_back([=](Random& random) {
      Call call{{random_tensor(random, shape)}, {axis, 0.01}};
      const Normal of = normal_of(call, layers);
      call.inputs.push_back(random_tensor(random, of.scale(shape)));
      if (gradient) {
        call.inputs.push_back(random_tensor(random, of.statistics(shape)));
        call.inputs.push_back(positive_tensor(random, of.statistics(shape)));
        call.inputs.push_back(random_tensor(random, shape));
      } else {
        call.inputs.push_back(random_tensor(random, of.scale(shape)));
      }
      return call;
    });
  row.reference = [=](const Call& call) {
    return gradient ? gradient_of_normalized(call, layers) : normalized(call, layers);
  };
  return row;
}

/// Element i is kept where word i of the stream at (key, counter), 24 bits of it, is at least the rate.
inline Row dropout_test() {
  constexpr std::int64_t key = 7, counter = 5;
  Row row{"dropout", {}, {}, 1e-15};
  for (const Shape& shape : {Shape{3, 5}, Shape{}, Shape{2, 0}})
    row.calls.push_back([=](Random& random) {
      return Call{{random_tensor(random, shape)}, {0.3, none(), key, counter}};
    });
  row.reference = [=](const Call& call) {
    Array y(call.inputs[0]);
    for (std::size_t i = 0; i < y.values.size(); ++i) {
      const auto block =
          cpu::philox_block({static_cast<std::uint32_t>(counter + static_cast<std::int64_t>(i / 4)), 0, 0, 0},
                            {static_cast<std::uint32_t>(key), 0});
      const bool kept = static_cast<double>(block[i % 4] >> 8) * 0x1p-24 >= 0.3;
      y.values[i] = kept ? y.values[i] / 0.7 : 0;
    }
    return Arrays{y};
  };
  return row;
}

inline Rows normalization_rows() {
  return {dropout_test(), normalization_test(false, false), normalization_test(false, true),
          normalization_test(true, false), normalization_test(true, true)};
}

}  // namespace tapedeck::testing
