// A built-in VJP, run again with other cotangents or in float64.
#pragma once

#include "engine/debug/why/past.h"

namespace tapedeck::debug {

/// The forward call of a VJP record, with its values.
struct VjpCall {
  const OpDef* op = nullptr;
  Attributes attributes;
  Tensors inputs, outputs, cotangents;  ///< cotangents: undefined where None
  std::vector<bool> given;              ///< of the inputs: the record has a gradient for it
};

/// Nothing for a custom gradient, and where the forward op is no longer known. Throws ValueError.
std::optional<VjpCall> vjp_call(Past& past, const RecordView& vjp);

/// One gradient for each input, undefined where none was given. Nothing of it is recorded.
Tensors gradients_of(const VjpCall& call);

/// The same call in float64, whose outputs are computed anew.
VjpCall in_float64(const VjpCall& call);

/// The tensor cast, unrecorded.
Tensor in_dtype(const Tensor& tensor, DType dtype);
/// The tensor in float64 where it is a floating-point one; else itself.
Tensor to_float64(const Tensor& tensor);
/// Attributes that name a floating-point dtype name float64.
Attributes to_float64(const Attributes& attributes);

}  // namespace tapedeck::debug
