// Ops run again in float64.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// The record's op on inputs of which floating-point ones are float64; so are its results. Random numbers
/// stay those of the record. An op without a kernel for these dtypes runs in its own, and its results are
/// widened; `was_narrow` says so.
Tensors run_wide(const RecordView& record, std::span<const Tensor> inputs,
                 std::span<const DType> original_dtypes, bool* was_narrow = nullptr);

/// What a function with a custom gradient computes: the ops that ran inside of it, as a function of its
/// inputs.
class InnerFunction {
 public:
  /// `also`: values of variables that it read, which are inputs behind those of the record. Throws ValueError
  /// where a constant in it is gone.
  InnerFunction(Past& past, const RecordView& custom, const TensorIds& also = {});
  /// float64 inputs; outputs in float64, in the order of the record's.
  Tensors operator()(std::span<const Tensor> inputs) const;

  /// Some result was made of the inputs by recorded ops.
  bool depends() const { return depends_; }
  /// Where Python or NumPy read a value made of the inputs, and something that it made of it came back:
  /// differences do not see that way. Nothing: nowhere, or it is not known.
  std::optional<std::string> left_to_python() const { return left_; }

 private:
  void look_for_departure(Past& past, const std::set<std::uint64_t>& moving);

  struct Step {
    const RecordView* record = nullptr;
    std::vector<DType> dtypes;  ///< of the inputs as recorded
  };
  const RecordView& custom_;
  TensorIds inputs_;
  bool depends_ = false;
  std::optional<std::string> left_;
  std::uint64_t first_inside_ = 0;  ///< id of the first tensor that an op inside made; 0: none
  std::set<std::uint64_t> leaves_;  ///< that ops inside read: values from Python
  std::vector<Step> steps_;         ///< that depend on the inputs, in order
  std::unordered_map<std::uint64_t, Tensor>
      constants_;  ///< what they and the result read besides, in float64
};

/// The values of variables that ran into a function with a custom gradient without being its arguments, in
/// the order in which it first read them.
TensorIds variables_read_inside(Past& past, const RecordView& custom);

}  // namespace tapedeck::debug
