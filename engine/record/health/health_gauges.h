// Health's measurements of a tensor: pure functions, the same for a running and a recomputed step. They take
// any floating-point dtype and check for interrupts only if the caller does.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/ops/core/op.h"

namespace tapedeck {

struct NormGauge {
  double norm = 0;               ///< 2-norm of the finite elements
  std::uint64_t not_finite = 0;  ///< NaN and infinities
};
NormGauge norm_gauge(const Tensor& tensor);

/// ‖now − before‖ / ‖now‖: the size of an update relative to the new weight; 0 if nothing changed.
double update_gauge(const Tensor& before, const Tensor& now);

/// The effective rank of a matrix, exp(H(σ / Σσ)) with the entropy H of its singular values σ (O. Roy, M.
/// Vetterli, "The effective rank", 2007): from 1 to its smaller side. Tensors of higher rank are matrices
/// with the last axis as columns. Large ones are sampled evenly to at most 64 × 2048 rows and columns.
/// nullopt for a tensor that is no matrix, is zero, or is not finite.
std::optional<double> rank_gauge(const Tensor& gradient);
/// The largest possible rank_gauge.
double most_rank(const Shape& shape);

struct ActivationGauge {
  /// Fraction of the units (elements of the last axis) that are 0 for all examples, positions and times. For
  /// rectifiers and a batch of at least 4 rows.
  std::optional<double> dead;
  /// Fraction of saturated outputs: sigmoid below 0.01 or above 0.99, tanh beyond ±0.99, relu6 at 6, elu and
  /// selu within 1 % of their lowest value; for softmax the rows that give one class more than 0.999. From at
  /// most 32,768 evenly chosen outputs.
  std::optional<double> saturated;
  std::uint64_t not_finite = 0;
};
/// `unit_axis`: of the units; −1 is the last one.
ActivationGauge activation_gauge(Activation activation, const Tensor& output, int unit_axis = -1);

/// Which input of an optimiser's update op is the gradient; 0: the op is no update.
std::size_t update_gradient_place(const OpDef& op);

}  // namespace tapedeck
