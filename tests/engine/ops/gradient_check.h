// Gradients of first and second order, and products of forward mode, against central finite differences, in
// float64.
#pragma once

#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include "engine/ops/core/ops.h"
#include "engine/tape/forward.h"
#include "engine/tape/tape.h"

namespace tapedeck::testing {

using TensorsFunction = std::function<Tensors(std::span<const Tensor>)>;
using Random = std::mt19937_64;

inline std::span<const Tensor> span_of(const Tensors& tensors) {
  return {tensors.data(), tensors.size()};
}

inline Tensor random_tensor(Random& random, const Shape& shape, double low = -2.0, double high = 2.0) {
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& value : values) value = uniform(random);
  return Tensor::from_values<double>(values, shape);
}

/// The tensor with `change` added to element `i`.
inline Tensor nudged(const Tensor& tensor, std::size_t i, double change) {
  std::vector<double> values = tensor.to_vector();
  values[i] += change;
  return Tensor::from_values<double>(values, tensor.shape());
}

/// A weight of 0 excludes an element, even if it is not finite.
inline double weighted_sum(const Tensors& values, const Tensors& weights) {
  double sum = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::vector<double> v = values[k].to_vector();
    const std::vector<double> w = weights[k].to_vector();
    for (std::size_t i = 0; i < v.size(); ++i)
      if (w[i] != 0) sum += v[i] * w[i];
  }
  return sum;
}

/// The same for the magnitudes of all terms: rounding errors of the sum and its terms are in the last places
/// of this.
inline double weighted_size(const Tensors& values, const Tensors& weights) {
  double size = 0.0;
  for (std::size_t k = 0; k < values.size(); ++k) {
    const std::vector<double> v = values[k].to_vector();
    const std::vector<double> w = weights[k].to_vector();
    for (std::size_t i = 0; i < v.size(); ++i)
      if (w[i] != 0) size += std::abs(v[i] * w[i]);
  }
  return size;
}

/// Gradients of Σ weights·f(inputs) with respect to the inputs; zeros if there is none.
inline Tensors tape_gradients(const TensorsFunction& f, const Tensors& inputs, const Tensors& weights) {
  Tape tape;
  tape.start();
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensors outputs = f(span_of(inputs));
  tape.stop();
  return tape.gradient(span_of(outputs), span_of(inputs), span_of(weights), Unconnected::zero);
}

/// Compares `gradients` of F at `point` with central differences. `size`: of F's terms there, whose rounding
/// the differences divide by the step. Returns what differs, or empty.
inline std::string compare_with_differences(const std::function<double(const Tensors&)>& F,
                                            const Tensors& point, const Tensors& gradients, double step,
                                            double tolerance, double size) {
  constexpr double places = 8;
  const double rounding = places * std::numeric_limits<double>::epsilon() * size / step;
  for (std::size_t k = 0; k < point.size(); ++k) {
    if (gradients[k].shape() != point[k].shape())
      return "the gradient of input " + std::to_string(k) + " has shape " + to_string(gradients[k].shape());
    const std::vector<double> values = gradients[k].to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) {
      Tensors above = point;
      Tensors below = point;
      above[k] = nudged(point[k], i, step);
      below[k] = nudged(point[k], i, -step);
      const double difference = (F(above) - F(below)) / (2 * step);
      if (!(std::abs(difference - values[i]) <= tolerance * (1 + std::abs(difference)) + rounding)) {
        std::ostringstream text;
        text.precision(12);
        text << "input " << k << ", element " << i << ": the tape says " << values[i] << ", differences say "
             << difference;
        return text.str();
      }
    }
  }
  return {};
}

/// Random weights of a tensor's elements; 0 for non-finite elements, which have no differences.
inline Tensor random_weights(Random& random, const Tensor& tensor) {
  std::vector<double> weights = random_tensor(random, tensor.shape(), -1.0, 1.0).to_vector();
  const std::vector<double> values = tensor.to_vector();
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (!std::isfinite(values[i])) weights[i] = 0;
  return Tensor::from_values<double>(weights, tensor.shape());
}

/// Checks the gradients of f (float64 tensors in and out) at `inputs`: the first derivative with random
/// weights of the outputs, and the second one with respect to the inputs and to those weights. Returns what
/// differs, or nothing.
inline std::string check_gradients(const TensorsFunction& f, const Tensors& inputs, Random& random) {
  const Tensors outputs = f(span_of(inputs));
  Tensors weights;
  for (const Tensor& output : outputs) weights.push_back(random_weights(random, output));
  const Tensors first = tape_gradients(f, inputs, weights);
  std::string difference =
      compare_with_differences([&](const Tensors& point) { return weighted_sum(f(span_of(point)), weights); },
                               inputs, first, 1e-6, 2e-7, weighted_size(outputs, weights));
  if (!difference.empty()) return "first order, " + difference;

  Tensors directions;
  for (const Tensor& input : inputs) directions.push_back(random_tensor(random, input.shape(), -1.0, 1.0));
  Tensors point = inputs;
  point.insert(point.end(), weights.begin(), weights.end());
  const auto split_gradients = [&](std::span<const Tensor> all) {
    const Tensors x(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(inputs.size()));
    const Tensors w(all.begin() + static_cast<std::ptrdiff_t>(inputs.size()), all.end());
    return tape_gradients(f, x, w);
  };
  const Tensors second = tape_gradients(split_gradients, point, directions);
  difference = compare_with_differences(
      [&](const Tensors& at) { return weighted_sum(split_gradients(span_of(at)), directions); }, point,
      second, 1e-6, 2e-6, weighted_size(split_gradients(span_of(point)), directions));
  return difference.empty() ? difference : "second order, " + difference;
}

/// Forward mode: the Jacobians of f's outputs times `tangents`; zeros where an output does not depend on the
/// inputs.
inline Tensors tape_products(const TensorsFunction& f, const Tensors& inputs, const Tensors& tangents) {
  Tape tape(true, false);
  tape.start();
  for (const Tensor& input : inputs) tape.watch(input);
  const Tensors outputs = f(span_of(inputs));
  tape.stop();
  std::vector<Tape::Source> primals;
  for (const Tensor& input : inputs) primals.push_back({input, {}});
  Tensors products;
  for (const Tensor& output : outputs) {
    const Tensor product = forward_product(tape, output, primals, span_of(tangents));
    products.push_back(product ? product : ops::zeros_like(output));
  }
  return products;
}

/// The inputs, each moved `step` times its tangent.
inline Tensors moved(const Tensors& inputs, const Tensors& tangents, double step) {
  Tensors result;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    std::vector<double> values = inputs[k].to_vector();
    const std::vector<double> tangent = tangents[k].to_vector();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] += step * tangent[i];
    result.push_back(Tensor::from_values<double>(values, inputs[k].shape()));
  }
  return result;
}

/// u·(J·v) from forward mode and (Jᵀ·u)·v from reverse mode are one number. Returns what differs, or empty.
inline std::string compare_with_gradients(const TensorsFunction& f, const Tensors& inputs,
                                          const Tensors& tangents, const Tensors& products,
                                          const Tensors& weights) {
  const double forward = weighted_sum(products, weights);
  const double reverse = weighted_sum(tape_gradients(f, inputs, weights), tangents);
  if (std::abs(forward - reverse) <= 1e-9 * (1 + std::abs(reverse))) return {};
  std::ostringstream text;
  text.precision(12);
  text << "weighted, forward mode says " << forward << ", reverse mode says " << reverse;
  return text.str();
}

/// Checks forward mode of f (float64 tensors in and out) at `inputs`, along random tangents: against reverse
/// mode, and, with `differences`, against central differences. Returns what differs, or empty.
inline std::string check_products(const TensorsFunction& f, const Tensors& inputs, bool differences,
                                  Random& random) {
  constexpr double step = 1e-6, tolerance = 1e-6;
  const Tensors outputs = f(span_of(inputs));
  Tensors tangents, weights;
  for (const Tensor& input : inputs) tangents.push_back(random_tensor(random, input.shape(), -1.0, 1.0));
  for (const Tensor& output : outputs) weights.push_back(random_weights(random, output));
  const Tensors products = tape_products(f, inputs, tangents);
  for (std::size_t k = 0; k < outputs.size(); ++k)
    if (products[k].shape() != outputs[k].shape())
      return "the product of output " + std::to_string(k) + " has shape " + to_string(products[k].shape());
  const std::string difference = compare_with_gradients(f, inputs, tangents, products, weights);
  if (!difference.empty() || !differences) return difference;
  const Tensors above = f(span_of(moved(inputs, tangents, step)));
  const Tensors below = f(span_of(moved(inputs, tangents, -step)));
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    const std::vector<double> product = products[k].to_vector(), high = above[k].to_vector(),
                              low = below[k].to_vector();
    for (std::size_t i = 0; i < product.size(); ++i) {
      const double expected = (high[i] - low[i]) / (2 * step);
      if (std::abs(product[i] - expected) <= tolerance * (1 + std::abs(expected))) continue;
      std::ostringstream text;
      text.precision(12);
      text << "output " << k << ", element " << i << ": forward mode says " << product[i]
           << ", differences say " << expected;
      return text.str();
    }
  }
  return {};
}

}  // namespace tapedeck::testing
