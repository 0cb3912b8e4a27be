// Rows joined by number, in their order, so that results are the same from run to run.
//
// Of few rows, the warp of each segment's first one looks for the others. Many are sorted by segment first.
// Segments of up to `piece` rows have the CPU's bits. Of longer ones, pieces are joined apart (sums of
// float32 in float64), which changes the order of a sum alone: it differs from the CPU's by at most
// n·ε·Σ|x|, ε being 2⁻²³ or 2⁻⁵², and a sum of float64 may overflow in a piece where it would not in order.
#include <bit>
#include <limits>
#include <type_traits>

#include "engine/cuda/kernels.h"
#include "engine/cuda/primitives.h"
#include "engine/cuda/warp.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

constexpr std::int64_t few_rows = 1024;
constexpr std::int64_t piece = 1024;  ///< rows of a segment that are joined one after the other

// ---- what is joined ----

struct Add {
  static constexpr bool in_pieces = true;
  template <class T>
  __device__ __forceinline__ static T join(T a, T b) {
    return a + b;
  }
};
/// Not in pieces: one might overflow or vanish where the product in order does not.
struct Multiply {
  static constexpr bool in_pieces = false;
  template <class T>
  __device__ __forceinline__ static T join(T a, T b) {
    return a * b;
  }
};
struct Larger {
  static constexpr bool in_pieces = true;
  template <class T>
  __device__ __forceinline__ static T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
};
struct Smaller {
  static constexpr bool in_pieces = true;
  template <class T>
  __device__ __forceinline__ static T join(T a, T b) {
    return b < a || b != b ? b : a;
  }
};
struct Or {
  static constexpr bool in_pieces = true;
  template <class T>
  __device__ __forceinline__ static T join(T a, T b) {
    return static_cast<T>(a | b);
  }
};

/// Of a piece behind the first.
template <class Op, class T>
using Partial = std::conditional_t<std::is_same_v<Op, Add> && std::is_same_v<T, float>, double, T>;

template <class T>
struct Rows {
  const T* values;
  std::int64_t width;
  __device__ __host__ std::int64_t tiles() const {
    return width == 1 ? 1 : (width + warp_lanes - 1) / warp_lanes;
  }
};

/// Joins the rows whose numbers the lanes have, those of `lanes` in order, to `joined`: of one column, or of
/// the column of each lane.
template <class Op, class State, class T>
__device__ __forceinline__ State join_rows(const Rows<T>& rows, std::int64_t number, unsigned lanes,
                                           std::int64_t column, State joined) {
  if (rows.width == 1) {
    const bool own = (lanes >> lane_number() & 1U) != 0;
    const T value = own ? rows.values[number] : T(0);
    for (; lanes != 0; lanes &= lanes - 1)
      joined = Op::join(joined, static_cast<State>(shuffle(value, __ffs(static_cast<int>(lanes)) - 1)));
    return joined;
  }
#pragma unroll 4
  for (; lanes != 0; lanes &= lanes - 1) {
    const std::int64_t row = shuffle(number, __ffs(static_cast<int>(lanes)) - 1);
    if (column < rows.width)
      joined = Op::join(joined, static_cast<State>(rows.values[row * rows.width + column]));
  }
  return joined;
}
template <class T>
__device__ __forceinline__ bool writes(const Rows<T>& rows, std::int64_t column) {
  return rows.width == 1 ? lane_number() == 0 : column < rows.width;
}

// ---- few rows ----

/// A warp for each row and each 32 columns.
template <class Op, class T>
__global__ void few_rows_kernel(Rows<T> rows, const std::int64_t* segments, std::int64_t count, T* target) {
  const int lane = lane_number();
  for (std::int64_t task = warp_number(); task < count * rows.tiles(); task += warp_count()) {
    const std::int64_t first = task / rows.tiles(), segment = segments[first];
    if (segment < 0) continue;
    const std::int64_t column = rows.width == 1 ? 0 : task % rows.tiles() * warp_lanes + lane;
    bool is_first = true;
    for (std::int64_t begin = 0; begin < first && is_first; begin += warp_lanes) {
      const std::int64_t other = begin + lane;
      is_first = __ballot_sync(whole_warp, other < first && segments[other] == segment ? 1 : 0) == 0;
    }
    if (!is_first) continue;
    const bool inside = column < rows.width;
    T joined = inside ? target[segment * rows.width + column] : T(0);
    for (std::int64_t begin = first; begin < count; begin += warp_lanes) {
      const std::int64_t other = begin + lane;
      const unsigned same = __ballot_sync(whole_warp, other < count && segments[other] == segment ? 1 : 0);
      joined = join_rows<Op>(rows, other, same, column, joined);
    }
    if (writes(rows, column)) target[segment * rows.width + column] = joined;
  }
}

// ---- many rows ----

/// Rows in the order of their segments, as unsigned numbers: negative ones come last.
struct Order {
  const std::uint64_t* segments;
  const std::uint32_t* rows;
  const std::uint32_t* starts;   ///< of each segment
  const std::int64_t* how_many;  ///< segments
  std::int64_t count;

  __device__ __forceinline__ std::int64_t end(std::int64_t segment) const {
    return segment + 1 < *how_many ? starts[segment + 1] : count;
  }
  /// The last segment that starts at `place` or before.
  __device__ __forceinline__ std::int64_t segment_at(std::int64_t place) const {
    std::int64_t low = 0, high = *how_many;
    while (high - low > 1) {
      const std::int64_t middle = (low + high) / 2;
      (starts[middle] <= place ? low : high) = middle;
    }
    return low;
  }
  __device__ __forceinline__ bool is_left_out(std::int64_t place) const {
    return static_cast<std::int64_t>(segments[place]) < 0;
  }
};

/// Joins the rows from `begin` to `end` of the order.
template <class Op, class State, class T>
__device__ __forceinline__ State join_ordered(const Rows<T>& rows, const Order& order, std::int64_t begin,
                                              std::int64_t end, std::int64_t column, State joined) {
  for (; begin < end; begin += warp_lanes) {
    const std::int64_t place = begin + lane_number();
    const std::int64_t number = place < end ? order.rows[place] : 0;
    const unsigned lanes = end - begin < warp_lanes ? (1U << (end - begin)) - 1 : whole_warp;
    joined = join_rows<Op>(rows, number, lanes, column, joined);
  }
  return joined;
}

__global__ void order_kernel(const std::int64_t* segments, std::int64_t count, std::uint64_t* keys,
                             std::uint32_t* numbers) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) {
    keys[i] = static_cast<std::uint64_t>(segments[i]);
    numbers[i] = static_cast<std::uint32_t>(i);
  }
}
__global__ void starts_kernel(const std::uint64_t* segments, std::int64_t count, std::uint8_t* starts) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count())
    starts[i] = i == 0 || segments[i] != segments[i - 1] ? 1 : 0;
}

/// The first piece of each segment goes to the target.
template <class Op, class T>
__global__ void first_pieces_kernel(Rows<T> rows, Order order, T* target) {
  for (std::int64_t task = warp_number(); task < *order.how_many * rows.tiles(); task += warp_count()) {
    const std::int64_t number = task / rows.tiles(), begin = order.starts[number];
    if (order.is_left_out(begin)) continue;
    const std::int64_t whole = order.end(number);
    const std::int64_t end = Op::in_pieces && whole > begin + piece ? begin + piece : whole;
    const std::int64_t column = rows.width == 1 ? 0 : task % rows.tiles() * warp_lanes + lane_number();
    T* const to = target + static_cast<std::int64_t>(order.segments[begin]) * rows.width + column;
    const T joined = join_ordered<Op>(rows, order, begin, end, column, column < rows.width ? *to : T(0));
    if (writes(rows, column)) *to = joined;
  }
}

/// The other pieces: one at most begins among the places from k·piece to the next multiple, and it is
/// partial[k].
template <class Op, class T>
__global__ void pieces_kernel(Rows<T> rows, Order order, Partial<Op, T>* partial) {
  using State = Partial<Op, T>;
  const std::int64_t pieces = (order.count + piece - 1) / piece;
  for (std::int64_t task = warp_number(); task < pieces * rows.tiles(); task += warp_count()) {
    const std::int64_t number = task / rows.tiles(), place = number * piece;
    const std::int64_t segment = order.segment_at(place), start = order.starts[segment];
    const std::int64_t begin = start + (place - start + piece - 1) / piece * piece;
    const std::int64_t whole = order.end(segment), end = whole < begin + piece ? whole : begin + piece;
    if (begin == start || begin >= end || order.is_left_out(start)) continue;
    const std::int64_t column = rows.width == 1 ? 0 : task % rows.tiles() * warp_lanes + lane_number();
    const bool inside = column < rows.width;
    const State first =
        inside ? static_cast<State>(rows.values[order.rows[begin] * rows.width + column]) : State(0);
    const State joined = join_ordered<Op>(rows, order, begin + 1, end, column, first);
    if (writes(rows, column)) partial[number * rows.width + column] = joined;
  }
}

/// Joins them to the target.
template <class Op, class T>
__global__ void join_pieces_kernel(Rows<T> rows, Order order, const Partial<Op, T>* partial, T* target) {
  const std::int64_t pieces = (order.count + piece - 1) / piece;
  for (std::int64_t task = thread_number(); task < pieces * rows.width; task += thread_count()) {
    // The thread of a segment's second piece joins them all.
    const std::int64_t place = task / rows.width * piece, column = task % rows.width;
    const std::int64_t segment = order.segment_at(place), start = order.starts[segment];
    const std::int64_t end = order.end(segment);
    if (place <= start || place - start > piece || start + piece >= end || order.is_left_out(start)) continue;
    T* const to = target + static_cast<std::int64_t>(order.segments[start]) * rows.width + column;
    auto joined = static_cast<Partial<Op, T>>(*to);
    const std::int64_t others = (end - start - 1) / piece;
#pragma unroll 8
    for (std::int64_t i = 0; i < others; ++i) joined = Op::join(joined, partial[task + i * rows.width]);
    *to = static_cast<T>(joined);
  }
}

template <class Op, class T>
void join_many(const Rows<T>& rows, const std::int64_t* segments, std::int64_t count, T* target) {
  const auto size = static_cast<std::size_t>(count);
  const Scratch keys(size * 8), sorted_keys(size * 8), numbers(size * 4), sorted_numbers(size * 4);
  const Scratch how_many(sizeof(std::int64_t));
  launch("segment_order", grid_for(count), order_kernel, segments, count, keys.as<std::uint64_t>(),
         numbers.as<std::uint32_t>());
  sort_pairs(keys.as<std::uint64_t>(), numbers.as<std::uint32_t>(), sorted_keys.as<std::uint64_t>(),
             sorted_numbers.as<std::uint32_t>(), count);
  launch("segment_starts", grid_for(count), starts_kernel, sorted_keys.as<std::uint64_t>(), count,
         keys.as<std::uint8_t>());
  select_set(keys.as<std::uint8_t>(), count, numbers.as<std::uint32_t>(), how_many.as<std::int64_t>());
  const Order order{sorted_keys.as<std::uint64_t>(), sorted_numbers.as<std::uint32_t>(),
                    numbers.as<std::uint32_t>(), how_many.as<std::int64_t>(), count};
  launch("segment_rows", grid_of_warps(count * rows.tiles()), first_pieces_kernel<Op, T>, rows, order,
         target);
  if constexpr (Op::in_pieces) {
    const std::int64_t pieces = (count + piece - 1) / piece;
    const Scratch partial(static_cast<std::size_t>(pieces * rows.width) * sizeof(Partial<Op, T>));
    launch("segment_pieces", grid_of_warps(pieces * rows.tiles()), pieces_kernel<Op, T>, rows, order,
           partial.as<Partial<Op, T>>());
    launch("segment_join", grid_for(pieces * rows.width), join_pieces_kernel<Op, T>, rows, order,
           partial.as<Partial<Op, T>>(), target);
  }
}

template <class Op, class T>
void join_as(const void* values, const std::int64_t* segments, std::int64_t count, std::int64_t width,
             void* target) {
  const Rows<T> rows{static_cast<const T*>(values), width};
  if (count * width == 0) return;
  if (count > few_rows) return join_many<Op, T>(rows, segments, count, static_cast<T*>(target));
  launch("segment_rows", grid_of_warps(count * rows.tiles()), few_rows_kernel<Op, T>, rows, segments, count,
         static_cast<T*>(target));
}

/// `Wide` is unsigned for whole numbers, so that overflow wraps around.
template <class T, class Wide>
void join_numbers(kernels::Segment op, const void* rows, const std::int64_t* segments, std::int64_t count,
                  std::int64_t width, void* target) {
  switch (op) {
    case kernels::Segment::sum:
      return join_as<Add, Wide>(rows, segments, count, width, target);
    case kernels::Segment::prod:
      return join_as<Multiply, Wide>(rows, segments, count, width, target);
    case kernels::Segment::max:
      return join_as<Larger, T>(rows, segments, count, width, target);
    case kernels::Segment::min:
      return join_as<Smaller, T>(rows, segments, count, width, target);
  }
}

template <class T>
__global__ void neutral_kernel(T* target, std::int64_t count, T value) {
  for (std::int64_t i = thread_number(); i < count; i += thread_count()) target[i] = value;
}
template <class T>
void write_neutral(kernels::Segment op, void* target, std::int64_t count) {
  const T value = op == kernels::Segment::sum    ? T(0)
                  : op == kernels::Segment::prod ? T(1)
                  : op == kernels::Segment::max  ? std::numeric_limits<T>::lowest()
                                                 : std::numeric_limits<T>::max();
  launch("segment_neutral", grid_for(count), neutral_kernel<T>, static_cast<T*>(target), count, value);
}

}  // namespace

void segment_rows(Segment op, DType dtype, const void* rows, const std::int64_t* segments, std::int64_t count,
                  std::int64_t width, void* target) {
  if (count > std::numeric_limits<std::uint32_t>::max()) throw NoKernel("segment_rows of this many rows");
  switch (dtype) {
    case DType::bool_:
      if (op != kernels::Segment::sum)
        fail<UnimplementedError>("segment_rows: bool has no products and no extremes");
      return join_as<Or, std::uint8_t>(rows, segments, count, width, target);
    case DType::int32:
      return join_numbers<std::int32_t, std::uint32_t>(op, rows, segments, count, width, target);
    case DType::int64:
      return join_numbers<std::int64_t, std::uint64_t>(op, rows, segments, count, width, target);
    case DType::float32:
      return join_numbers<float, float>(op, rows, segments, count, width, target);
    case DType::float64:
      return join_numbers<double, double>(op, rows, segments, count, width, target);
    default:
      throw NoKernel("segment_rows of " + std::string(dtype_name(dtype)));
  }
}

void segment_neutral(Segment op, DType dtype, void* target, std::int64_t count) {
  switch (dtype) {
    case DType::bool_:
      return;  // as the CPU
    case DType::int32:
      return write_neutral<std::int32_t>(op, target, count);
    case DType::int64:
      return write_neutral<std::int64_t>(op, target, count);
    case DType::float32:
      return write_neutral<float>(op, target, count);
    case DType::float64:
      return write_neutral<double>(op, target, count);
    default:
      throw NoKernel("segment_neutral of " + std::string(dtype_name(dtype)));
  }
}

}  // namespace tapedeck::cuda
