// Compares windows over images with infinities and NaN to the definition: a sum of products within the image,
// to which padding adds nothing, not even 0·∞.
#pragma once

#include "engine/ops/core/ops.h"
#include "engine/ops/core/placement.h"
#include "tests/engine/ops/random_calls.h"
#include "tests/engine/ops/rows/rows_elementwise.h"

namespace tapedeck::testing {

/// The tensor with every seventh element or so infinite or NaN.
inline Tensor with_odd_numbers(Random& random, const Tensor& tensor) {
  constexpr double odd[] = {infinity, -infinity, not_a_number};
  std::vector<double> values = tensor.to_vector();
  for (double& value : values)
    if (random() % 7 == 0) value = odd[random() % 3];
  return Tensor::from_values<double>(values, tensor.shape());
}

/// What differs from the rows' references on the device, or empty; such numbers are in one input at a time,
/// and in all.
inline std::string wrong_beside_infinity(const std::vector<std::string>& names, Device device) {
  const DeviceScope scope(device);
  for (const std::string& name : names) {
    const OpDef& op = *Registry::instance().find(name);
    const Row& row = *row_of(name);
    for (std::size_t k = 0; k < row.calls.size(); ++k) {
      for (std::size_t odd = 0; odd <= op.inputs.size(); ++odd) {
        Random random(100 * k + odd);
        Call call = row.calls[k](random);
        for (std::size_t i = 0; i < call.inputs.size(); ++i)
          if (odd == i || odd == op.inputs.size()) call.inputs[i] = with_odd_numbers(random, call.inputs[i]);
        const std::vector<double> expected = row.reference(call)[0].values;
        for (const DType dtype : {DType::float64, DType::float32}) {
          Tensors inputs;
          for (const Tensor& input : call.inputs) inputs.push_back(ops::cast(input, dtype));
          for (Tensor& input : inputs) input = ops::copy_to(input, device);
          const std::vector<double> values =
              run_op(op, span_of(inputs), Attributes(call.attributes))[0].on_host().to_vector();
          const double tolerance = dtype == DType::float64 ? 1e-12 : 1e-4;
          for (std::size_t i = 0; i < values.size(); ++i) {
            const double a = expected[i], b = values[i];
            if (a == b || (std::isnan(a) && std::isnan(b))) continue;
            if (std::isfinite(a) && std::abs(a - b) <= tolerance * (1 + std::abs(a))) continue;
            return description(op, call) + " as " + std::string(dtype_name(dtype)) + ", case " +
                   std::to_string(k) + ", odd " + std::to_string(odd) + ": element " + std::to_string(i) +
                   " is " + std::to_string(b) + " instead of " + std::to_string(a);
          }
        }
      }
    }
  }
  return {};
}

inline const std::vector<std::string> image_ops = {"conv2d",
                                                   "conv2d_backprop_input",
                                                   "conv2d_backprop_filter",
                                                   "depthwise_conv2d_native",
                                                   "depthwise_conv2d_native_backprop_input",
                                                   "depthwise_conv2d_native_backprop_filter",
                                                   "avg_pool",
                                                   "avg_pool_grad"};

}  // namespace tapedeck::testing
