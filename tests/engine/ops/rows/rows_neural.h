// Test rows of convolutions, pooling, and losses of independent labels.
#pragma once

#include <algorithm>

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

/// One axis of windows: input extent, window, stride, dilation, padding before, and how many windows.
struct Axis {
  std::int64_t input, window, stride, dilation, before, count;
};

/// Two images of 2 or 4 channels; all in NHWC.
struct SlidingCase {
  std::string padding;
  Axis height, width;
  ops::Integers strides, explicit_paddings, dilations;
};

inline std::vector<SlidingCase> sliding_cases() {
  return {{"VALID", {4, 2, 1, 1, 0, 3}, {5, 3, 1, 1, 0, 3}, {1}, {}, {1}},
          {"SAME", {4, 3, 2, 1, 0, 2}, {5, 2, 1, 1, 0, 5}, {1, 2, 1, 1}, {}, {1, 1}},
          {"SAME", {5, 2, 1, 2, 1, 5}, {4, 3, 1, 1, 1, 4}, {1}, {}, {2, 1}},
          {"VALID", {6, 1, 2, 1, 0, 3}, {5, 2, 3, 1, 0, 2}, {2, 3}, {}, {1}},
          {"EXPLICIT", {3, 3, 2, 1, 2, 2}, {4, 2, 1, 1, 0, 4}, {2, 1}, {0, 0, 2, 0, 0, 1, 0, 0}, {1}}};
}

inline std::vector<Attribute> attributes_of(const SlidingCase& s, const std::string& format = "NHWC") {
  ops::Integers paddings = s.explicit_paddings;
  if (format == "NCHW" && !paddings.empty())
    paddings = {0, 0, 0, 0, paddings[2], paddings[3], paddings[4], paddings[5]};
  ops::Integers strides = s.strides;
  if (format == "NCHW" && strides.size() == 4) strides = {1, 1, s.strides[1], s.strides[2]};
  return {strides, s.padding, paddings, format, s.dilations};
}

/// Calls f(window row, window column, row, column in the window, row, column in the image).
template <class F>
void for_each_tap(const SlidingCase& s, F&& f) {
  for (std::int64_t i = 0; i < s.height.count; ++i)
    for (std::int64_t j = 0; j < s.width.count; ++j)
      for (std::int64_t a = 0; a < s.height.window; ++a)
        for (std::int64_t b = 0; b < s.width.window; ++b) {
          const std::int64_t y = i * s.height.stride + a * s.height.dilation - s.height.before;
          const std::int64_t x = j * s.width.stride + b * s.width.dilation - s.width.before;
          if (y >= 0 && y < s.height.input && x >= 0 && x < s.width.input) f(i, j, a, b, y, x);
        }
}

/// Which of the three operands is the result: that of index 2 is the windows' output.
inline Row convolution_test(const std::string& op, bool depthwise, int result) {
  Row row{op, {}, {}, 1e-12};
  const std::int64_t channels = 4;
  const auto cases = std::make_shared<std::vector<SlidingCase>>(sliding_cases());
  const auto shapes = [=](const SlidingCase& s, std::int64_t groups) {
    const Shape filter = depthwise ? Shape{s.height.window, s.width.window, channels, 2}
                                   : Shape{s.height.window, s.width.window, channels / groups, 6};
    return std::vector<Shape>{{2, s.height.input, s.width.input, channels},
                              filter,
                              {2, s.height.count, s.width.count, depthwise ? 2 * channels : 6}};
  };
  for (std::size_t k = 0; k < cases->size(); ++k)
    row.calls.push_back([=](Random& random) {
      const std::vector<Shape> all = shapes((*cases)[k], k == 1 ? 2 : 1);
      Call call;
      for (int i = 0; i < 3; ++i)
        if (i != result) call.inputs.push_back(random_tensor(random, all[static_cast<std::size_t>(i)]));
      call.attributes = attributes_of((*cases)[k]);
      const Shape& shape = all[static_cast<std::size_t>(result)];
      if (result != 2) call.attributes.push_back(ops::Integers(shape.begin(), shape.end()));
      call.expected = shape;
      return call;
    });
  row.reference = [=](const Call& call) {
    Array arrays[3] = {Array(Shape{}), Array(Shape{}), Array(Shape{})};
    int next = 0;
    for (int i = 0; i < 3; ++i)
      arrays[i] = i == result ? Array(call.expected) : Array(call.inputs[static_cast<std::size_t>(next++)]);
    auto& [image, filter, out] = arrays;
    const auto same = [&](const SlidingCase& s) {
      return s.padding == std::get<std::string>(call.attributes[1]) && s.height.count == out.shape[1] &&
             s.width.count == out.shape[2] && s.height.input == image.shape[1] &&
             s.width.window == filter.shape[1];
    };
    const SlidingCase& s = *std::find_if(cases->begin(), cases->end(), same);
    const std::int64_t outputs = out.shape[3], inputs = depthwise ? 1 : filter.shape[2];
    const std::int64_t groups = channels / inputs;
    for_each_tap(s, [&](auto i, auto j, auto a, auto b, auto y, auto x) {
      for (std::int64_t n = 0; n < 2; ++n)
        for (std::int64_t o = 0; o < outputs; ++o)
          for (std::int64_t c = 0; c < inputs; ++c) {
            const std::int64_t channel = o / (outputs / groups) * inputs + c;
            double& pixel = image({n, y, x, channel});
            double& weight = depthwise ? filter({a, b, channel, o % 2}) : filter({a, b, c, o});
            double& value = out({n, i, j, o});
            if (result == 0) pixel += weight * value;
            if (result == 1) weight += pixel * value;
            if (result == 2) value += pixel * weight;
          }
    });
    return Arrays{arrays[result]};
  };
  return row;
}

using PoolReference = std::function<Array(const SlidingCase&, const Call&)>;

/// `inputs(case)`: the shapes of the op's inputs; `more`: whether the op takes orig_input_shape.
inline Row pooling_test(const std::string& op, std::function<std::vector<Shape>(const SlidingCase&)> inputs,
                        bool more, PoolReference reference) {
  Row row{op, {}, {}, 1e-13};
  std::vector<SlidingCase> cases = sliding_cases();
  std::erase_if(cases, [](const SlidingCase& s) { return s.height.dilation != 1; });
  for (const SlidingCase& s : cases)
    row.calls.push_back([=](Random& random) {
      Call call;
      for (const Shape& shape : inputs(s)) {
        // Values far apart, so that small steps change no window's largest one.
        std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.05 * static_cast<double>(i) - 3.01;
        std::shuffle(values.begin(), values.end(), random);
        call.inputs.push_back(Tensor::from_values<double>(values, shape));
      }
      call.attributes = attributes_of(s);
      call.attributes.push_back(list({s.height.window, s.width.window}));
      if (more) call.attributes.push_back(list({2, s.height.input, s.width.input, 2}));
      return call;
    });
  row.reference = [=](const Call& call) {
    for (const SlidingCase& s : cases)
      if (attributes_of(s)[0] == call.attributes[0] && s.padding == std::get<std::string>(call.attributes[1]))
        return Arrays{reference(s, call)};
    return Arrays{};
  };
  return row;
}

inline Shape pool_input(const SlidingCase& s) {
  return {2, s.height.input, s.width.input, 2};
}
inline Shape pool_output(const SlidingCase& s) {
  return {2, s.height.count, s.width.count, 2};
}

/// Calls f(index of the window, indices of its values).
template <class F>
void for_each_window(const SlidingCase& s, F&& f) {
  for_each_index(pool_output(s), [&](const std::vector<std::int64_t>& at) {
    std::vector<std::vector<std::int64_t>> taps;
    for_each_tap(s, [&](auto i, auto j, auto, auto, auto y, auto x) {
      if (i == at[1] && j == at[2]) taps.push_back({at[0], y, x, at[3]});
    });
    f(at, taps);
  });
}
template <class Taps>
auto largest_of(const Array& x, const Taps& taps) {
  return *std::max_element(taps.begin(), taps.end(),
                           [&](const auto& a, const auto& b) { return x(a) < x(b); });
}

inline Rows image_rows() {
  const auto input = [](const SlidingCase& s) { return std::vector<Shape>{pool_input(s)}; };
  const auto input_and_output = [](const SlidingCase& s) {
    return std::vector<Shape>{pool_input(s), pool_output(s)};
  };
  const auto input_twice = [](const SlidingCase& s) {
    return std::vector<Shape>{pool_input(s), pool_input(s)};
  };
  const auto output = [](const SlidingCase& s) { return std::vector<Shape>{pool_output(s)}; };
  return {
      convolution_test("conv2d", false, 2),
      convolution_test("conv2d_backprop_input", false, 0),
      convolution_test("conv2d_backprop_filter", false, 1),
      convolution_test("depthwise_conv2d_native", true, 2),
      convolution_test("depthwise_conv2d_native_backprop_input", true, 0),
      convolution_test("depthwise_conv2d_native_backprop_filter", true, 1),
      pooling_test("max_pool", input, false,
                   [](const SlidingCase& s, const Call& call) {
                     const Array x(call.inputs[0]);
                     Array out(pool_output(s));
                     for_each_window(
                         s, [&](const auto& at, const auto& taps) { out(at) = x(largest_of(x, taps)); });
                     return out;
                   }),
      pooling_test("max_pool_grad", input_and_output, false,
                   [](const SlidingCase& s, const Call& call) {
                     const Array x(call.inputs[0]), g(call.inputs[1]);
                     Array out(pool_input(s));
                     for_each_window(
                         s, [&](const auto& at, const auto& taps) { out(largest_of(x, taps)) += g(at); });
                     return out;
                   }),
      pooling_test("max_pool_grad_grad", input_twice, false,
                   [](const SlidingCase& s, const Call& call) {
                     const Array x(call.inputs[0]), g(call.inputs[1]);
                     Array out(pool_output(s));
                     for_each_window(
                         s, [&](const auto& at, const auto& taps) { out(at) = g(largest_of(x, taps)); });
                     return out;
                   }),
      pooling_test("max_pool_argmax", input, false,
                   [](const SlidingCase& s, const Call& call) {
                     const Array x(call.inputs[0]);
                     Array out(pool_output(s));
                     for_each_window(s, [&](const auto& at, const auto& taps) {
                       const auto best = largest_of(x, taps);
                       out(at) = static_cast<double>((best[1] * s.width.input + best[2]) * 2 + best[3]);
                     });
                     return out;
                   }),
      pooling_test("avg_pool", input, false,
                   [](const SlidingCase& s, const Call& call) {
                     const Array x(call.inputs[0]);
                     Array out(pool_output(s));
                     for_each_window(s, [&](const auto& at, const auto& taps) {
                       for (const auto& tap : taps) out(at) += x(tap) / static_cast<double>(taps.size());
                     });
                     return out;
                   }),
      pooling_test("avg_pool_grad", output, true,
                   [](const SlidingCase& s, const Call& call) {
                     const Array g(call.inputs[0]);
                     Array out(pool_input(s));
                     for_each_window(s, [&](const auto& at, const auto& taps) {
                       for (const auto& tap : taps) out(tap) += g(at) / static_cast<double>(taps.size());
                     });
                     return out;
                   }),
  };
}

inline Rows loss_rows() {
  // Written with long double and without the forms that the kernels use; |x| is small enough for that.
  const auto log_sigmoid = [](double x) { return -std::log1p(std::exp(-static_cast<long double>(x))); };
  const auto elementwise = [](const Call& call, auto f) {
    const Array z(call.inputs[0]), x(call.inputs[1]);
    Array out(x.shape);
    for_each_index(x.shape, [&](const auto& at) {
      out(at) = static_cast<double>(
          f(z(at), x(at), call.inputs.size() > 2 ? Array(call.inputs[2]).broadcast(at) : 1.0));
    });
    return Arrays{out};
  };
  Rows rows;
  Row sigmoid{"sigmoid_cross_entropy_with_logits", {}, {}, 1e-13};
  Row weighted{"weighted_cross_entropy_with_logits", {}, {}, 1e-13};
  for (const Shape& shape : std::vector<Shape>{{}, {3, 4}, {0, 2}, {2, 1, 3}}) {
    sigmoid.calls.push_back([=](Random& random) {
      return Call{{random_tensor(random, shape, 0, 1), random_tensor(random, shape, -8, 8)}};
    });
    for (const Shape& weight : std::vector<Shape>{{}, shape})
      weighted.calls.push_back([=](Random& random) {
        return Call{{random_tensor(random, shape, 0, 1), random_tensor(random, shape, -8, 8),
                     random_tensor(random, weight, 0.5, 3)}};
      });
  }
  sigmoid.reference = [=](const Call& call) {
    return elementwise(
        call, [&](double z, double x, double) { return -z * log_sigmoid(x) - (1 - z) * log_sigmoid(-x); });
  };
  weighted.reference = [=](const Call& call) {
    return elementwise(call, [&](double z, double x, double q) {
      return -q * z * log_sigmoid(x) - (1 - z) * log_sigmoid(-x);
    });
  };
  rows.push_back(sigmoid);
  rows.push_back(weighted);
  Row squared{"mean_squared_error", {}, [](const Call& call) {
                const std::vector<double> labels = call.inputs[0].to_vector(),
                                          predictions = call.inputs[1].to_vector();
                Array out(Shape{});
                for (std::size_t i = 0; i < labels.size(); ++i)
                  out.values[0] += (predictions[i] - labels[i]) * (predictions[i] - labels[i]);
                out.values[0] /= static_cast<double>(labels.size());
                return Arrays{out};
              }};
  for (const Shape& shape : std::vector<Shape>{{}, {7}, {3, 4}, {2, 1, 2, 1, 3, 2}})
    squared.calls.push_back([=](Random& random) {
      return Call{{random_tensor(random, shape), random_tensor(random, shape)}};
    });
  rows.push_back(squared);
  Row bias{"bias_add", {}, {}, 0};
  const std::vector<std::pair<Shape, std::string>> cases = {
      {{3, 4}, "NHWC"}, {{2, 3, 2, 4}, "NHWC"}, {{2, 4, 3, 2}, "NCHW"}, {{0, 4}, "NHWC"}};
  for (const auto& [shape, format] : cases)
    bias.calls.push_back([shape = shape, format = format](Random& random) {
      return Call{{random_tensor(random, shape), random_tensor(random, {4})}, {format}};
    });
  bias.reference = [](const Call& call) {
    const Array value(call.inputs[0]), bias(call.inputs[1]);
    const bool last = std::get<std::string>(call.attributes[0]) == "NHWC";
    Array out(value.shape);
    for_each_index(out.shape,
                   [&](const auto& at) { out(at) = value(at) + bias({last ? at.back() : at[1]}); });
    return Arrays{out};
  };
  rows.push_back(bias);
  rows.push_back(
      {"in_top_k",
       {[](Random&) {
          return Call{{Tensor::from_values<double>(std::vector<double>{1, 5, 3, 2, 2, 2, 0, 9, 4}, {3, 3}),
                       integers({2, 0, 0}, {3})},
                      {std::int64_t{2}}};
        },
        [](Random&) {
          return Call{{Tensor::from_values<double>(std::vector<double>{1, INFINITY, 3, 2, 1, 0}, {2, 3}),
                       integers({1, 7}, {2})},
                      {std::int64_t{3}}};
        }},
       [](const Call& call) {
         Array out(call.inputs[1].shape());
         if (out.values.size() == 3) out.values = {1, 1, 0};  // the others: ∞, and no class
         return Arrays{out};
       },
       0});
  return rows;
}

inline Rows neural_rows() {
  Rows rows = image_rows();
  for (const Row& row : loss_rows()) rows.push_back(row);
  return rows;
}

}  // namespace tapedeck::testing
