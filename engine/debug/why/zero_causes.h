// Why a VJP gave zeros of a gradient that was not zero: what of its op, its operands, or of the gradient that
// came in makes them. What is said was seen in numbers: the VJP runs again with other operands.
#pragma once

#include "engine/debug/why/vjp_again.h"

namespace tapedeck::debug {

/// The cotangent with ones of both signs, in no order, where it is zero: sums of them do not cancel.
Tensor nowhere_zero(const Tensor& cotangent);
/// Of the same signs and sizes, in other proportions, and nowhere zero: what cancels in the one does not in
/// the other.
Tensor in_other_proportions(const Tensor& cotangent);

/// Zeros that a VJP gave.
struct ZerosOfVjp {
  const RecordView& vjp;
  const RecordView* forward = nullptr;  ///< nullptr: forgotten, or none
  const PastVjp* call = nullptr;        ///< nullptr: it cannot run again with other operands
  std::size_t slot = 0;                 ///< which of its gradients
  std::vector<std::int64_t> places;     ///< of the zeros, in row-major order
};

struct ZeroCause {
  std::string clause;
  std::vector<protocol::Reason> reasons;  ///< what made a factor's zeros
};

/// Of zeros that it gives whatever comes in. Throws Cancelled and ValueError.
ZeroCause why_flat(Past& past, WrittenMemory& memory, const ZerosOfVjp& zeros);
/// Of zeros where what comes in cancels: of other gradients it gives others.
std::string why_cancelled(Past& past, const ZerosOfVjp& zeros);

/// What made the tensor, or wrote the values that it has: behind views of it. nullptr: it is not known.
const RecordView* source_of_values(Past& past, WrittenMemory& memory, std::uint64_t tensor);

}  // namespace tapedeck::debug
