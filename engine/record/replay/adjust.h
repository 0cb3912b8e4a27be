// Applies a branch's change to a tensor: scales, clips, adds, or sets all elements.
#pragma once

#include <string>

#include "engine/record/replay/branch.h"

namespace tapedeck {

/// The result has the same shape and dtype. `what`: scale, clip, add or set. Integers stay exact if `amount`
/// is an integer; other numbers are computed in float64 (complex128) and rounded once. `subject`: how errors
/// refer to the tensor, "its result". Throws BranchError if the dtype has no such numbers.
Tensor adjusted(const Tensor& tensor, Instead what, double amount, const RecordView& record,
                const std::string& subject);

}  // namespace tapedeck
