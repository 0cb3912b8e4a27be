#include <cmath>

#include "engine/cuda/block_sums.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/linear_algebra/runs.h"
#include "engine/cuda/loops/packs.h"
#include "engine/cuda/products/products.h"

namespace tapedeck::cuda {
namespace {

/// What is added to the logits of a run. Steps are in values.
struct Bias {
  const void* values;  ///< nullptr: nothing
  std::int64_t matrix, row, column;
  bool boolean, causal;

  /// logit `column` of row i with all that is added to it; a place that neither the mask nor causality lets
  /// through is masked once.
  template <class T>
  __device__ T added(T logit, std::int64_t b, std::int64_t i, std::int64_t j) const {
    const std::int64_t at = b * matrix + i * row + j * column;
    bool masked = causal && j > i;
    if (values && boolean)
      masked = masked || !static_cast<const bool*>(values)[at];
    else if (values)
      logit += static_cast<const T*>(values)[at];
    return masked ? logit + static_cast<T>(kernels::masked_logit) : logit;
  }
};

/// What a thread of a block has of a row: calls `f(pack, first)` for packs of it, where `first` is the place
/// of their first value, and stores what becomes of them.
template <class T, class F>
__device__ __forceinline__ void change_row(T* row, std::int64_t keys, F f) {
  constexpr int width = pack_width<T>;
  for (std::int64_t first = threadIdx.x * width; first < keys; first += blockDim.x * width) {
    Pack<T, width> pack = load_pack<width>(row, first, keys);
    f(pack, first);
    store_pack(row, first, keys, pack);
  }
}

/// Products become weights, in place; `step` values lie between the matrices of the run.
template <class T>
__global__ void softmax_rows(std::int64_t batch, std::int64_t queries, std::int64_t keys, std::int64_t step,
                             T scale, Bias bias, T* weights) {
  using Values = Pack<T, pack_width<T>>;
  __shared__ T shared[most_warps];
  for (std::int64_t block = blockIdx.x; block < batch * queries; block += gridDim.x) {
    const std::int64_t b = block / queries, i = block % queries;
    T* row = weights + b * step + i * keys;
    T largest = -INFINITY;
    change_row(row, keys, [&](Values& logits, std::int64_t first) {
      for (int k = 0; k < pack_width<T>; ++k) {
        if (first + k >= keys) continue;
        T& logit = logits.values[k];
        logit = bias.added(logit * scale, b, i, first + k);
        largest = Larger()(logit, largest);
      }
    });
    largest = block_maximum(largest, shared);
    T sum{};
    change_row(row, keys, [&](Values& values, std::int64_t first) {
      for (int k = 0; k < pack_width<T>; ++k) {
        values.values[k] = std::exp(values.values[k] - largest);
        if (first + k < keys) sum += values.values[k];
      }
    });
    sum = block_sum(sum, shared);
    change_row(row, keys, [sum](Values& values, std::int64_t) {
      for (T& value : values.values) value /= sum;
    });
  }
}

/// d becomes scale·w·(d − Σ d·w), and `logits` the same without the scale; `more` is added to d before. Those
/// may be nullptr.
template <class T>
__global__ void softmax_gradient(std::int64_t rows, std::int64_t keys, const T* weights, const T* more,
                                 T scale, T* d, T* logits) {
  constexpr int width = pack_width<T>;
  using Values = Pack<T, width>;
  __shared__ T shared[most_warps];
  for (std::int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const std::int64_t begin = row * keys;
    T sum{};
    change_row(d + begin, keys, [&](Values& values, std::int64_t first) {
      const Values w = load_pack<width>(weights + begin, first, keys);
      if (more) {
        const Values others = load_pack<width>(more + begin, first, keys);
        for (int k = 0; k < width; ++k) values.values[k] += others.values[k];
      }
      for (int k = 0; k < width; ++k)
        if (first + k < keys) sum += values.values[k] * w.values[k];
    });
    sum = block_sum(sum, shared);
    change_row(d + begin, keys, [&](Values& values, std::int64_t first) {
      const Values w = load_pack<width>(weights + begin, first, keys);
      for (int k = 0; k < width; ++k) values.values[k] = w.values[k] * (values.values[k] - sum);
      if (logits) store_pack(logits + begin, first, keys, values);
      for (T& value : values.values) value *= scale;
    });
  }
}

/// Rows of `width` zeros, `row` values apart.
template <class T>
__global__ void clear_matrices(std::int64_t rows, std::int64_t width, std::int64_t row, std::int64_t matrices,
                               std::int64_t step, T* out) {
  for (std::int64_t i = thread_number(); i < matrices * rows * width; i += thread_count()) {
    const std::int64_t line = i / width;
    out[line / rows * step + line % rows * row + i % width] = T(0);
  }
}

/// A matrix of a product and how far those of a run lie apart.
template <class T>
struct Side {
  T* first;
  std::int64_t row, step;
};

template <class T>
class Attention {
 public:
  explicit Attention(const AttentionSize& size) : size_(size), count_(size.queries * size.keys) {}

  void forward(const AttentionMatrices& q, const AttentionMatrices& k, const AttentionMatrices& v,
               const AttentionBias& bias, const AttentionMatrices& out, T* weights) const {
    for (const Run& run : runs_of(size_.batch, {q.first, k.first, v.first, bias.first, out.first})) {
      const Side<T> w = whole(run, weights);
      product(run, size_.queries, size_.keys, size_.depth, {false, side(run, q)}, {true, side(run, k)}, w);
      const Bias added{run.of<const void>(bias.first),
                       bias.boolean ? run.step_of<bool>(bias.first) : run.step_of<T>(bias.first),
                       bias.row,
                       bias.column,
                       bias.boolean,
                       size_.causal};
      launch("attention", grid_of_rows(run.count * size_.queries, size_.keys), softmax_rows<T>, run.count,
             size_.queries, size_.keys, w.step, static_cast<T>(size_.scale), added, w.first);
      product(run, size_.queries, size_.value_depth, size_.keys, {false, w}, {false, side(run, v)},
              side(run, out));
    }
  }

  void backward(const AttentionMatrices& q, const AttentionMatrices& k, const AttentionMatrices& v,
                const T* weights, const AttentionCotangents& given, const AttentionGradients& wanted) const {
    if (!wanted.values.first.empty()) values_gradient(weights, given, wanted.values);
    if (wanted.queries.first.empty() && wanted.keys.first.empty() && !wanted.logits) return;
    const Scratch scratch(static_cast<std::size_t>(size_.batch * count_) * sizeof(T));
    T* const d = scratch.as<T>();
    logits_gradient(v, weights, given, static_cast<T*>(wanted.logits), d);
    if (!wanted.queries.first.empty())
      for (const Run& run : runs_of(size_.batch, {k.first, wanted.queries.first}))
        product(run, size_.queries, size_.depth, size_.keys, {false, whole(run, d)}, {false, side(run, k)},
                side(run, wanted.queries));
    if (!wanted.keys.first.empty())
      for (const Run& run : runs_of(size_.batch, {q.first, wanted.keys.first}))
        product(run, size_.keys, size_.depth, size_.queries, {true, whole(run, d)}, {false, side(run, q)},
                side(run, wanted.keys));
  }

 private:
  struct Operand {
    bool transpose;
    Side<T> of;
  };

  static Side<T> side(const Run& run, const AttentionMatrices& matrices) {
    return {run.of<T>(matrices.first), matrices.row, run.step_of<T>(matrices.first)};
  }
  /// Of contiguous queries × keys matrices.
  Side<T> whole(const Run& run, const T* first) const {
    return {const_cast<T*>(first) + run.first * count_, size_.keys, run.step * count_};
  }

  static void product(const Run& run, std::int64_t m, std::int64_t n, std::int64_t k, const Operand& a,
                      const Operand& b, const Side<T>& out) {
    multiply({.dtype = dtype_of<T>(),
              .m = m,
              .n = n,
              .k = k,
              .transpose_a = a.transpose,
              .transpose_b = b.transpose,
              .lda = a.of.row,
              .ldb = b.of.row,
              .ldc = out.row,
              .batch = run.count,
              .a_step = a.of.step,
              .b_step = b.of.step,
              .out_step = out.step},
             a.of.first, b.of.first, out.first);
  }

  void values_gradient(const T* weights, const AttentionCotangents& given,
                       const AttentionMatrices& to) const {
    for (const Run& run : runs_of(size_.batch, {given.out.first, to.first})) {
      const Side<T> out = side(run, to);
      if (given.out.first.empty())
        launch("attention_gradient", grid_for(run.count * size_.keys * size_.value_depth), clear_matrices<T>,
               size_.keys, size_.value_depth, out.row, run.count, out.step, out.first);
      else
        product(run, size_.keys, size_.value_depth, size_.queries, {true, whole(run, weights)},
                {false, side(run, given.out)}, out);
    }
  }

  /// d = scale·W·(dW − Σ dW·W), row by row, where dW = dO·Vᵀ and what came to the weights themselves.
  void logits_gradient(const AttentionMatrices& v, const T* weights, const AttentionCotangents& given,
                       T* logits, T* d) const {
    if (given.out.first.empty())
      check(cudaMemsetAsync(d, 0, static_cast<std::size_t>(size_.batch * count_) * sizeof(T), stream()),
            "attention_gradient");
    else
      for (const Run& run : runs_of(size_.batch, {given.out.first, v.first}))
        product(run, size_.queries, size_.keys, size_.value_depth, {false, side(run, given.out)},
                {true, side(run, v)}, whole(run, d));
    const std::int64_t rows = size_.batch * size_.queries;
    launch("attention_gradient", grid_of_rows(rows, size_.keys), softmax_gradient<T>, rows, size_.keys,
           weights, static_cast<const T*>(given.weights), static_cast<T>(size_.scale), d, logits);
  }

  const AttentionSize size_;
  const std::int64_t count_;  ///< of a matrix of weights
};

void require_floating(const char* kernel, DType dtype) {
  if (dtype != DType::float32 && dtype != DType::float64) throw NoKernel(kernel);
}

}  // namespace

void attention(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
               const AttentionMatrices& keys, const AttentionMatrices& values, const AttentionBias& bias,
               const AttentionMatrices& out, void* weights) {
  require_floating("attention", dtype);
  if (dtype == DType::float32)
    Attention<float>(size).forward(queries, keys, values, bias, out, static_cast<float*>(weights));
  else
    Attention<double>(size).forward(queries, keys, values, bias, out, static_cast<double*>(weights));
}

void attention_gradient(DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                        const AttentionMatrices& keys, const AttentionMatrices& values, const void* weights,
                        const AttentionCotangents& cotangents, const AttentionGradients& gradients) {
  require_floating("attention_gradient", dtype);
  if (dtype == DType::float32)
    Attention<float>(size).backward(queries, keys, values, static_cast<const float*>(weights), cotangents,
                                    gradients);
  else
    Attention<double>(size).backward(queries, keys, values, static_cast<const double*>(weights), cotangents,
                                     gradients);
}

}  // namespace tapedeck::cuda
