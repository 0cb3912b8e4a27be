#include "engine/cpu/loops/elementwise.h"

#include <algorithm>
#include <cstring>

#include "engine/cpu/blocks.h"
#include "engine/cpu/dispatch.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/elements.h"
#include "engine/cpu/loops/iterate.h"

namespace tapedeck::cpu {
namespace {

constexpr std::int64_t stream_buffer_bytes = 8192;
constexpr std::int64_t few = 64;  ///< elements that one thread processes whatever they cost

int index_of(DType dtype) {
  return static_cast<int>(dtype);
}

UnaryLoop loop_of(Unary op, DType dtype) {
  const UnaryLoop loop = loops().unary[static_cast<int>(op)][index_of(dtype)];
  if (!loop) [[unlikely]]
    fail<UnimplementedError>("no kernel for ", dtype_name(dtype));
  return loop;
}
BinaryLoop loop_of(Binary op, DType dtype) {
  const BinaryLoop loop = loops().binary[static_cast<int>(op)][index_of(dtype)];
  if (!loop) [[unlikely]]
    fail<UnimplementedError>("no kernel for ", dtype_name(dtype));
  return loop;
}

struct Function {
  double cost, wide_cost;  ///< nanoseconds an element, of float32 and of others, to choose blocks
  bool truth;              ///< the result is a truth value
};
constexpr bool result_same = false, result_truth = true;
#define TAPEDECK_FUNCTION(name, domain, others, result, cost, wide_cost, ...) \
  {cost, wide_cost, result_##result},
constexpr Function unary_functions[] = {TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_FUNCTION)};
constexpr Function binary_functions[] = {TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_FUNCTION)};
#undef TAPEDECK_FUNCTION

constexpr const Function& function_of(Unary op) {
  return unary_functions[static_cast<int>(op)];
}
constexpr const Function& function_of(Binary op) {
  return binary_functions[static_cast<int>(op)];
}

template <class Op>
double cost_of(Op op, DType dtype) {
  return dtype == DType::float32 ? function_of(op).cost : function_of(op).wide_cost;
}
double cost_of(Binary op, DType dtype, const void* b, std::int64_t b_step) {
  const bool simple = op == Binary::pow && b_step == 0 &&
                      ((dtype == DType::float32 && is_simple_power(*static_cast<const float*>(b))) ||
                       (dtype == DType::float64 && is_simple_power(*static_cast<const double*>(b))));
  return cost_of(simple ? Binary::multiply : op, dtype);
}

template <class Op>
std::size_t result_size(Op op, DType dtype) {
  return function_of(op).truth ? 1 : item_size(dtype);
}

/// Calls `compute(begin, count, target)` for blocks of a contiguous output; very long ones go through a small
/// buffer and past the cache.
template <class Compute>
void write_contiguous(void* out, std::int64_t count, std::size_t size, double cost, Compute&& compute) {
  const bool streaming = count * static_cast<std::int64_t>(size) >= streaming_bytes;
  const std::int64_t chunk = stream_buffer_bytes / static_cast<std::int64_t>(size);
  const std::int64_t grain = grain_for(cost) / chunk * chunk;  // blocks start on cache lines
  for_blocks(count, std::max(grain, chunk), [&](std::int64_t begin, std::int64_t end) {
    if (!streaming) return compute(begin, end - begin, static_cast<void*>(at(out, begin, size)));
    alignas(64) char buffer[stream_buffer_bytes];
    for (std::int64_t i = begin; i < end; i += chunk) {
      const std::int64_t n = std::min(chunk, end - i);
      compute(i, n, static_cast<void*>(buffer));
      loops().stream(at(out, i, size), buffer, static_cast<std::size_t>(n) * size);
    }
  });
}

constexpr std::int64_t short_row = 64;        // elements that cost as much as a call of a loop
constexpr std::size_t repeated_bytes = 2048;  // of an operand whose row is repeated

/// Short rows of one operand with one row of the other, such as a bias that is added to pixels of few
/// channels.
bool repeats_a_short_row(const Loops<3>& walk, std::size_t repeated) {
  const std::size_t whole = 1 - repeated;
  return walk.rank == 2 && walk.inner() <= short_row && walk.rows() >= 2 * short_row &&
         walk.inner_stride(whole) == 1 && walk.stride[whole][0] == walk.inner() &&
         walk.inner_stride(repeated) == 1 && walk.stride[repeated][0] == 0;
}

/// The row is repeated in a buffer as often as it fits, so that each call of the loop does many rows.
void binary_of_repeated_row(BinaryLoop loop, const Loops<3>& walk, std::size_t repeated, const Operand& a,
                            const Operand& b, void* out, std::size_t size, std::size_t out_size,
                            double cost) {
  alignas(64) char buffer[repeated_bytes];
  const std::int64_t length = walk.inner();
  const std::int64_t chunk = static_cast<std::int64_t>(repeated_bytes / size) / length * length;
  const void* row = repeated == 0 ? a.data : b.data;
  for (std::int64_t first = 0; first < chunk; first += length)
    std::memcpy(at(buffer, first, size), row, static_cast<std::size_t>(length) * size);
  const std::int64_t count = walk.rows() * length;
  for_blocks((count + chunk - 1) / chunk, std::max<std::int64_t>(1, grain_for(cost) / chunk),
             [&](std::int64_t begin, std::int64_t end) {
               for (std::int64_t i = begin * chunk; i < std::min(end * chunk, count); i += chunk)
                 loop(repeated == 0 ? buffer : at(a.data, i, size), 1,
                      repeated == 1 ? buffer : at(b.data, i, size), 1, at(out, i, out_size),
                      std::min(chunk, count - i));
             });
}

/// Rows of one operand with one element of the other for each, such as weighted pixels. Not powers: which of
/// their loops is taken depends on whether they share an exponent.
bool repeats_short_elements(Binary op, const Loops<3>& walk, std::size_t repeated) {
  const std::size_t whole = 1 - repeated;
  return op != Binary::pow && walk.rank >= 2 && walk.inner() <= short_row &&
         walk.extent[walk.rank - 2] >= short_row && walk.inner_stride(repeated) == 0 &&
         walk.inner_stride(whole) == 1 && walk.stride[whole][walk.rank - 2] == walk.inner();
}

/// `count` elements, `step` apart, each `times` times.
template <class T>
void repeat_elements(const void* from, std::int64_t step, std::int64_t count, std::int64_t times, void* to) {
  const T* __restrict x = static_cast<const T*>(from);
  T* __restrict y = static_cast<T*>(to);
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < times; ++j) y[i * times + j] = x[i * step];
}

/// The elements are repeated in a buffer as often as each is needed, so that each call of the loop does many
/// rows.
void binary_of_repeated_elements(BinaryLoop loop, Loops<3> walk, std::size_t repeated, const Operand& a,
                                 const Operand& b, void* out, std::size_t size, std::size_t out_size,
                                 double cost) {
  const std::int64_t length = walk.inner();
  const std::size_t whole = 1 - repeated;
  --walk.rank;  // whole rows are its elements now
  const std::int64_t chunk = static_cast<std::int64_t>(repeated_bytes / size) / length;
  const auto repeat = size == 8   ? repeat_elements<std::uint64_t>
                      : size == 4 ? repeat_elements<std::uint32_t>
                      : size == 2 ? repeat_elements<std::uint16_t>
                                  : repeat_elements<std::uint8_t>;
  const void* elements = repeated == 0 ? a.data : b.data;
  const void* rows = repeated == 0 ? b.data : a.data;
  walk.for_pieces(std::max<std::int64_t>(1, grain_for(cost) / length),
                  [&](std::int64_t first, std::int64_t n, const auto& start) {
                    alignas(64) char buffer[repeated_bytes];
                    const std::int64_t step = walk.inner_stride(repeated);
                    for (std::int64_t i = first; i < first + n; i += chunk) {
                      const std::int64_t count = std::min(chunk, first + n - i);
                      repeat(at(elements, start[repeated] + i * step, size), step, count, length, buffer);
                      const void* row = at(rows, start[whole] + i * length, size);
                      loop(repeated == 0 ? buffer : row, 1, repeated == 1 ? buffer : row, 1,
                           at(out, start[2] + i * length, out_size), count * length);
                    }
                  });
}

}  // namespace

bool has_kernel(Unary op, DType dtype) {
  return loops().unary[static_cast<int>(op)][index_of(dtype)] != nullptr;
}
bool has_kernel(Binary op, DType dtype) {
  return loops().binary[static_cast<int>(op)][index_of(dtype)] != nullptr;
}

double element_cost(Unary op, DType dtype) {
  return cost_of(op, dtype);
}
double element_cost(Binary op, DType dtype) {
  return cost_of(op, dtype);
}

void unary(Unary op, DType dtype, const void* a, void* out, std::int64_t count) {
  const UnaryLoop loop = loop_of(op, dtype);
  const std::size_t size = item_size(dtype);
  if (count <= few) return loop(a, 1, out, count);
  const double cost = cost_of(op, dtype);
  if (static_cast<double>(count) * cost <= 20000.0) return loop(a, 1, out, count);
  write_contiguous(
      out, count, result_size(op, dtype), cost,
      [&](std::int64_t begin, std::int64_t n, void* target) { loop(at(a, begin, size), 1, target, n); });
}

void unary_strided(Unary op, DType dtype, const Operand& a, void* out, const Shape& shape) {
  const UnaryLoop loop = loop_of(op, dtype);
  const Strides out_strides = contiguous_strides(shape);
  const Loops<2> walk(shape, {&a.strides, &out_strides});
  const std::size_t size = item_size(dtype);
  const std::size_t out_size = result_size(op, dtype);
  walk.for_pieces(grain_for(cost_of(op, dtype)), [&](std::int64_t first, std::int64_t n, const auto& start) {
    const std::int64_t step = walk.inner_stride(0);
    loop(at(a.data, start[0] + first * step, size), step, at(out, start[1] + first, out_size), n);
  });
}

void binary(Binary op, DType dtype, const Values& a, const Values& b, void* out, std::int64_t count) {
  const BinaryLoop loop = loop_of(op, dtype);
  if (count == 0) return;
  // One y for all: which loop a power takes must not depend on how many share it.
  const int b_step = count == 1 ? 0 : b.step;
  if (count <= few) return loop(a.data, a.step, b.data, b_step, out, count);
  const double cost = cost_of(op, dtype, b.data, b_step);
  if (static_cast<double>(count) * cost <= 20000.0) return loop(a.data, a.step, b.data, b_step, out, count);
  const std::size_t size = item_size(dtype);
  write_contiguous(
      out, count, result_size(op, dtype), cost, [&](std::int64_t begin, std::int64_t n, void* target) {
        loop(at(a.data, begin * a.step, size), a.step, at(b.data, begin * b_step, size), b_step, target, n);
      });
}

void binary_strided(Binary op, DType dtype, const Operand& a, const Operand& b, void* out,
                    const Shape& shape) {
  if (element_count(shape) == 0) return;
  const BinaryLoop loop = loop_of(op, dtype);
  const Strides out_strides = contiguous_strides(shape);
  const Loops<3> walk(shape, {&a.strides, &b.strides, &out_strides});
  const std::size_t size = item_size(dtype);
  const std::size_t out_size = result_size(op, dtype);
  for (const std::size_t repeated : {0, 1})
    if (repeats_a_short_row(walk, repeated))
      return binary_of_repeated_row(loop, walk, repeated, a, b, out, size, out_size, cost_of(op, dtype));
  for (const std::size_t repeated : {0, 1})
    if (size <= 8 && repeats_short_elements(op, walk, repeated))
      return binary_of_repeated_elements(loop, walk, repeated, a, b, out, size, out_size, cost_of(op, dtype));
  walk.for_pieces(grain_for(cost_of(op, dtype)), [&](std::int64_t first, std::int64_t n, const auto& start) {
    const std::int64_t a_step = walk.inner_stride(0);
    const std::int64_t b_step = walk.inner_stride(1);
    loop(at(a.data, start[0] + first * a_step, size), a_step, at(b.data, start[1] + first * b_step, size),
         b_step, at(out, start[2] + first, out_size), n);
  });
}

void clip(DType dtype, const void* x, const Values& low, const Values& high, void* out, std::int64_t count) {
  const auto loop = loops().clip[index_of(dtype)];
  const std::size_t size = item_size(dtype);
  write_contiguous(out, count, size, cost_of(Binary::add, dtype),
                   [&](std::int64_t begin, std::int64_t n, void* target) {
                     loop(at(x, begin, size), low.data, high.data, target, n);
                   });
}

void widen(DType narrow, const std::uint16_t* from, float* to, std::int64_t count) {
  const auto loop = narrow == DType::float16 ? loops().widen_float16 : loops().widen_bfloat16;
  for_blocks(count, grain_for(0.3),
             [=](std::int64_t begin, std::int64_t end) { loop(from + begin, to + begin, end - begin); });
}

void narrow(DType narrow, const float* from, std::uint16_t* to, std::int64_t count) {
  const auto loop = narrow == DType::float16 ? loops().narrow_float16 : loops().narrow_bfloat16;
  for_blocks(count, grain_for(0.3),
             [=](std::int64_t begin, std::int64_t end) { loop(from + begin, to + begin, end - begin); });
}

void scaled_sum(DType dtype, const Values& a, const void* x, const Values& b, const void* y, void* out,
                std::int64_t count) {
  const ScaledSumLoop loop = loops().scaled_sum[index_of(dtype)];
  const double cost = 0.5;
  if (static_cast<double>(count) * cost <= 20000.0) return loop(a.data, x, b.data, y, out, count);
  const std::size_t size = item_size(dtype);
  write_contiguous(out, count, size, cost, [&](std::int64_t begin, std::int64_t n, void* target) {
    loop(a.data, at(x, begin, size), b.data, at(y, begin, size), target, n);
  });
}

void select(DType dtype, const Operand& condition, const Operand& a, const Operand& b, void* out,
            const Shape& shape) {
  const SelectLoop loop = loops().select[index_of(dtype)];
  const Strides out_strides = contiguous_strides(shape);
  const Loops<4> walk(shape, {&condition.strides, &a.strides, &b.strides, &out_strides});
  const std::size_t size = item_size(dtype);
  walk.for_pieces(grain_for(0.4), [&](std::int64_t first, std::int64_t n, const auto& start) {
    const std::int64_t c_step = walk.inner_stride(0);
    const std::int64_t a_step = walk.inner_stride(1);
    const std::int64_t b_step = walk.inner_stride(2);
    loop(at(condition.data, start[0] + first * c_step, 1), c_step,
         at(a.data, start[1] + first * a_step, size), a_step, at(b.data, start[2] + first * b_step, size),
         b_step, at(out, start[3] + first, size), n);
  });
}

void cast(DType from, DType to, const Operand& a, void* out, const Shape& shape) {
  const UnaryLoop loop = loops().cast[index_of(from)][index_of(to)];
  if (!loop) [[unlikely]]
    fail<UnimplementedError>("no conversion from ", dtype_name(from), " to ", dtype_name(to));
  const Strides out_strides = contiguous_strides(shape);
  const Loops<2> walk(shape, {&a.strides, &out_strides});
  walk.for_pieces(grain_for(0.4), [&](std::int64_t first, std::int64_t n, const auto& start) {
    const std::int64_t step = walk.inner_stride(0);
    loop(at(a.data, start[0] + first * step, item_size(from)), step, at(out, start[1] + first, item_size(to)),
         n);
  });
}

}  // namespace tapedeck::cpu
