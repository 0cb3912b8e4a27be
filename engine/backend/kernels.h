// The parameter types of kernels, the same for every device. The functions that take them are in
// kernel_list.h.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/backend/elementwise_functions.h"
#include "engine/tensor/dtype.h"
#include "engine/tensor/shape.h"

namespace tapedeck::kernels {

// ---- elementwise ----
#define TAPEDECK_NAME(name, ...) name,
#define TAPEDECK_ONE(...) +1
enum class Unary : std::uint8_t { TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_NAME) };
enum class Binary : std::uint8_t { TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_NAME) };
constexpr int unary_count = TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_ONE);
constexpr int binary_count = TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_ONE);
#undef TAPEDECK_NAME
#undef TAPEDECK_ONE

/// Input of a kernel: first element, and strides in elements over the output's axes (0 where it is
/// broadcast).
struct Operand {
  const void* data;
  Strides strides;
  bool immediate = false;  ///< one value, in host memory
};

/// Contiguous values, or one value for all elements.
struct Values {
  const void* data;
  int step = 1;            ///< 0: one value
  bool immediate = false;  ///< that value is in host memory
};

// ---- positions of values ----
/// An index outside its range.
struct BadIndex {
  std::int64_t place;  ///< in row-major order
  std::int64_t value;
};

/// The distinct values, in the order of their first occurrence.
struct Distinct {
  std::vector<std::int64_t> first;   ///< first position of each value
  std::vector<std::int64_t> place;   ///< per element: the index of its value
  std::vector<std::int64_t> counts;  ///< number of occurrences of each value
};

// ---- numbers at equal steps, diagonals ----
/// start + i·delta, computed in float64; `whole`: computed in int64 for an integer dtype, where only the
/// results need to fit.
struct Sequence {
  double start = 0, delta = 1;
  bool whole = false;
  std::int64_t whole_start = 0, whole_delta = 1;
};

/// Diagonals `lowest` to `highest` of rows × columns matrices; packed, they are `count` rows of `length`, the
/// highest first. A shorter diagonal is right-aligned in its row where its flag is set, else left-aligned.
struct DiagonalBand {
  std::int64_t rows, columns, lowest, highest;
  bool super_right, sub_right;  ///< of those above and below the main one, which needs both

  /// Number of elements of diagonal d.
  constexpr std::int64_t length_of(std::int64_t d) const {
    return at_least_0(less(columns - (d > 0 ? d : 0), rows + (d < 0 ? d : 0)));
  }
  constexpr std::int64_t length() const {
    return at_least_0(less(rows + (highest < 0 ? highest : 0), columns - (lowest > 0 ? lowest : 0)));
  }
  constexpr std::int64_t count() const { return highest - lowest + 1; }
  /// Where diagonal d begins, packed and in the matrix; there its elements are columns + 1 apart.
  constexpr std::int64_t packed_begin(std::int64_t d) const {
    const bool right = (super_right && d >= 0) || (sub_right && d <= 0);
    return (highest - d) * length() + (right ? length() - length_of(d) : 0);
  }
  constexpr std::int64_t matrix_begin(std::int64_t d) const { return d < 0 ? -d * columns : d; }

 private:
  static constexpr std::int64_t less(std::int64_t a, std::int64_t b) { return a < b ? a : b; }
  static constexpr std::int64_t at_least_0(std::int64_t a) { return a < 0 ? 0 : a; }
};

// ---- reductions, scans, segments ----
/// `any` and `all` take bool, the others numbers. Maximum and minimum give NaN if any value is NaN.
enum class Reduction : std::uint8_t { sum, prod, max, min, any, all };
constexpr int reduction_count = static_cast<int>(Reduction::all) + 1;

/// The lane pattern in which a block is reduced, which makes the result bit-identical on every device: this
/// many vectors of this many bytes.
constexpr int lane_vectors = 4, lane_vector_bytes = 64;

/// Whether a sum of squares has all its digits: no square overflowed or underflowed. True for NaN.
template <class T>
constexpr bool keeps_digits(T sum) {
  using Limits = std::numeric_limits<T>;
  return sum != sum || (sum >= Limits::min() / Limits::epsilon() && sum <= Limits::max());
}

struct Scan {
  bool product = false;    ///< else a sum
  bool exclusive = false;  ///< an element's own value is left out: the first result is 0 or 1
  bool reverse = false;    ///< from the last element to the first
};

enum class Segment : std::uint8_t { sum, prod, max, min };

// ---- random numbers ----
/// Where a draw begins in the stream.
struct StreamPlace {
  std::uint64_t key;
  std::uint64_t counter;
};

/// The highest `order` of random_gamma_slope.
constexpr int most_gamma_slope_order = 3;
// ---- products ----
/// C = op(A)·op(B) with op(A) m × k and op(B) k × n. A transposed operand is stored the other way round,
/// row-major with its leading dimension.
struct MatmulSize {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b;
  std::int64_t lda, ldb;
};

// ---- images ----
/// Height and width.
using Extent2 = std::array<std::int64_t, 2>;

/// Images are contiguous: batch, height, width, channels. Channels are divided into groups, each with its own
/// filters. In the filter, the output channels of a group are adjacent; the strides (in elements) say how far
/// apart window positions, input channels and groups are.
struct ConvolutionSize {
  std::int64_t batch;
  Extent2 input, kernel, output, stride, dilation;
  Extent2 before;                                  ///< padding above and to the left
  std::int64_t groups, channels_in, channels_out;  ///< channels of one group
  std::int64_t position_stride, in_stride, group_stride;

  std::int64_t input_count() const { return batch * input[0] * input[1] * groups * channels_in; }
  std::int64_t output_count() const { return batch * output[0] * output[1] * groups * channels_out; }
  std::int64_t filter_count() const { return kernel[0] * kernel[1] * groups * channels_in * channels_out; }
};

struct PoolingSize {
  std::int64_t batch, channels;
  Extent2 input, window, output, stride;
  Extent2 before;  ///< padding above and to the left, which no window includes
};

/// Resamples the middle axis of an outer × extent × inner array: each of `count` results is a weighted sum of
/// `taps` elements.
struct ResampleSize {
  std::int64_t outer, extent, inner, count, taps;
};

// ---- normalization, attention, recurrent layers ----
/// Values outer × channels × inner, row-major; statistics are those of a channel.
struct Channels {
  std::int64_t outer, channels, inner;
};

/// Added to the logit of a masked position, as Keras does: a row that is masked everywhere gets the weights
/// of its logits, as far as they keep their digits, not NaN.
inline constexpr double masked_logit = -1e9;

/// One matrix per batch element; rows are `row` values apart, each contiguous.
struct AttentionMatrices {
  std::span<const void* const> first;
  std::int64_t row = 0;
};
/// What is added to the logits; none where `first` is empty. Steps are in values, 0 where it repeats.
struct AttentionBias {
  std::span<const void* const> first;
  std::int64_t row = 0, column = 0;
  bool boolean = false;  ///< bool values: true where a query may attend
};

struct AttentionSize {
  std::int64_t batch, queries, keys, depth, value_depth;
  double scale;
  bool causal;  ///< query i attends to keys up to i
};

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
/// The order of the parts of kernels and biases, each `units` wide:
///   lstm        i, f, g, o; bias (4·units)
///   gru_after   z, r, candidate; bias (2, 3·units): of the inputs and of the state; the reset gate weighs
///   the
///               product with the state
///   gru_before  z, r, candidate; bias (3·units); the reset gate weighs the state itself
///   rnn_tanh, rnn_relu   bias (units)
enum class RecurrentCell : std::uint8_t { lstm, gru_after, gru_before, rnn_tanh, rnn_relu };

struct RecurrentForm {
  std::int64_t gates;    ///< parts of the kernels
  std::int64_t kept;     ///< parts that a step leaves for its gradient
  std::int64_t d_gates;  ///< parts of a step's gradients
};
constexpr RecurrentForm form_of(RecurrentCell cell) {
  switch (cell) {
    case RecurrentCell::lstm:
      return {4, 5, 4};
    case RecurrentCell::gru_after:
    case RecurrentCell::gru_before:
      return {3, 4, 4};
    default:
      return {1, 0, 1};
  }
}

struct RecurrentSize {
  std::int64_t batch, steps, inputs, units;
  bool time_major;  ///< sequences are (steps, batch, …), not (batch, steps, …)
  bool reverse;     ///< from the last step to the first
  const bool*
      mask;  ///< as a sequence; a step where it is false leaves the state unchanged. nullptr: all true
};

/// All contiguous, of one dtype, float32 or float64. `c` is the LSTM's.
struct RecurrentInputs {
  const void *x, *h, *c, *kernel, *recurrent_kernel, *bias;
};
/// What a step saves for the gradient: the LSTM's i, f, g, o, c; the GRU's z, r, candidate, and the state's
/// part of the candidate (after) or r·h (before). Where the mask is false: zeros, and the LSTM's c.
struct RecurrentResults {
  void *sequence, *h, *c, *kept;
};
/// nullptr where there is none.
struct RecurrentCotangents {
  const void *sequence, *h, *c, *kept;
};
/// nullptr where none is wanted.
struct RecurrentGradients {
  void *x, *h, *c, *kernel, *recurrent_kernel, *bias;
};

// ---- optimisers ----
/// engine/optim/rules.cpp has the formulas and the meaning of each rule's numbers.
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
  std::array<void*, most_targets> to{};          ///< each is either the same memory or different memory
  const void* gradient = nullptr;
  std::size_t targets = 0;
  bool in_place = false;  ///< all of `to` are `from`
};

// ---- linear algebra ----
/// Why a decomposition failed: pivot `place` (from 0) is `value`. place −1: it succeeded.
struct NumericalFailure {
  std::int64_t place = -1;
  double value = 0.0;
  explicit operator bool() const { return place >= 0; }
};
/// The first matrix of a batch that failed.
struct MatrixFailure {
  std::int64_t matrix;
  NumericalFailure failure;
};
/// The pattern of its error message: "{o}: {i}{m} is not positive definite: pivot {p} is {v}" becomes
/// "cholesky: input[1, 0] is not positive definite: pivot 2 is -3". Without batch axes {m} is empty.
struct FailureText {
  const char* pattern;
  std::string_view op, input;
  Shape batch;
};

/// `count` matrices one after another, row-major, of float32 or float64; on the CPU also complex, where
/// transposing conjugates.
struct Matrices {
  DType dtype;
  std::int64_t count, rows, columns;
};

/// Eigenvectors and singular vectors are unique but for their sign. The sign makes the first element that has
/// at least this share of the largest magnitude positive. The share is an odd number, so that hand-written
/// vectors have no element close to it.
constexpr double leading_share = 0.4567;

}  // namespace tapedeck::kernels

namespace tapedeck::cpu {
using namespace kernels;
}
