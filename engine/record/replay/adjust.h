// What a change of a branch makes of a tensor: a multiple, a clipped one, a sum, or a number everywhere.
#pragma once

#include <string>

#include "engine/record/replay/branch.h"

namespace tapedeck {

/// Of the same shape and dtype. `what`: scale, clip, add or set. Whole numbers stay exact where `amount` is
/// one; other numbers are computed in float64 (complex128) and rounded once. `subject` is what an error calls
/// it, "its result". Throws BranchError where the dtype has no such numbers.
Tensor adjusted(const Tensor& tensor, Instead what, double amount, const RecordView& record,
                const std::string& subject);

}  // namespace tapedeck
