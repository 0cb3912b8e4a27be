// Values of ports and their originals, for the tests that compare them.
#pragma once

#include "tests/engine/debug/foreign_records.h"

namespace compared {

inline Tensor numbers(const Shape& shape, float begin) {
  const Tensor tensor = Tensor::allocate(DType::float32, shape, Device{});
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    tensor.writable_data<float>()[i] = begin + 0.37f * static_cast<float>((i * 7) % 11);
  return tensor;
}

inline Tensor turned(const Tensor& tensor) {
  const QuietScope quiet;
  return ops::transpose(tensor);
}

inline ComparedLayers layers_of_runs(Runs& runs, const ComparedSide& left, const ComparedSide& right,
                                     double tolerance = 1e-5) {
  const QuietScope quiet;
  const Compared made = runs.comparisons.make({left, right, std::string()}, runs.cancel, {});
  return runs.comparisons.layers({made.comparison, tolerance, tolerance, {{"train", "cell 3"}}},
                                 runs.original, runs.cancel, {});
}

/// A part of that role and of a name that begins so; nullptr: there is none.
inline const ComparedLayerPart* find_part(const ComparedLayers& found, LayerRole role,
                                          std::string_view name = {}) {
  for (const ComparedLayer& layer : found.layers)
    for (const ComparedLayerPart& part : layer.parts)
      if (part.role == role && part.tensors.role.starts_with(name)) return &part;
  return nullptr;
}

}  // namespace compared
