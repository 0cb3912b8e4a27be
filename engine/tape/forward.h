// Forward mode: Jacobian-vector products.
#pragma once

#include "engine/tape/tape.h"

namespace tapedeck {

/// J·tangents: how `target` changes when the primals, which the tape watched, move along the tangents, one
/// per primal and of its shape and dtype. Undefined if the target does not depend on them. The tape must be
/// persistent and not active; active tapes record the ops that this runs.
///
/// Two reverse passes: the vector-Jacobian product u ↦ Jᵀ·u is linear in u, and the gradient of its inner
/// product with the tangents is J·tangents. So an op needs no rule for forward mode. Source: J. Townsend, "A
/// new trick for calculating Jacobian vector products", 2017.
Tensor forward_product(Tape& tape, const Tensor& target, std::span<const Tape::Source> primals,
                       std::span<const Tensor> tangents);

}  // namespace tapedeck
