#include "engine/tape/gradients.h"

#include <algorithm>

#include "engine/ops/core/core_ops.h"

namespace tapedeck {
namespace {

/// The requested positions, or all.
std::vector<int> checked_positions(const std::vector<int>& params, std::size_t argument_count) {
  std::vector<int> positions = params;
  if (positions.empty())
    for (std::size_t i = 0; i < argument_count; ++i) positions.push_back(static_cast<int>(i));
  for (const int position : positions)
    if (position < 0 || static_cast<std::size_t>(position) >= argument_count)
      fail<InvalidArgumentError>("gradients_function: parameter ", position,
                                 " is out of range: the function was called with ", argument_count,
                                 " arguments");
  return positions;
}

/// One tensor at two positions would get both positions' gradients at each.
void make_distinct(Tensors& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i)
    if (std::any_of(arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(i),
                    [&](const Tensor& other) { return other.same_body(arguments[i]); }))
      arguments[i] = detail::identity(arguments[i]);
}

std::pair<Tensor, Tensors> differentiate(const TensorFunction& f, const std::vector<int>& params,
                                         std::span<const Tensor> given) {
  const std::vector<int> positions = checked_positions(params, given.size());
  Tensors arguments(given.begin(), given.end());
  make_distinct(arguments);
  Tape tape(false, false);
  tape.start();
  Tensors sources;
  for (const int position : positions) {
    sources.push_back(arguments[static_cast<std::size_t>(position)]);
    tape.watch(sources.back());
  }
  Tensor value = f(arguments);
  tape.stop();
  if (!value) fail<InvalidArgumentError>("gradients_function: the function returned no tensor");
  Tensors gradients = tape.gradient({&value, 1}, std::span<const Tensor>(sources));
  return {std::move(value), std::move(gradients)};
}

}  // namespace

GradientsFunction gradients_function(TensorFunction f, std::vector<int> params) {
  return [f = std::move(f), params = std::move(params)](std::span<const Tensor> arguments) {
    return differentiate(f, params, arguments).second;
  };
}

std::function<std::pair<Tensor, Tensors>(std::span<const Tensor>)> value_and_gradients_function(
    TensorFunction f, std::vector<int> params) {
  return [f = std::move(f), params = std::move(params)](std::span<const Tensor> arguments) {
    return differentiate(f, params, arguments);
  };
}

std::function<std::pair<Tensor, VariableGradients>()> implicit_value_and_gradients(
    std::function<Tensor()> f) {
  return [f = std::move(f)] {
    Tape tape;
    tape.start();
    Tensor value = f();
    tape.stop();
    if (!value) fail<InvalidArgumentError>("implicit_gradients: the function returned no tensor");
    const std::vector<Variable> variables = tape.watched_variables();
    if (variables.empty())
      fail<InvalidArgumentError>("implicit_gradients: the function used no trainable variable");
    Tensors gradients = tape.gradient({&value, 1}, std::span<const Variable>(variables));
    VariableGradients pairs;
    for (std::size_t i = 0; i < variables.size(); ++i)
      pairs.emplace_back(std::move(gradients[i]), variables[i]);
    return std::pair(std::move(value), std::move(pairs));
  };
}

std::function<VariableGradients()> implicit_gradients(std::function<Tensor()> f) {
  return [run = implicit_value_and_gradients(std::move(f))] { return run().second; };
}

}  // namespace tapedeck
