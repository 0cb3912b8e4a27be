// One step of an optimiser, element by element, in one pass over memory.
#pragma once

#include <array>
#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// engine/optim/rules.cpp has the formulas, and what the numbers of each are.
enum class Update : std::uint8_t {
  gradient_descent,
  proximal_gradient_descent,
  momentum,
  momentum_nesterov,
  velocity,
  velocity_nesterov,
  adagrad,
  proximal_adagrad,
  adagrad_da,
  adadelta,
  rms_prop,
  rms_prop_momentum,
  centered_rms_prop,
  centered_rms_prop_momentum,
  adam,
  adam_amsgrad,
  adamax,
  nadam,
  ftrl,
  ftrl_square_root,
  lion
};
constexpr int update_count = static_cast<int>(Update::lion) + 1;

/// The most arrays that a step writes: the value and its slots.
constexpr std::size_t most_targets = 4;

struct UpdateArrays {
  std::array<const void*, most_targets> from{};  ///< the value, and the slots in their order
  std::array<void*, most_targets> to{};          ///< each either the same memory, or another
  const void* gradient = nullptr;
  std::size_t targets = 0;
  bool in_place = false;  ///< all of `to` are `from`
};

/// `numbers`: learning rate and the like, which are the same for all elements. float32 or float64.
void update(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers, std::int64_t count);
/// The same for rows of `width` elements, in place: row rows[k] of the targets takes row k of the gradient.
/// Each row is named once.
void update_rows(Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
                 const std::int64_t* rows, std::int64_t count, std::int64_t width);

}  // namespace tapedeck::cpu
