// Ops run again in float64.
#pragma once

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// The record's op on inputs of which floating-point ones are float64; so are its results. Random numbers
/// stay those of the record. An op without a kernel for these dtypes runs in its own, and its results are
/// widened.
Tensors run_wide(const RecordView& record, std::span<const Tensor> inputs,
                 std::span<const DType> original_dtypes);

/// What a function with a custom gradient computes: the ops that ran inside of it, as a function of its
/// inputs.
class InnerFunction {
 public:
  /// Throws ValueError where a constant in it is gone.
  InnerFunction(Past& past, const RecordView& custom);
  /// float64 inputs; outputs in float64, in the order of the record's.
  Tensors operator()(std::span<const Tensor> inputs) const;

 private:
  struct Step {
    const RecordView* record = nullptr;
    std::vector<DType> dtypes;  ///< of the inputs as recorded
  };
  const RecordView& custom_;
  std::vector<Step> steps_;  ///< that depend on the inputs, in order
  std::unordered_map<std::uint64_t, Tensor>
      constants_;  ///< what they and the result read besides, in float64
};

}  // namespace tapedeck::debug
