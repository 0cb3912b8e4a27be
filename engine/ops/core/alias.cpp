#include "engine/ops/core/alias.h"

#include <algorithm>
#include <unordered_set>

namespace tapedeck::detail {

Tensor alias(const Tensor& tensor) {
  return Tensor::view(tensor.storage(), tensor.dtype(), tensor.shape(), tensor.strides(), tensor.offset());
}

void make_outputs_distinct(std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  constexpr std::size_t few = 16;
  if (inputs.size() + outputs.size() > few) {  // unstack has millions
    std::unordered_set<std::uint64_t> known;
    for (const Tensor& input : inputs) known.insert(input.id());
    for (Tensor& output : outputs)
      if (!known.insert(output.id()).second) output = alias(output);
    return;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const auto same = [&](const Tensor& other) { return other.same_body(outputs[i]); };
    if (std::any_of(inputs.begin(), inputs.end(), same) ||
        std::any_of(outputs.begin(), outputs.begin() + static_cast<std::ptrdiff_t>(i), same))
      outputs[i] = alias(outputs[i]);
  }
}

}  // namespace tapedeck::detail
