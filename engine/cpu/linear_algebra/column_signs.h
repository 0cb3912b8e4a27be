// The signs of eigenvectors and singular vectors (kernels::leading_share), the columns of matrices.
#pragma once

#include <vector>

#include "engine/cpu/linear_algebra/blocked.h"

namespace tapedeck::cpu {

/// −1 for each column whose sign must change, else 1.
template <class T>
std::vector<T> column_signs(Block<const T> a);
/// Multiplies the first columns of a by these signs.
template <class T>
void turn_columns(Block<T> a, const std::vector<T>& signs);

}  // namespace tapedeck::cpu
