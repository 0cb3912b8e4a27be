// X-macro list of the kernels: result, name, parameters, and what each computes. To generate code per kernel,
// define KERNEL(result, name, parameters) and include this file; it has no include guard. It generates the
// table that ops call (backend.h), each device's declarations (cpu/kernels.h, cuda/kernels.h) and the tables
// that hold them. The kernel is the function of this name in cpu/FAMILY.cpp and cuda/FAMILY.cu.
//
// CPU_KERNEL marks a kernel that only the CPU has, GPU_KERNEL one that only GPUs have; both default to
// KERNEL. The CPU kernels are the oracle for the others.
//
// Pointers point to device memory unless the comment says otherwise; extents, strides and numbers are passed
// by value. A CPU kernel has finished when it returns. A GPU kernel is asynchronous: it is queued on the
// calling thread's stream. The parameter types are in kernels.h and inspection.h. Results do not overlap
// inputs.
#ifndef CPU_KERNEL
#define CPU_KERNEL KERNEL
#endif
#ifndef GPU_KERNEL
#define GPU_KERNEL KERNEL
#endif
// clang-format off

// ---- elementwise ----
/// out[i] = op(a[i]), everything contiguous.
KERNEL(void, unary, (Unary op, DType dtype, const void* a, void* out, std::int64_t count))
/// The same over a strided input; `out` is row-major of `shape`.
KERNEL(void, unary_strided, (Unary op, DType dtype, const Operand& a, void* out, const Shape& shape))
/// out[i] = op(a[i], b[i]), everything contiguous.
KERNEL(void, binary, (Binary op, DType dtype, const Values& a, const Values& b, void* out, std::int64_t count))
KERNEL(void, binary_strided, (Binary op, DType dtype, const Operand& a, const Operand& b, void* out,
                              const Shape& shape))
/// min(max(x, low), high) of a contiguous x and one value each, of a numeric dtype that has kernels.
KERNEL(void, clip, (DType dtype, const void* x, const Values& low, const Values& high, void* out,
                    std::int64_t count))
/// out[i] = a·x[i] + b·y[i], of float32 or float64; x, y and out are contiguous, a and b one value each.
KERNEL(void, scaled_sum, (DType dtype, const Values& a, const void* x, const Values& b, const void* y, void* out,
                          std::int64_t count))
/// out[i] = condition[i] ? a[i] : b[i]
KERNEL(void, select, (DType dtype, const Operand& condition, const Operand& a, const Operand& b, void* out,
                      const Shape& shape))
/// Element by element as C++ casts; to bool: x ≠ 0.
KERNEL(void, cast, (DType from, DType to, const Operand& a, void* out, const Shape& shape))
/// float16 or bfloat16 to float32, and back: rounded to nearest, halves to even.
KERNEL(void, widen, (DType narrow, const std::uint16_t* from, float* to, std::int64_t count))
KERNEL(void, narrow, (DType narrow, const float* from, std::uint16_t* to, std::int64_t count))

// ---- moving elements of `size` bytes (1, 2, 4, 8 or 16) without changing them: copy ----
/// target[i·target_strides] = source[i·source_strides] for every index i of `shape`; strides in elements. No
/// target element is written twice.
KERNEL(void, copy, (std::size_t size, const void* source, const Strides& source_strides, void* target,
                    const Strides& target_strides, const Shape& shape))
/// Writes the element at `value`, in host memory, `count` times.
KERNEL(void, fill, (std::size_t size, const void* value, void* target, std::int64_t count))
/// Contiguous rows: target[o, i] = source[o, indices[i]], each of `row_bytes`. Indices lie in [0, count).
KERNEL(void, gather_rows, (const void* source, std::int64_t outer, std::int64_t count, const std::int64_t* indices,
                           std::int64_t index_count, std::size_t row_bytes, void* target))
/// out[i] = values[i·count + indices[i]]; indices lie in [0, count).
KERNEL(void, pick, (std::size_t size, const void* values, std::int64_t rows, std::int64_t count,
                    const std::int64_t* indices, void* out))
/// Contiguous rows: target[numbers[i]] = source[i] in order of i, each of `row_bytes`. Numbers lie in range.
KERNEL(void, scatter_rows, (const void* source, const std::int64_t* numbers, std::int64_t count,
                            std::size_t row_bytes, void* target))

// ---- indices that come as values: indices ----
// On the CPU the output behind a bad index stays unwritten. A GPU does not wait for the check: it continues, and the
// host's next read from the device throws an error that names `what`.
/// Writes int32 or int64 indices as int64 and returns the first that lies outside [low, high); a GPU writes `low` in
/// its place.
KERNEL(std::optional<BadIndex>, check_indices, (DType dtype, const void* indices, std::int64_t count,
                                                std::int64_t low, std::int64_t high, std::int64_t* out,
                                                const std::string& what))
/// out: outer × depth × inner elements of `size` bytes; indices: outer × inner, int32 or int64. out[o, k, i] is
/// `on` where k is the index, else `off`; both are in host memory. Any index is allowed.
KERNEL(void, one_hot, (std::size_t size, DType dtype, const void* indices, std::int64_t outer, std::int64_t depth,
                       std::int64_t inner, const void* on, const void* off, void* out))
/// Of `rows` contiguous rows of int32 or int64 coordinates in `shape`, one for each of its axes: their row-major
/// numbers, of row r plus ⌊r / rows_per_batch⌋·(elements of shape). Returns the first row that lies outside; a GPU
/// writes 0 in its place.
KERNEL(std::optional<std::int64_t>, slice_numbers, (DType dtype, const void* coordinates, std::int64_t rows,
                                                    const Shape& shape, std::int64_t rows_per_batch,
                                                    std::int64_t* out, const std::string& what))
/// out[x[i]] = i, of numbers in [0, count). Returns the first i whose number occurred before; out[x[i]] then says
/// where.
KERNEL(std::optional<std::int64_t>, invert_permutation, (const std::int64_t* x, std::int64_t count,
                                                         std::int64_t* out, const std::string& what))

// ---- positions of values: search, in_top_k, distinct ----
/// The number of true flags. A GPU waits for it.
KERNEL(std::int64_t, count_true, (const bool* flags, std::int64_t count))
/// The coordinates of the first `room` true flags of `shape`, in row-major order, as room × rank. Returns the number of
/// rows written; a GPU does not count again and returns `room`, which count_true gave.
KERNEL(std::int64_t, true_coordinates, (const bool* flags, const Shape& shape, std::int64_t room,
                                        std::int64_t* out))
/// Whether one of the flags is true. A GPU returns false without waiting; if a flag is true, the host's next read from
/// the device throws InvalidArgumentError with this text.
KERNEL(bool, any, (const bool* flags, std::int64_t count, const std::string& error))
/// out[i]: the position at which values[i] can be inserted into sequence ⌊i / per_row⌋ of `length` ascending values so
/// that it stays sorted, by bisection: before equal values or, with `right`, after them. Not for bool. `places`: int32
/// or int64, the dtype of `out`.
KERNEL(void, search_rows, (bool right, DType dtype, const void* sequences, std::int64_t length, const void* values,
                           std::int64_t count, std::int64_t per_row, DType places, void* out))
/// out[i]: whether fewer than `k` values of row i are larger than that at targets[i]. False if that is not an index in
/// the row, or the row holds NaN or ∞ (TensorFlow's rules). float32 or float64.
KERNEL(void, in_top_k, (DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                        const std::int64_t* targets, std::int64_t k, bool* out))
/// NaN equals nothing, so each NaN is a separate value; −0 equals 0.
CPU_KERNEL(Distinct, distinct_values, (DType dtype, const void* values, std::int64_t count))

// ---- numbers at equal steps: sequence; diagonals and bands of matrices, contiguous: diagonals ----
/// out[i] = start + i·delta, cast to `dtype` (one that has kernels).
KERNEL(void, sequence, (DType dtype, const Sequence& of, void* out, std::int64_t count))
/// out[i] = start + (stop − start)·i / (count − 1), computed in float64, without overflow if the ends are finite; the
/// last one is `stop` itself. One number is `start`. The ends are one value of `dtype` each, a floating one.
KERNEL(void, linspace, (DType dtype, const Values& start, const Values& stop, void* out, std::int64_t count))
/// Zeros where i − j > lower or j − i > upper; neither is negative.
KERNEL(void, band_part, (std::size_t size, const void* matrices, std::int64_t count, std::int64_t rows,
                         std::int64_t columns, std::int64_t lower, std::int64_t upper, void* out))
/// Between `count` matrices and their diagonals; what is not on a diagonal stays.
KERNEL(void, pack_diagonals, (std::size_t size, const DiagonalBand& band, const void* matrices, std::int64_t count,
                              void* packed))
KERNEL(void, unpack_diagonals, (std::size_t size, const DiagonalBand& band, const void* packed, std::int64_t count,
                                void* matrices))

// ---- reductions over one axis of a contiguous array: reduce, length_scales ----
// Blocks have fixed sizes and are combined in order, and every block adds in a fixed pattern of lanes, so results
// have the same bits whatever the number of threads and the width of the registers.
/// values: outer × count × inner, row-major; out: outer × inner. Sums of float32 add block results in float64.
/// An empty axis gives the reduction's neutral element (max: −∞ or the lowest integer).
KERNEL(void, reduce, (Reduction op, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                      std::int64_t inner, void* out))
/// Index of the largest (or smallest) value, the first of equals, a NaN before all. `count` is not 0.
KERNEL(void, arg_extreme, (bool largest, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                           std::int64_t inner, std::int64_t* out))
/// Σ a[i]·b[i].
KERNEL(void, dot, (DType dtype, const void* a, const void* b, std::int64_t count, void* out))
/// Σ (a[i] − b[i])², of float32 or float64.
KERNEL(void, squared_distance, (DType dtype, const void* a, const void* b, std::int64_t count, void* out))
/// Of sums of squares of float32 or float64 values, and the largest of their sizes: 2⁻ᵉ with the exponent e of
/// largest[i], where that is a finite number above 0 and sums[i] has lost digits (keeps_digits); else 1. e is
/// bounded so that 2ᵉ and 2⁻ᵉ are normal numbers.
KERNEL(void, length_scales, (DType dtype, const void* sums, const void* largest, std::int64_t count, void* scales))

// ---- along rows: scan, segment, sort, softmax ----
/// values and out: outer × count × inner, row-major. Runs along the middle axis, one element after the other;
/// float32 is carried in float64, whole numbers wrap around. Not for bool.
KERNEL(void, scan, (Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                    std::int64_t inner, void* out))
/// The same for ln Σ eˣ of float32 or float64; −∞ for the sum of nothing. `kind.product` means nothing here.
KERNEL(void, scan_log_sum_exp, (Scan kind, DType dtype, const void* values, std::int64_t outer,
                                std::int64_t count, std::int64_t inner, void* out))
/// rows × count, row-major: the largest value so far and its position; of equal values the latest. From the first NaN
/// on, all results are NaN. Not for bool.
KERNEL(void, scan_max, (bool reverse, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                        void* out, std::int32_t* positions))
/// target[segments[i]] = op(target[segments[i]], rows[i]) in order of i; target (segment_count × width) starts
/// with the op's neutral element. Segments lie in range; rows with a negative one are left out. Sums and products
/// of whole numbers wrap around; extremes are NaN where one is among the values. Of bool there are sums alone:
/// true where any is.
KERNEL(void, segment_rows, (Segment op, DType dtype, const void* rows, const std::int64_t* segments,
                            std::int64_t count, std::int64_t width, void* target))
/// Writes the neutral element: 0, 1, the lowest or the highest finite number.
KERNEL(void, segment_neutral, (Segment op, DType dtype, void* target, std::int64_t count))
/// The values of each of the contiguous `rows` × `count`, in order. NaN counts as larger than every number. Equal
/// values keep their order. Not for bool.
KERNEL(void, sort_rows, (bool descending, DType dtype, const void* values, std::int64_t rows, std::int64_t count,
                         void* out))
/// The positions of those values.
KERNEL(void, argsort_rows, (bool descending, DType dtype, const void* values, std::int64_t rows,
                            std::int64_t count, std::int32_t* out))
/// The first `k` ≤ `count` of the descending order: values and positions, rows × k.
KERNEL(void, top_k_rows, (DType dtype, const void* values, std::int64_t rows, std::int64_t count, std::int64_t k,
                          void* out, std::int32_t* positions))
/// exp(x − max) / Σ exp(x − max), row by row, of contiguous float32 or float64.
KERNEL(void, softmax, (DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out))
/// x − max − log Σ exp(x − max), row by row.
KERNEL(void, log_softmax, (DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out))
/// max + log Σ exp(x − max), one number a row; an infinite maximum is the answer itself.
KERNEL(void, logsumexp, (DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out))

// ---- random numbers: random ----
// Element i of an output depends only on (key, counter + i / n, i % n), so every thread computes the same value.
/// Uniform on [low, high): float32 with 24 random bits, float64 with 53.
KERNEL(void, random_uniform, (DType dtype, const StreamPlace& place, double low, double high, void* out,
                              std::int64_t count))
/// Uniform on the whole numbers [low, high), low < high.
KERNEL(void, random_integers, (DType dtype, const StreamPlace& place, std::int64_t low, std::int64_t high,
                               void* out, std::int64_t count))
/// Normal, by Box and Muller's method; `truncated`: values further than two standard deviations are drawn again.
KERNEL(void, random_normal, (DType dtype, const StreamPlace& place, double mean, double deviation, bool truncated,
                             void* out, std::int64_t count))
/// out[i] = x[i] / (1 − rate), or 0 with probability rate, in [0, 1): where the 24 random bits of random_uniform
/// of float32, as a fraction, are below it.
KERNEL(void, random_dropout, (DType dtype, const StreamPlace& place, double rate, const void* x, void* out,
                              std::int64_t count))

// ---- random numbers of other distributions: random_draws, gamma_gradient ----
// One block per number; the counter's third word counts the attempts where a number takes several.
/// out[b, i]: the number of a class, class k with probability exp(logits[b, k]) / Σ exp(logits[b, :]). Returns the
/// first row that has NaN, +∞ or no finite value (out is then incomplete), or −1.
CPU_KERNEL(std::int64_t, random_classes, (DType logits_dtype, const void* logits, std::int64_t rows,
                                          std::int64_t classes, const StreamPlace& place, DType dtype, void* out,
                                          std::int64_t samples))
/// out[i]: gamma distributed with shape parameter alpha[i % alpha_count] and scale 1.
CPU_KERNEL(void, random_gamma, (DType dtype, const void* alpha, std::int64_t alpha_count, const StreamPlace& place,
                                void* out, std::int64_t count))
/// out[i]: derivative number `order` (0: the slope itself) with respect to alpha, at a fixed sample, of the slope
/// dx/dα of the gamma distribution's quantile x = sample[i] at α = alpha[i]. NaN where either is not a finite
/// number above 0.
CPU_KERNEL(void, random_gamma_slope, (int order, DType dtype, const void* alpha, const void* sample, void* out,
                                      std::int64_t count))
/// out[i]: a whole number of the Poisson distribution with mean lam[i % lam_count], finite and at least 0, cut to
/// what dtype holds.
CPU_KERNEL(void, random_poisson, (const double* lam, std::int64_t lam_count, const StreamPlace& place, DType dtype,
                                  void* out, std::int64_t count))
/// out[i]: a whole number of the binomial distribution of counts[i] draws, a whole number, with probability
/// probabilities[i], cut to what dtype holds.
CPU_KERNEL(void, random_binomial, (const double* counts, const double* probabilities, const StreamPlace& place,
                                   DType dtype, void* out, std::int64_t count))

// ---- complex numbers: complex, fourier ----
/// √(re² + im²) of contiguous values, complex64 or complex128.
CPU_KERNEL(void, magnitudes, (DType dtype, const void* values, void* out, std::int64_t count))
/// The discrete Fourier transform along the middle axis of outer × count × inner values, in place. `inverse`: with
/// e^(+2πi·kn/count), and divided by count.
CPU_KERNEL(void, fourier, (bool inverse, DType dtype, void* values, std::int64_t outer, std::int64_t count,
                           std::int64_t inner))
/// The first count / 2 + 1 numbers of the transforms of `lines` rows of `count` real numbers, float32 or float64; the
/// others are their conjugates.
CPU_KERNEL(void, real_fourier, (DType dtype, const void* values, std::int64_t lines, std::int64_t count, void* out))

// ---- distributions: incomplete_gamma, incomplete_beta ----
// Over contiguous float32 or float64 values: see cpu/loops/incomplete_gamma.h and cpu/loops/incomplete_beta.h.
KERNEL(void, incomplete_gamma, (bool upper, DType dtype, const void* a, const void* x, void* out,
                                std::int64_t count))
KERNEL(void, gamma_density, (DType dtype, const void* a, const void* x, void* out, std::int64_t count))
KERNEL(void, incomplete_beta, (DType dtype, const void* a, const void* b, const void* x, void* out,
                               std::int64_t count))
KERNEL(void, beta_density, (DType dtype, const void* a, const void* b, const void* x, void* out,
                            std::int64_t count))

// ---- products: matmul ----
/// One product for each pair of first elements in `a` and `b`, lists in host memory; the results follow one another in
/// `out`, contiguous. Results do not depend on the number of threads; the calling thread checks for interrupts. If the
/// table's multiplies_halves is set, float16 and bfloat16 are passed directly, too, and accumulated in float32.
KERNEL(void, matmul, (DType dtype, const MatmulSize& size, std::span<const void* const> a,
                      std::span<const void* const> b, void* out))

// ---- decompositions of each matrix of a batch: linear_algebra; singular_values, symmetric_eigen ----
// As in cpu/linear_algebra/linear_algebra.h. Each returns the first matrix that fails. A GPU does not wait for that:
// the host's next read from the device throws InvalidArgumentError with this text.
KERNEL(std::optional<MatrixFailure>, cholesky, (const Matrices& of, const void* a, void* l, const FailureText& text))
/// `orders`: int32 or int64, the dtype of `order`.
KERNEL(std::optional<MatrixFailure>, lu, (const Matrices& of, const void* a, void* packed, DType orders, void* order,
                                          const FailureText& text))
KERNEL(std::optional<MatrixFailure>, inverse, (const Matrices& of, bool transposed, const void* a, void* out,
                                               const FailureText& text))
/// `of`: the right-hand sides.
KERNEL(std::optional<MatrixFailure>, solve, (const Matrices& of, bool transposed, const void* a, const void* b,
                                             void* x, const FailureText& text))
KERNEL(std::optional<MatrixFailure>, triangular_solve, (const Matrices& of, bool lower, bool transposed,
                                                        const void* a, const void* b, void* x, const FailureText& text))
KERNEL(void, determinant, (const Matrices& of, const void* a, void* out))
KERNEL(void, log_determinant, (const Matrices& of, const void* a, void* sign, void* log))
KERNEL(void, qr, (const Matrices& of, bool full, const void* a, void* q, void* r))
/// u and v may both be nullptr.
KERNEL(void, svd, (const Matrices& of, bool full, const void* a, void* s, void* u, void* v))
/// v may be nullptr. Fails if the iteration does not converge; there is no pivot, so `place` is 0.
KERNEL(std::optional<MatrixFailure>, symmetric_eigen, (const Matrices& of, const void* a, void* e, void* v,
                                                       const FailureText& text))
/// Of any square matrices; e and v are complex, a is of any of the four dtypes. Fails as above.
CPU_KERNEL(std::optional<MatrixFailure>, general_eigen, (const Matrices& of, const void* a, void* e, void* v))
KERNEL(void, pseudo_inverse, (const Matrices& of, double rcond, const void* a, void* out))
CPU_KERNEL(void, cofactor, (const Matrices& of, const void* a, void* out))
CPU_KERNEL(void, cofactor_derivative, (const Matrices& of, const void* a, const void* direction, void* out))
/// Fails if there is no real root, or logarithm; `place` is 0.
CPU_KERNEL(std::optional<MatrixFailure>, matrix_square_root, (const Matrices& of, const void* a, void* out))
CPU_KERNEL(std::optional<MatrixFailure>, matrix_logarithm, (const Matrices& of, const void* a, void* out))
CPU_KERNEL(void, matrix_exponential, (const Matrices& of, const void* a, void* out))

// ---- images: convolution, pooling, resample ----
/// out[n, y, x, o] = Σ input[n, y·stride + i·dilation − before, …, c]·filter[i, j, c, o].
KERNEL(void, convolution, (DType dtype, const ConvolutionSize& size, const void* input, const void* filter,
                           void* out))
/// The gradient with respect to the input: `out` has the input's shape.
KERNEL(void, convolution_input_gradient, (DType dtype, const ConvolutionSize& size, const void* filter,
                                          const void* gradient, void* out))
/// The gradient with respect to the filter: `out` has the filter's shape. Images are cut into blocks that do not
/// depend on the number of threads, and summed in order.
KERNEL(void, convolution_filter_gradient, (DType dtype, const ConvolutionSize& size, const void* input,
                                           const void* gradient, void* out))
/// The largest value of each window, a NaN before all. Images are contiguous batch, height, width, channels. Any
/// dtype but bool.
KERNEL(void, max_pool, (DType dtype, const PoolingSize& size, const void* input, void* out))
/// Adds each window's gradient to the place of the window's first largest value; `out` has the input's shape.
KERNEL(void, max_pool_scatter, (DType dtype, const PoolingSize& size, const void* input, const void* gradient,
                                void* out))
/// The value of `values` (of the input's shape) at the place of each window's first largest input.
KERNEL(void, max_pool_gather, (DType dtype, const PoolingSize& size, const void* input, const void* values,
                               void* out))
/// Where each window's first largest value is: (y·width + x)·channels + channel, within its image.
KERNEL(void, max_pool_positions, (DType dtype, const PoolingSize& size, const void* input, std::int64_t* out))
/// The mean of each window's values inside the image. float32 or float64.
KERNEL(void, avg_pool, (DType dtype, const PoolingSize& size, const void* input, void* out))
/// Spreads each window's gradient over its values; `out` has the input's shape.
KERNEL(void, avg_pool_scatter, (DType dtype, const PoolingSize& size, const void* gradient, void* out))
/// out[o, j, i] = Σₖ weights[j, k]·x[o, indices[j, k], i], added in order of k, in doubles. float32 or float64;
/// indices lie in range.
KERNEL(void, resample, (DType dtype, const ResampleSize& size, const void* x, const std::int64_t* indices,
                        const void* weights, void* out))
/// The transpose: out[o, e, i] = Σ weights[j, k]·dy[o, j, i] over all j, k with indices[j, k] = e, in their order.
KERNEL(void, resample_gradient, (DType dtype, const ResampleSize& size, const void* dy,
                                 const std::int64_t* indices, const void* weights, void* out))

// ---- layers, of float32 or float64: normalization, attention, recurrent, recurrent_gradient ----
/// y = (x − mean) / √(variance + epsilon)·scale + offset; scale, offset, mean and variance have one value for
/// each channel. The mean and the variance of nothing are NaN.
KERNEL(void, batch_norm, (DType dtype, const Channels& of, const void* x, const void* scale, const void* offset,
                          double epsilon, void* y, void* mean, void* variance))
/// dx is the gradient through the statistics, too.
KERNEL(void, batch_norm_gradient, (DType dtype, const Channels& of, const void* x, const void* scale,
                                   const void* mean, const void* variance, const void* dy, double epsilon,
                                   void* dx, void* dscale, void* doffset))
/// The same of `rows` rows of `count` values; mean and variance have one value for each row, scale and offset one
/// for each place in a row.
KERNEL(void, layer_norm, (DType dtype, std::int64_t rows, std::int64_t count, const void* x, const void* scale,
                          const void* offset, double epsilon, void* y, void* mean, void* variance))
KERNEL(void, layer_norm_gradient, (DType dtype, std::int64_t rows, std::int64_t count, const void* x,
                                   const void* scale, const void* mean, const void* variance, const void* dy,
                                   double epsilon, void* dx, void* dscale, void* doffset))
/// Scaled dot-product attention (Vaswani et al. 2017, arXiv:1706.03762): softmax(scale·Q·Kᵀ + bias)·V for each of
/// many matrices. `weights` is contiguous, (batch, queries, keys).
KERNEL(void, attention, (DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                         const AttentionMatrices& keys, const AttentionMatrices& values, const AttentionBias& bias,
                         const AttentionMatrices& out, void* weights))
KERNEL(void, attention_gradient, (DType dtype, const AttentionSize& size, const AttentionMatrices& queries,
                                  const AttentionMatrices& keys, const AttentionMatrices& values,
                                  const void* weights, const AttentionCotangents& cotangents,
                                  const AttentionGradients& gradients))
/// A layer over whole sequences: Hochreiter and Schmidhuber, "Long short-term memory", Neural Computation 9(8),
/// 1997; Cho et al. 2014, arXiv:1406.1078 (GRU).
KERNEL(void, recurrent, (RecurrentCell cell, DType dtype, const RecurrentSize& size, const RecurrentInputs& inputs,
                         const RecurrentResults& results))
KERNEL(void, recurrent_gradient, (RecurrentCell cell, DType dtype, const RecurrentSize& size,
                                  const RecurrentInputs& inputs, const RecurrentResults& results,
                                  const RecurrentCotangents& cotangents, const RecurrentGradients& gradients))

// ---- optimisers: update, sum_rows ----
/// One step, element by element, in one pass over memory. `numbers`, in host memory: learning rate and the like, the
/// same for all elements. float32 or float64.
KERNEL(void, update, (Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
                      std::int64_t count))
/// The same for rows of `width` elements, in place: row rows[k] of the targets takes row k of the gradient. Each row
/// occurs once; negative ones are skipped.
KERNEL(void, update_rows, (Update rule, DType dtype, const UpdateArrays& arrays, const double* numbers,
                           const std::int64_t* rows, std::int64_t count, std::int64_t width))
/// Adds up the rows of `values`, count × width, that have the same number, in their order: `distinct` gets each number
/// once, rising, and `sums` the sum for each. Returns how many there are. A GPU does not wait for that: it returns
/// `count`, and the numbers behind the last one are −1. float32 or float64.
KERNEL(std::int64_t, sum_rows, (DType dtype, const void* values, const std::int64_t* numbers, std::int64_t count,
                                std::int64_t width, std::int64_t* distinct, void* sums))

// ---- summaries of values (inspection.h): statistics ----
// The inspector reads host memory directly. `gpu`: the number of the GPU that has the values; no op runs meanwhile.
// Results are in host memory; these kernels wait for them. No narrow dtypes.
/// Each block of values gives one result, in their order; so do `differences`.
GPU_KERNEL(void, summarize, (int gpu, DType dtype, const void* values, std::int64_t count, BlockSummary* blocks))
/// Finite values in equal bins from minimum to maximum, at least one; up to 12,288.
GPU_KERNEL(void, histogram, (int gpu, DType dtype, const void* values, std::int64_t count, double minimum,
                             double maximum, std::span<std::uint64_t> counts))
/// Row-major.
GPU_KERNEL(void, cell_values, (int gpu, DType dtype, const void* values, const Cells& cells, CellValue which,
                               double* results))
GPU_KERNEL(void, differences, (int gpu, DType dtype, const void* a, const void* b, std::int64_t count,
                               const AllowedDifference& allowed, BlockDifference* blocks))

// clang-format on
#undef KERNEL
#undef CPU_KERNEL
#undef GPU_KERNEL
