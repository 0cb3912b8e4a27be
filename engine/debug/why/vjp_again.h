// A built-in VJP, run again with other cotangents or in float64.
#pragma once

#include "engine/debug/why/written_memory.h"

namespace tapedeck::debug {

/// The forward call of a VJP record, with its values.
struct PastVjp {
  const OpDef* op = nullptr;
  Attributes attributes;
  Tensors inputs, outputs, cotangents;  ///< cotangents: undefined where None
  std::vector<bool> given;              ///< of the inputs: the record has a gradient for it
};

/// Whether the op has a VJP that can run here.
bool can_differentiate(const OpDef& op);
/// Nothing for a custom gradient, and where the forward op is no longer known. Throws ValueError.
std::optional<PastVjp> vjp_call(Past& past, const RecordView& vjp);

/// One gradient for each input, undefined where none was given. Nothing of it is recorded.
Tensors gradients_of(const PastVjp& call);

/// Of a VJP of PyTorch's, or of a Function of its program: what ran in it, again, with other cotangents.
/// What it wrote through views is followed. `wanted`: tensors that were made in it; empty: its outputs.
/// Throws ValueError, and Error where an op cannot run again.
Tensors foreign_vjp_again(Past& past, WrittenMemory& memory, const RecordView& vjp,
                          std::span<const Tensor> cotangents, std::span<const std::uint64_t> wanted = {});

/// The same call in float64, whose outputs are computed anew.
PastVjp in_float64(const PastVjp& call);

/// The tensor cast, unrecorded.
Tensor in_dtype(const Tensor& tensor, DType dtype);
/// The tensor in float64 where it is a floating-point one; else itself.
Tensor to_float64(const Tensor& tensor);
/// Attributes that name a floating-point dtype name float64.
Attributes to_float64(const Attributes& attributes);

}  // namespace tapedeck::debug
