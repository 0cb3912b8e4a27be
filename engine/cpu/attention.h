// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762): softmax(scale·Q·Kᵀ + bias)·V for each
// of many matrices, each of which stays in a core's cache.
#pragma once

#include <cstdint>
#include <span>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// What is added to a logit that may not be attended to, as Keras does: a row where nothing may be attended
/// to gets the weights of its logits, as far as they keep their digits, not NaN.
inline constexpr double masked_logit = -1e9;

/// One matrix for each element of the batch; rows `row` values apart, their values side by side.
struct AttentionMatrices {
  std::span<const void* const> first;
  std::int64_t row = 0;
};
/// What is added to the logits; none where `first` is empty. Steps are in values, 0 where it repeats.
struct AttentionBias {
  std::span<const void* const> first;
  std::int64_t row = 0, column = 0;
  bool boolean = false;  ///< bool values that say what may be attended to
};

struct AttentionSize {
  std::int64_t batch, queries, keys, depth, value_depth;
  double scale;
  bool causal;  ///< query i attends to keys up to i
};

/// `weights` is contiguous, (batch, queries, keys). Results do not depend on the number of threads; the
/// calling thread checks for interrupts. For float32 and float64.
void attention(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
               const AttentionMatrices& keys, const AttentionMatrices& values, const AttentionBias& bias,
               const AttentionMatrices& out, void* weights);

/// Contiguous; nullptr where there is none.
struct AttentionCotangents {
  AttentionMatrices out;
  const void* weights;
};
/// Empty, or nullptr, where none is wanted. `logits` is contiguous as the weights are.
struct AttentionGradients {
  AttentionMatrices queries, keys, values;
  void* logits;
};
void attention_gradient(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                        const AttentionMatrices& keys, const AttentionMatrices& values, const void* weights,
                        const AttentionCotangents& cotangents, const AttentionGradients& gradients);

}  // namespace tapedeck::cpu
