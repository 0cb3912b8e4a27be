// Forward mode: Jacobian-vector products.
#pragma once

#include "engine/tape/tape.h"

namespace tapedeck {

/// J·tangents: how `target` changes when the primals, which the tape watched, move along the tangents, one
/// per primal and of its shape and dtype. Undefined where the target does not depend on them. The tape is
/// persistent and not active; tapes that are active record what this runs.
///
/// Two reverse passes: the vector-Jacobian product u ↦ Jᵀ·u is linear in u, and the gradient of its inner
/// product with the tangents is J·tangents. So an op needs no second rule. Source: J. Townsend, "A new trick
/// for calculating Jacobian vector products", 2017.
Tensor forward_product(Tape& tape, const Tensor& target, std::span<const Tape::Source> primals,
                       std::span<const Tensor> tangents);

}  // namespace tapedeck
