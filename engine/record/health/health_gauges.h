// What is measured of a tensor for Health: pure functions, the same for a step that runs and for one that is
// recomputed. They take any floating dtype and ask for no interrupts where the caller does not.
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

/// ‖now − before‖ / ‖now‖: the relation of an update to the weight that it leads to; 0 where nothing changed.
double update_gauge(const Tensor& before, const Tensor& now);

/// The effective rank of a matrix, exp(H(σ / Σσ)) with the entropy H of its singular values σ (O. Roy, M.
/// Vetterli, "The effective rank", 2007): from 1 to its smaller side. Tensors of more axes are matrices whose
/// columns are the last axis. Of large ones at most 64 × 2048 evenly chosen rows and columns are taken.
/// Nothing for what is no matrix, is zero, or not finite.
std::optional<double> rank_gauge(const Tensor& gradient);
/// The largest that rank_gauge can be.
double most_rank(const Shape& shape);

struct ActivationGauge {
  /// Share of the units, the elements of the last axis, that are 0 for all examples, places and times. Of
  /// rectifiers, for a batch of at least 4 rows.
  std::optional<double> dead;
  /// Share of the outputs at a flat end: sigmoid below 0.01 or above 0.99, tanh beyond ±0.99, relu6 at 6, elu
  /// and selu within 1 % of their lowest value; of softmax the rows that give one class more than 0.999. Of
  /// at most 32,768 evenly chosen ones.
  std::optional<double> saturated;
  std::uint64_t not_finite = 0;
};
ActivationGauge activation_gauge(Activation activation, const Tensor& output);

/// Which input of an op is the gradient of its first one, where it is an optimiser's update; 0: it is none.
std::size_t update_gradient_place(const OpDef& op);

}  // namespace tapedeck
