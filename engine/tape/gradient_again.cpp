#include "engine/ops/core/gradient_again.h"

#include "engine/ops/core/ops.h"
#include "engine/tape/tape.h"

namespace tapedeck::ops {
namespace {

/// The same values as separate tensors: a tensor that is two inputs gets a gradient for each.
Tensors distinct(std::span<const Tensor> tensors) {
  Tensors result;
  for (const Tensor& tensor : tensors) result.push_back(identity(tensor));
  return result;
}

}  // namespace

Tensors gradients_of_gradients(const GradientCall& call, std::span<const Tensor> cotangents) {
  Tensors sources = distinct(call.inputs);
  const Tensors weights = distinct(call.cotangents);
  Tape outer(false, false);
  outer.start();
  for (const Tensor& source : sources) outer.watch(source);
  for (const Tensor& weight : weights) outer.watch(weight);
  Tape inner(false, false);
  inner.start();
  for (const Tensor& source : sources) inner.watch(source);
  const Tensors outputs = call.function(sources);
  inner.stop();
  Tensors targets, wanted, gradients, given;
  for (const std::int64_t k : call.given) targets.push_back(outputs[static_cast<std::size_t>(k)]);
  for (const std::int64_t k : call.wanted) wanted.push_back(sources[static_cast<std::size_t>(k)]);
  const Tensors first = inner.gradient(targets, std::span<const Tensor>(wanted), weights, Unconnected::zero);
  outer.stop();
  for (std::size_t k = 0; k < first.size(); ++k)
    if (cotangents[k]) {
      gradients.push_back(first[k]);
      given.push_back(cotangents[k]);
    }
  sources.insert(sources.end(), weights.begin(), weights.end());
  return outer.gradient(gradients, std::span<const Tensor>(sources), given);
}

}  // namespace tapedeck::ops
