// Singular values of bidiagonal matrices, and the reduction of other matrices to bidiagonal form.
#pragma once

#include <vector>

#include "engine/cpu/linear_algebra/reflectors.h"
#include "engine/cpu/linear_algebra/rotations.h"

namespace tapedeck::cpu {

/// a = u·b·vᵀ with b upper bidiagonal, d on its diagonal and e above it.
template <class T>
struct Bidiagonal {
  std::vector<T> d, e;
  /// The panels of u start at the row of their first column, those of v one row below.
  std::vector<Reflectors<T>> u, v;
};

/// Destroys a, which has at least as many rows as columns, and is a FilledMatrix.
template <class T>
Bidiagonal<T> reduce_to_bidiagonal(Block<T> a, bool vectors);

/// d becomes the singular values, in no order and of either sign; `u` and `v` are rotated with them, as rows.
template <class T>
void iterate_singular_values(std::vector<T>& d, std::vector<T>& e, Rotations<T>& u, Rotations<T>& v);

}  // namespace tapedeck::cpu
