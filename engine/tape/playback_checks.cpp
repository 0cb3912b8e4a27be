#include "engine/tape/playback_checks.h"

#include "engine/ops/core/floating.h"
#include "engine/ops/elementwise/complex.h"
#include "engine/tensor/unknown_shape.h"

namespace tapedeck::detail {
namespace {

/// "custom gradient of noisy_square", "VJP of matmul".
std::string title(const Node& node) {
  return node.custom ? "custom gradient of " + node.custom->name : "VJP of " + node.op->name;
}

}  // namespace

void check_not_used_up(const Tape::State& tape) {
  if (tape.used_up)
    fail<FailedPreconditionError>(
        "A non-persistent GradientTape can only be used to compute one set of gradients; "
        "GradientTape(persistent=True) keeps its records for more");
}

void check_request(const GradientRequest& request) {
  const auto& [targets, sources, output_gradients, unconnected, rows] = request;
  for (std::size_t i = 0; i < targets.size(); ++i)
    if (!targets[i]) fail<InvalidArgumentError>("gradient: target ", i, " is undefined");
  for (std::size_t i = 0; i < sources.size(); ++i)
    if (!sources[i].tensor && !sources[i].variable)
      fail<InvalidArgumentError>("gradient: source ", i, " is undefined");
  if (output_gradients.empty()) return;
  if (output_gradients.size() != targets.size())
    fail<InvalidArgumentError>("gradient: ", output_gradients.size(), " output gradients were given for ",
                               targets.size(), " targets");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const Tensor& given = output_gradients[i];
    if (!given) continue;
    if (!is_compatible(given.shape(), unknown_of(given), targets[i].shape(), unknown_of(targets[i])))
      fail<InvalidArgumentError>("gradient: output gradient ", i, " has shape ", shape_text(given),
                                 ", its target has shape ", shape_text(targets[i]));
    if (given.dtype() != targets[i].dtype())
      fail<InvalidArgumentError>("gradient: output gradient ", i, " has dtype ", dtype_name(given.dtype()),
                                 ", its target has dtype ", dtype_name(targets[i].dtype()));
  }
}

void check_gradients(const Node& node, std::span<const bool> wanted, std::span<const Tensor> gradients) {
  if (gradients.size() != node.inputs.size())
    fail<InvalidArgumentError>(title(node), ": returned ", gradients.size(), " gradients for ",
                               node.inputs.size(), " arguments");
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!wanted[i] || !gradients[i]) continue;
    const Tensor &gradient = gradients[i], &input = node.inputs[i];
    if (gradient.shape() != input.shape())
      fail<InvalidArgumentError>(title(node), ": the gradient of argument ", i, " has shape ",
                                 to_string(gradient.shape()), ", expected the argument's shape ",
                                 to_string(input.shape()));
    if (gradient.dtype() != input.dtype() && !interchangeable(gradient.dtype(), input.dtype()))
      fail<InvalidArgumentError>(title(node), ": the gradient of argument ", i, " has dtype ",
                                 dtype_name(gradient.dtype()), ", expected the argument's dtype ",
                                 dtype_name(input.dtype()));
  }
}

}  // namespace tapedeck::detail
