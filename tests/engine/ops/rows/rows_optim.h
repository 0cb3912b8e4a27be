// Test rows of optimisers' steps, dense and of rows, and of norms of several tensors. The references are the
// formulas of the sources, one element after the other.
#pragma once

#include <algorithm>
#include <map>

#include "tests/engine/ops/rows/op_row.h"

namespace tapedeck::testing {

using Doubles = std::vector<double>;

/// Changes a value and its slots by the gradient g; n: the call's numbers.
struct StepReference {
  std::string op;
  std::size_t slot_count;
  Doubles numbers;
  std::function<void(const Doubles& n, double g, Doubles& x)> step;
  std::vector<Attribute> attributes = {};
};

inline double soft(double x, double threshold) {
  return std::copysign(std::max(std::abs(x) - threshold, 0.0), x);
}

inline void adam_reference(const Doubles& n, double g, Doubles& x) {
  x[1] = n[1] * x[1] + (1 - n[1]) * g;
  x[2] = n[2] * x[2] + (1 - n[2]) * g * g;
  if (x.size() > 3) x[3] = std::max(x[2], x[3]);
  x[0] += -n[4] * x[0] - n[0] * x[1] / (std::sqrt(x.back()) + n[3]);
}

/// Slots: [mean], mean square, [momentum]; numbers: rate, rho, [momentum], epsilon.
inline auto rms_prop_reference(bool centered, bool momentum) {
  return [=](const Doubles& n, double g, Doubles& x) {
    const std::size_t square = centered ? 2 : 1;
    if (centered) x[1] += (1 - n[1]) * (g - x[1]);
    x[square] += (1 - n[1]) * (g * g - x[square]);
    const double variance = x[square] - (centered ? x[1] * x[1] : 0);
    double change = n[0] * g / std::sqrt(variance + n.back());
    if (momentum) x.back() = change = n[2] * x.back() + change;
    x[0] -= change;
  };
}

inline void ftrl_reference(const Doubles& n, double g, Doubles& x) {
  const double grown = x[1] + g * g;
  const double sigma = (std::pow(grown, -n[1]) - std::pow(x[1], -n[1])) / n[0];
  x[2] += g + 2 * n[4] * x[0] - sigma * x[0];
  x[0] = std::abs(x[2]) <= n[2]
             ? 0
             : (std::copysign(n[2], x[2]) - x[2]) / (std::pow(grown, -n[1]) / n[0] + 2 * n[3]);
  x[1] = grown;
}

inline std::vector<StepReference> momentum_references() {
  std::vector<StepReference> all;
  for (const bool nesterov : {false, true}) {
    all.push_back({"momentum",
                   1,
                   {0.1, 0.9},
                   [=](const Doubles& n, double g, Doubles& x) {
                     x[1] = n[1] * x[1] + g;
                     x[0] -= n[0] * (nesterov ? g + n[1] * x[1] : x[1]);
                   },
                   {nesterov}});
    all.push_back({"velocity",
                   1,
                   {0.1, 0.9},
                   [=](const Doubles& n, double g, Doubles& x) {
                     x[1] = n[1] * x[1] - n[0] * g;
                     x[0] += nesterov ? n[1] * x[1] - n[0] * g : x[1];
                   },
                   {nesterov}});
  }
  return all;
}

inline std::vector<StepReference> adaptive_references() {
  return {
      {"adagrad",
       1,
       {0.1, 1e-3},
       [](const Doubles& n, double g, Doubles& x) {
         x[1] += g * g;
         x[0] -= n[0] * g / std::sqrt(x[1] + n[1]);
       }},
      {"proximal_adagrad",
       1,
       {0.3, 0.2, 0.1},
       [](const Doubles& n, double g, Doubles& x) {
         x[1] += g * g;
         const double rate = n[0] / std::sqrt(x[1]);
         x[0] = soft(x[0] - rate * g, rate * n[1]) / (1 + rate * n[2]);
       }},
      {"adagrad_da",
       2,
       {0.3, 0.2, 0.1, 4},
       [](const Doubles& n, double g, Doubles& x) {
         x[1] += g;
         x[2] += g * g;
         x[0] = -n[0] * soft(x[1], n[1] * n[3]) / (n[2] * n[3] * n[0] + std::sqrt(x[2]));
       }},
      {"adadelta",
       2,
       {0.7, 0.9, 1e-3},
       [](const Doubles& n, double g, Doubles& x) {
         x[1] += (1 - n[1]) * (g * g - x[1]);
         const double change = std::sqrt((x[2] + n[2]) / (x[1] + n[2])) * g;
         x[2] += (1 - n[1]) * (change * change - x[2]);
         x[0] -= n[0] * change;
       }},
      {"rms_prop", 1, {0.1, 0.9, 1e-3}, rms_prop_reference(false, false)},
      {"rms_prop_momentum", 2, {0.1, 0.9, 0.8, 1e-3}, rms_prop_reference(false, true)},
      {"centered_rms_prop", 2, {0.1, 0.9, 30.0}, rms_prop_reference(true, false)},
      {"centered_rms_prop_momentum", 3, {0.1, 0.9, 0.8, 30.0}, rms_prop_reference(true, true)},
  };
}

inline std::vector<StepReference> moment_references() {
  return {
      {"adam", 2, {0.1, 0.9, 0.999, 1e-3, 0.01}, adam_reference},
      {"adam_amsgrad", 3, {0.1, 0.9, 0.999, 1e-3, 0}, adam_reference},
      {"adamax",
       2,
       {0.1, 0.9, 0.999, 1e-3},
       [](const Doubles& n, double g, Doubles& x) {
         x[1] = n[1] * x[1] + (1 - n[1]) * g;
         x[2] = std::max(n[2] * x[2], std::abs(g));
         x[0] -= n[0] * x[1] / (x[2] + n[3]);
       }},
      {"nadam",
       2,
       {0.1, 0.2, 0.9, 0.999, 0.3, 1e-3},
       [](const Doubles& n, double g, Doubles& x) {
         x[1] = n[2] * x[1] + (1 - n[2]) * g;
         x[2] = n[3] * x[2] + (1 - n[3]) * g * g;
         x[0] -= (n[0] * x[1] + n[1] * g) / (std::sqrt(x[2] / n[4]) + n[5]);
       }},
      {"ftrl", 2, {0.5, -0.3, 0.4, 0.1, 0.2}, ftrl_reference},
      {"ftrl_square_root", 2, {0.5, -0.5, 0.4, 0.1, 0.2}, ftrl_reference},
      {"lion",
       1,
       {0.1, 0.9, 0.99, 0.01},
       [](const Doubles& n, double g, Doubles& x) {
         const double direction = n[1] * x[1] + (1 - n[1]) * g;
         x[0] -= n[3] * x[0] + n[0] * (direction > 0 ? 1 : direction < 0 ? -1 : 0);
         x[1] = n[2] * x[1] + (1 - n[2]) * g;
       }},
      {"gradient_descent", 0, {0.1}, [](const Doubles& n, double g, Doubles& x) { x[0] -= n[0] * g; }},
      {"proximal_gradient_descent",
       0,
       {0.3, 0.2, 0.1},
       [](const Doubles& n, double g, Doubles& x) {
         x[0] = soft(x[0] - n[0] * g, n[0] * n[1]) / (1 + n[0] * n[2]);
       }},
  };
}

/// Value and slots; slots are positive, as sums of squares are.
inline Tensors step_targets(Random& random, const StepReference& reference, const Shape& shape) {
  Tensors inputs{random_tensor(random, shape)};
  for (std::size_t i = 0; i < reference.slot_count; ++i)
    inputs.push_back(ops::add(ops::abs(random_tensor(random, shape)), Tensor::scalar(0.5, DType::float64)));
  return inputs;
}

inline void append_numbers(const StepReference& reference, Tensors& inputs) {
  for (const double number : reference.numbers) inputs.push_back(Tensor::scalar(number, DType::float64));
}

inline Arrays step_arrays(const Call& call, const StepReference& reference) {
  Arrays targets;
  for (std::size_t i = 0; i <= reference.slot_count; ++i) targets.emplace_back(call.inputs[i]);
  return targets;
}

inline void reference_step(const StepReference& reference, const Doubles& numbers, double g, Arrays& targets,
                           std::size_t place) {
  Doubles x;
  for (const Array& target : targets) x.push_back(target.values[place]);
  reference.step(numbers, g, x);
  for (std::size_t k = 0; k < x.size(); ++k) targets[k].values[place] = x[k];
}

inline Doubles numbers_behind(const Call& call, std::size_t first) {
  Doubles numbers;
  for (std::size_t i = first; i < call.inputs.size(); ++i) numbers.push_back(call.inputs[i].item());
  return numbers;
}

inline Row dense_step_row(const StepReference& reference) {
  Row row{reference.op, {}, [=](const Call& call) {
            Arrays targets = step_arrays(call, reference);
            const Doubles gradient = call.inputs[reference.slot_count + 1].to_vector();
            const Doubles numbers = numbers_behind(call, reference.slot_count + 2);
            for (std::size_t i = 0; i < gradient.size(); ++i)
              reference_step(reference, numbers, gradient[i], targets, i);
            return targets;
          }};
  row.tolerance = 1e-12;
  for (const Shape& shape : std::vector<Shape>{{}, {37}, {3, 4}, {2, 0, 3}, {1, 2, 1, 3}})
    row.calls.push_back([=](Random& random) {
      Call call{step_targets(random, reference, shape), reference.attributes};
      call.inputs.push_back(random_tensor(random, shape));
      append_numbers(reference, call.inputs);
      return call;
    });
  return row;
}

inline Row sparse_step_row(const StepReference& reference) {
  Row row{"sparse_" + reference.op, {}, [=](const Call& call) {
            Arrays targets = step_arrays(call, reference);
            const Doubles gradient = call.inputs[reference.slot_count + 1].to_vector();
            const Doubles rows = call.inputs[reference.slot_count + 2].to_vector();
            const Doubles numbers = numbers_behind(call, reference.slot_count + 3);
            const std::size_t width = rows.empty() ? 0 : gradient.size() / rows.size();
            std::map<std::size_t, double> sums;
            for (std::size_t i = 0; i < gradient.size(); ++i)
              sums[static_cast<std::size_t>(rows[i / width]) * width + i % width] += gradient[i];
            for (const auto& [place, g] : sums) reference_step(reference, numbers, g, targets, place);
            return targets;
          }};
  row.tolerance = 1e-12;
  const std::vector<std::pair<Shape, Tensor>> cases = {{{6, 3}, integers({4, 1, 4, 0}, {4})},
                                                       {{5}, integers({0, 2, 3}, {3})},
                                                       {{4, 1, 2}, integers({3, 3, 1, 3}, {2, 2})},
                                                       {{4, 2}, integers({}, {0})}};
  for (const auto& [shape, indices] : cases)
    row.calls.push_back([=](Random& random) {
      Call call{step_targets(random, reference, shape), reference.attributes};
      Shape rows = indices.shape();
      for (int axis = 1; axis < shape.rank(); ++axis) rows.push_back(shape[axis]);
      call.inputs.push_back(random_tensor(random, rows));
      call.inputs.push_back(indices);
      append_numbers(reference, call.inputs);
      return call;
    });
  return row;
}

inline std::vector<StepReference> step_references() {
  std::vector<StepReference> all;
  for (const auto& family : {momentum_references(), adaptive_references(), moment_references()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

/// A reference of two forms, by the attribute: the rows of both become one.
inline void merge_row(Rows& rows, const Row& row) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Row& other) { return other.op == row.op; });
  if (found == rows.end()) return rows.push_back(row);
  const auto first = found->reference, second = row.reference;
  found->calls.insert(found->calls.end(), row.calls.begin(), row.calls.end());
  found->reference = [=](const Call& call) {
    return std::get<bool>(call.attributes[0]) ? second(call) : first(call);
  };
}

inline Rows norm_rows() {
  const auto lists = [](bool scaled) {
    std::vector<MakeCall> calls;
    for (const std::vector<Shape>& shapes :
         std::vector<std::vector<Shape>>{{{3}}, {{2, 3}, {}, {4}}, {{0}, {2, 1, 2}}, {{5}, {2}, {3, 3}, {1}}})
      calls.push_back([=](Random& random) {
        Call call;
        if (scaled) call.inputs.push_back(random_tensor(random, {}));
        for (const Shape& shape : shapes) call.inputs.push_back(random_tensor(random, shape));
        return call;
      });
    return calls;
  };
  return {{"global_norm", lists(false),
           [](const Call& call) {
             Array norm(Shape{});
             for (const Tensor& input : call.inputs)
               for (const double value : input.to_vector()) norm.values[0] += value * value;
             norm.values[0] = std::sqrt(norm.values[0]);
             return Arrays{norm};
           }},
          {"scale_all", lists(true), [](const Call& call) {
             Arrays scaled;
             for (std::size_t i = 1; i < call.inputs.size(); ++i) {
               scaled.emplace_back(call.inputs[i]);
               for (double& value : scaled.back().values) value *= call.inputs[0].item();
             }
             return scaled;
           }}};
}

inline Rows optimizer_rows() {
  Rows rows = norm_rows();
  for (const StepReference& reference : step_references()) {
    merge_row(rows, dense_step_row(reference));
    merge_row(rows, sparse_step_row(reference));
  }
  return rows;
}

}  // namespace tapedeck::testing
