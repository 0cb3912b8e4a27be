#include "engine/tape/forward.h"

#include "engine/ops/core/core_ops.h"
#include "engine/ops/core/placement.h"

namespace tapedeck {

Tensor forward_product(Tape& tape, const Tensor& target, std::span<const Tape::Source> primals,
                       std::span<const Tensor> tangents) {
  if (primals.size() != tangents.size())
    fail<InvalidArgumentError>("forward_product: ", primals.size(), " primals, but ", tangents.size(),
                               " tangents");
  // The product is linear in the weights, so any values do.
  const DefaultDeviceScope beside(target.device());
  const Tensor weights = detail::zeros_like(target);
  Tape transposed(false, false);
  transposed.start();
  transposed.watch(weights);
  const Tensors gradients = tape.gradient({&target, 1}, primals, {&weights, 1}, Unconnected::none);
  transposed.stop();
  Tensors products, directions;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    if (gradients[i]) {
      products.push_back(gradients[i]);
      directions.push_back(tangents[i]);
    }
  if (products.empty()) return {};
  const std::span<const Tensor> sources(&weights, 1);
  // Gradients that are zero whatever the weights are (sign) do not depend on them: the product is zero too.
  return transposed.gradient(products, sources, directions, Unconnected::zero)[0];
}

}  // namespace tapedeck
