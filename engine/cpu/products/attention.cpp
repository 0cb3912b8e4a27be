// Each of the many matrices stays in a core's cache. Results do not depend on the number of threads; the
// calling thread checks for interrupts.
#include <algorithm>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/products/gemm.h"
#include "engine/cpu/products/recurrent_steps.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t rows_at_once = 32;

template <class T>
class Attention {
 public:
  explicit Attention(const AttentionSize& size) : size_(size) {
    constexpr auto dtype = static_cast<std::size_t>(dtype_of<T>());
    const LoopTable& table = loops();
    maximum_ = table.reduce[static_cast<int>(Reduction::max)][dtype];
    exp_sum_ = table.exp_sum[dtype];
    multiply_ = table.binary[static_cast<int>(Binary::multiply)][dtype];
    divide_ = table.binary[static_cast<int>(Binary::divide)][dtype];
    dot_ = table.dot[dtype];
  }

  void forward(const AttentionMatrices& q, const AttentionMatrices& k, const AttentionMatrices& v,
               const AttentionBias& bias, const AttentionMatrices& out, T* weights) const {
    for_matrices([&](std::int64_t b) {
      T* const w = weights + b * size_.queries * size_.keys;
      gemm({size_.queries, size_.keys, size_.depth, false, true, q.row, k.row}, at(q, b), at(k, b), false, w,
           size_.keys);
      for_blocks(size_.queries, rows_at_once, [&](std::int64_t begin, std::int64_t end) {
        const Scratch<T> scratch(2 * size_.keys);
        for (std::int64_t i = begin; i < end; ++i)
          softmax_row(i, b, bias, scratch.data(), w + i * size_.keys);
      });
      gemm({size_.queries, size_.value_depth, size_.keys, false, false, size_.keys, v.row}, w, at(v, b),
           false, target(out, b), out.row);
    });
  }

  void backward(const AttentionMatrices& q, const AttentionMatrices& k, const AttentionMatrices& v,
                const T* weights, const AttentionCotangents& given, const AttentionGradients& wanted) const {
    const std::int64_t count = size_.queries * size_.keys;
    const bool logits = !wanted.queries.first.empty() || !wanted.keys.first.empty() || wanted.logits;
    for_matrices([&](std::int64_t b) {
      const T* const w = weights + b * count;
      if (!wanted.values.first.empty()) values_gradient(b, w, given, wanted.values);
      if (!logits) return;
      const Scratch<T> scratch(count);
      T* const d = scratch.data();
      // The products are scaled, the logits' own gradient is not.
      logits_gradient(b, v, w, given, wanted.logits ? T(1) : static_cast<T>(size_.scale), d);
      if (wanted.logits) {
        std::copy_n(d, count, static_cast<T*>(wanted.logits) + b * count);
        for (std::int64_t i = 0; i < count; ++i) d[i] *= static_cast<T>(size_.scale);
      }
      if (!wanted.queries.first.empty())
        gemm({size_.queries, size_.depth, size_.keys, false, false, size_.keys, k.row}, d, at(k, b), false,
             target(wanted.queries, b), wanted.queries.row);
      if (!wanted.keys.first.empty())
        gemm({size_.keys, size_.depth, size_.queries, true, false, size_.keys, q.row}, d, at(q, b), false,
             target(wanted.keys, b), wanted.keys.row);
    });
  }

 private:
  static const T* at(const AttentionMatrices& matrices, std::int64_t b) {
    return static_cast<const T*>(matrices.first[static_cast<std::size_t>(b)]);
  }
  static T* target(const AttentionMatrices& matrices, std::int64_t b) {
    return const_cast<T*>(at(matrices, b));
  }

  /// Each thread takes some of the small matrices; all threads share a single or large one.
  template <class Body>
  void for_matrices(Body&& body) const {
    const double work = static_cast<double>(size_.queries) * static_cast<double>(size_.keys) *
                        static_cast<double>(size_.depth + size_.value_depth + 16);
    const std::int64_t grain =
        size_.batch == 1 || work > 0x1p27 ? size_.batch : std::min(size_.batch, grain_for(work / 50 + 50));
    for_blocks(size_.batch, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t b = begin; b < end; ++b) {
        check_stop();
        body(b);
      }
    });
  }

  /// Of a row of products, in place. `scratch` has room for two rows.
  void softmax_row(std::int64_t i, std::int64_t b, const AttentionBias& bias, T* scratch, T* row) const {
    const std::int64_t count = size_.keys;
    if (count == 0) return;
    const T scale = static_cast<T>(size_.scale);
    multiply_(row, 1, &scale, 0, scratch, count);
    if (!bias.first.empty()) add_bias(i, b, bias, scratch);
    if (size_.causal)
      for (std::int64_t j = i + 1; j < count; ++j) scratch[j] += static_cast<T>(masked_logit);
    T largest{}, sum{};
    maximum_(scratch, count, &largest);
    exp_sum_(scratch, &largest, scratch + count, count, &sum);
    divide_(scratch + count, 1, &sum, 0, row, count);
  }

  void add_bias(std::int64_t i, std::int64_t b, const AttentionBias& bias, T* logits) const {
    const void* first = bias.first[static_cast<std::size_t>(b)];
    if (bias.boolean) {
      const bool* may = static_cast<const bool*>(first) + i * bias.row;
      const std::int64_t count = size_.causal ? std::min(i + 1, size_.keys) : size_.keys;  // once for each
      for (std::int64_t j = 0; j < count; ++j)
        if (!may[j * bias.column]) logits[j] += static_cast<T>(masked_logit);
      return;
    }
    const T* values = static_cast<const T*>(first) + i * bias.row;
    for (std::int64_t j = 0; j < size_.keys; ++j) logits[j] += values[j * bias.column];
  }

  void values_gradient(std::int64_t b, const T* w, const AttentionCotangents& given,
                       const AttentionMatrices& to) const {
    if (!given.out.first.empty())
      return gemm({size_.keys, size_.value_depth, size_.queries, true, false, size_.keys, given.out.row}, w,
                  at(given.out, b), false, target(to, b), to.row);
    for (std::int64_t j = 0; j < size_.keys; ++j)
      std::fill_n(target(to, b) + j * to.row, size_.value_depth, T(0));
  }

  /// dS = scale·W·(dW − Σ dW·W), row by row, where dW = dO·Vᵀ plus the weights' own cotangent.
  void logits_gradient(std::int64_t b, const AttentionMatrices& v, const T* w,
                       const AttentionCotangents& given, T scale, T* d) const {
    const std::int64_t keys = size_.keys, count = size_.queries * keys;
    const T* const more = given.weights ? static_cast<const T*>(given.weights) + b * count : nullptr;
    if (!given.out.first.empty())
      gemm({size_.queries, keys, size_.value_depth, false, true, given.out.row, v.row}, at(given.out, b),
           at(v, b), false, d, keys);
    else
      std::fill_n(d, count, T(0));
    for_blocks(size_.queries, rows_at_once, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        T* row = d + i * keys;
        if (more)
          for (std::int64_t j = 0; j < keys; ++j) row[j] += more[i * keys + j];
        T sum{};
        dot_(row, w + i * keys, keys, &sum);
        recurrent_loops<T>().softmax_gradient(keys, w + i * keys, &sum, scale, row);
      }
    });
  }

  const AttentionSize size_;
  ReduceLoop maximum_;
  ExpSumLoop exp_sum_;
  BinaryLoop multiply_, divide_;
  DotLoop dot_;
};

}  // namespace

void attention(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
               const AttentionMatrices& keys, const AttentionMatrices& values, const AttentionBias& bias,
               const AttentionMatrices& out, void* weights) {
  if (dtype == DType::float32)
    Attention<float>(size).forward(queries, keys, values, bias, out, static_cast<float*>(weights));
  else
    Attention<double>(size).forward(queries, keys, values, bias, out, static_cast<double*>(weights));
}

void attention_gradient(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                        const AttentionMatrices& keys, const AttentionMatrices& values, const void* weights,
                        const AttentionCotangents& cotangents, const AttentionGradients& gradients) {
  if (dtype == DType::float32)
    Attention<float>(size).backward(queries, keys, values, static_cast<const float*>(weights), cotangents,
                                    gradients);
  else
    Attention<double>(size).backward(queries, keys, values, static_cast<const double*>(weights), cotangents,
                                     gradients);
}

}  // namespace tapedeck::cpu
