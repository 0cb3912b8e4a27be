// Running sums, products, logarithms of sums and maxima.
//
// A warp walks along a contiguous row, a thread along a column of others, one value after the other, with the
// CPU's bits but for the logarithms. Few long rows are cut into segments: each is added up on its own, then
// walked from where the ones before it end. There a running float64 sum differs from the CPU's by at most
// n·2⁻⁵²·Σ|x| (a product by n·2⁻⁵² of itself), float32 by that and one rounding; whole numbers and maxima do
// not differ. Where the order makes no more difference than that, the threads of a warp add up in pairs. Sums
// under a logarithm differ by n·2⁻⁵¹ of themselves. Nothing depends on the order in which threads run.
#include <bit>
#include <cmath>
#include <limits>

#include "engine/cuda/kernels.h"
#include "engine/cuda/warp.h"
#include "engine/tensor/dtype.h"

namespace tapedeck::cuda {
namespace {

// ---- what runs along ----

template <class T, bool product>
struct RunningSum {
  using Value = T;
  using State = std::conditional_t<std::is_floating_point_v<T>, double,
                                   std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>>;
  static constexpr bool in_order = std::is_floating_point_v<T>;
  /// What overflows must, where the row does: sums of float32 cannot.
  static constexpr bool cut_in_order = in_order && (product || sizeof(T) == 8);

  __device__ __forceinline__ static State nothing() { return State(product ? 1 : 0); }
  __device__ __forceinline__ static State of(T value, std::int64_t) { return static_cast<State>(value); }
  __device__ __forceinline__ static State join(State a, State b) { return product ? a * b : a + b; }
  __device__ __forceinline__ static State up(State a, int by) { return shuffle_up(a, by); }
  __device__ __forceinline__ static State from(State a, int lane) { return shuffle(a, lane); }
  /// A segment's sum may overflow where the row's does not, and a product lose its digits.
  __device__ __forceinline__ static bool holds(State a) {
    if constexpr (!std::is_floating_point_v<T>) return true;
    return std::fabs(static_cast<double>(a)) <= std::numeric_limits<double>::max() &&
           (!product || std::fabs(static_cast<double>(a)) >= std::numeric_limits<double>::min());
  }
  __device__ __forceinline__ static void write(State a, std::int64_t at, T* out, std::int32_t*) {
    out[at] = static_cast<T>(a);
  }
};

/// ln Σ eˣ as the largest x and Σ e^(x − largest); a sum of 0 is that of nothing.
struct LogSum {
  double largest, sum;
};
template <class T>
struct RunningLogSum {
  using Value = T;
  using State = LogSum;
  static constexpr bool in_order = false, cut_in_order = false;

  __device__ __forceinline__ static LogSum nothing() {
    return {-std::numeric_limits<double>::infinity(), 0.0};
  }
  __device__ __forceinline__ static LogSum of(T value, std::int64_t) {
    const auto x = static_cast<double>(value);
    return {x, x == -std::numeric_limits<double>::infinity() ? 0.0 : 1.0};
  }
  __device__ __forceinline__ static LogSum join(const LogSum& a, const LogSum& b) {
    if (b.sum == 0.0 || a.largest != a.largest) return a;
    if (a.sum == 0.0 || b.largest != b.largest) return b;
    if (a.largest == b.largest) return {a.largest, a.sum + b.sum};
    const double smaller = std::exp(-std::fabs(a.largest - b.largest));
    return a.largest > b.largest ? LogSum{a.largest, a.sum + b.sum * smaller}
                                 : LogSum{b.largest, a.sum * smaller + b.sum};
  }
  __device__ __forceinline__ static LogSum up(const LogSum& a, int by) {
    return {shuffle_up(a.largest, by), shuffle_up(a.sum, by)};
  }
  __device__ __forceinline__ static LogSum from(const LogSum& a, int lane) {
    return {shuffle(a.largest, lane), shuffle(a.sum, lane)};
  }
  __device__ __forceinline__ static bool holds(const LogSum&) { return true; }
  __device__ __forceinline__ static void write(const LogSum& a, std::int64_t at, T* out, std::int32_t*) {
    out[at] = static_cast<T>(a.largest + std::log(a.sum));
  }
};

template <class T>
struct Placed {
  T value;
  std::int32_t place;  ///< −1: nothing
};
/// Of equal values the latest; from a NaN on the latest NaN.
template <class T>
struct RunningMaximum {
  using Value = T;
  using State = Placed<T>;
  static constexpr bool in_order = false, cut_in_order = false;

  __device__ __forceinline__ static State nothing() { return {T(0), -1}; }
  __device__ __forceinline__ static State of(T value, std::int64_t at) {
    return {value, static_cast<std::int32_t>(at)};
  }
  __device__ __forceinline__ static State join(const State& a, const State& b) {
    if (b.place < 0) return a;
    return a.place < 0 || b.value != b.value || b.value >= a.value ? b : a;
  }
  __device__ __forceinline__ static State up(const State& a, int by) {
    return {shuffle_up(a.value, by), shuffle_up(a.place, by)};
  }
  __device__ __forceinline__ static State from(const State& a, int lane) {
    return {shuffle(a.value, lane), shuffle(a.place, lane)};
  }
  __device__ __forceinline__ static bool holds(const State&) { return true; }
  __device__ __forceinline__ static void write(const State& a, std::int64_t at, T* out,
                                               std::int32_t* positions) {
    out[at] = a.value;
    positions[at] = a.place;
  }
};

// ---- the ways along a row ----

/// Values outer × count × inner, of which each column is cut into segments of `size`.
template <class T>
struct Rows {
  const T* __restrict__ values;
  T* __restrict__ out;
  std::int32_t* __restrict__ positions;
  std::int64_t outer, count, inner, size;
  bool exclusive, reverse;

  __device__ __host__ std::int64_t columns() const { return outer * inner; }
  __device__ __host__ std::int64_t segments() const { return size > 0 ? (count + size - 1) / size : 0; }
};
/// One column of them.
template <class T>
struct Column {
  const T* __restrict__ values;
  T* __restrict__ out;
  std::int32_t* __restrict__ positions;
  std::int64_t count, inner;
  bool exclusive, reverse;

  __device__ __forceinline__ Column(const Rows<T>& rows, std::int64_t number)
      : count(rows.count), inner(rows.inner), exclusive(rows.exclusive), reverse(rows.reverse) {
    const std::int64_t start = number / inner * count * inner + number % inner;
    values = rows.values + start;
    out = rows.out + start;
    positions = rows.positions ? rows.positions + start : nullptr;
  }
  __device__ __forceinline__ std::int64_t at(std::int64_t step) const {
    return reverse ? count - 1 - step : step;
  }
};

template <class State>
struct Reached {
  State state;
  bool holds;
};

struct ByThread {
  static Grid grid(std::int64_t tasks) { return grid_for(tasks); }
  __device__ __forceinline__ static std::int64_t first() { return thread_number(); }
  __device__ __forceinline__ static std::int64_t step() { return thread_count(); }
  __device__ __forceinline__ static bool writes() { return true; }

  /// From step `begin` to `end`, after `reached`.
  template <class Rule, bool write, bool in_order, class T>
  __device__ static Reached<typename Rule::State> walk(const Column<T>& column, std::int64_t begin,
                                                       std::int64_t end, typename Rule::State reached) {
    bool holds = true;
#pragma unroll 4
    for (std::int64_t step = begin; step < end; ++step) {
      const std::int64_t at = column.at(step);
      const auto before = reached;
      reached = Rule::join(reached, Rule::of(column.values[at * column.inner], at));
      holds = holds && Rule::holds(reached);
      if constexpr (write)
        Rule::write(column.exclusive ? before : reached, at * column.inner, column.out, column.positions);
    }
    return {reached, holds};
  }
};

struct ByWarp {
  static Grid grid(std::int64_t tasks) { return grid_of_warps(tasks, 64); }
  __device__ __forceinline__ static std::int64_t first() { return warp_number(); }
  __device__ __forceinline__ static std::int64_t step() { return warp_count(); }
  __device__ __forceinline__ static bool writes() { return lane_number() == 0; }

  /// The same for a row of contiguous values.
  template <class Rule, bool write, bool in_order, class T>
  __device__ static Reached<typename Rule::State> walk(const Column<T>& column, std::int64_t begin,
                                                       std::int64_t end, typename Rule::State reached) {
    using State = typename Rule::State;
    bool holds = true;
    const int lane = lane_number();
    for (std::int64_t first = begin; first < end; first += warp_lanes) {
      const bool inside = first + lane < end;
      const std::int64_t at = column.at(inside ? first + lane : first);
      State own = inside ? Rule::of(column.values[at], at) : Rule::nothing();
      State before, behind;
      if constexpr (in_order) {
        before = behind = reached;
#pragma unroll
        for (int i = 0; i < warp_lanes; ++i) {
          const State next = Rule::join(reached, Rule::from(own, i));
          before = lane == i ? reached : before;
          behind = lane == i ? next : behind;
          reached = next;
        }
      } else {
#pragma unroll
        for (int by = 1; by < warp_lanes; by *= 2) {
          const State other = Rule::up(own, by);
          if (lane >= by) own = Rule::join(other, own);
        }
        const State previous = Rule::up(own, 1);
        before = lane == 0 ? reached : Rule::join(reached, previous);
        behind = Rule::join(reached, own);
        reached = Rule::from(behind, warp_lanes - 1);
      }
      holds = holds && Rule::holds(behind);
      if constexpr (write)
        if (inside) Rule::write(column.exclusive ? before : behind, at, column.out, column.positions);
    }
    return {reached, __ballot_sync(whole_warp, holds ? 0 : 1) == 0};
  }
};

// ---- kernels ----

template <class Way, class Rule>
__global__ void rows_kernel(Rows<typename Rule::Value> rows) {
  for (std::int64_t task = Way::first(); task < rows.columns(); task += Way::step()) {
    const Column<typename Rule::Value> column(rows, task);
    Way::template walk<Rule, true, Rule::in_order>(column, 0, rows.count, Rule::nothing());
  }
}

/// What each segment comes to; sums: columns × segments.
template <class Way, class Rule>
__global__ void sums_kernel(Rows<typename Rule::Value> rows, Reached<typename Rule::State>* sums) {
  const std::int64_t segments = rows.segments();
  for (std::int64_t task = Way::first(); task < rows.columns() * segments; task += Way::step()) {
    const Column<typename Rule::Value> column(rows, task / segments);
    const std::int64_t begin = task % segments * rows.size;
    const std::int64_t end = rows.count < begin + rows.size ? rows.count : begin + rows.size;
    const auto sum = Way::template walk<Rule, false, Rule::cut_in_order>(column, begin, end, Rule::nothing());
    if (Way::writes()) sums[task] = sum;
  }
}

/// Where each segment begins. Those whose sum does not hold are walked again.
template <class Way, class Rule>
__global__ void starts_kernel(Rows<typename Rule::Value> rows,
                              const Reached<typename Rule::State>* __restrict__ sums,
                              typename Rule::State* __restrict__ starts) {
  using State = typename Rule::State;
  const std::int64_t segments = rows.segments();
  for (std::int64_t task = Way::first(); task < rows.columns(); task += Way::step()) {
    const Column<typename Rule::Value> column(rows, task);
    State reached = Rule::nothing();
    const auto go_on = [&](std::int64_t segment, const Reached<State>& sum) {
      if (Way::writes()) starts[task * segments + segment] = reached;
      if (sum.holds) {
        reached = Rule::join(reached, sum.state);
      } else {
        const std::int64_t begin = segment * rows.size;
        const std::int64_t end = rows.count < begin + rows.size ? rows.count : begin + rows.size;
        reached = Way::template walk<Rule, false, Rule::cut_in_order>(column, begin, end, reached).state;
      }
    };
    std::int64_t segment = 0;
    constexpr bool together = std::is_same_v<Way, ByWarp> && !Rule::cut_in_order;
    if constexpr (together) {
      // A warp takes as many at a time as it has threads, where all hold.
      const int lane = lane_number();
      for (; segment + warp_lanes <= segments; segment += warp_lanes) {
        const Reached<State> own = sums[task * segments + segment + lane];
        if (__ballot_sync(whole_warp, own.holds ? 0 : 1) != 0) {
#pragma unroll 1
          for (int i = 0; i < warp_lanes; ++i) go_on(segment + i, sums[task * segments + segment + i]);
          continue;
        }
        State up_to_here = own.state;
#pragma unroll
        for (int by = 1; by < warp_lanes; by *= 2) {
          const State other = Rule::up(up_to_here, by);
          if (lane >= by) up_to_here = Rule::join(other, up_to_here);
        }
        const State before = Rule::up(up_to_here, 1);
        starts[task * segments + segment + lane] = lane == 0 ? reached : Rule::join(reached, before);
        reached = Rule::join(reached, Rule::from(up_to_here, warp_lanes - 1));
      }
    }
#pragma unroll(together ? 1 : 8)
    for (; segment < segments; ++segment) go_on(segment, sums[task * segments + segment]);
  }
}

template <class Way, class Rule>
__global__ void segments_kernel(Rows<typename Rule::Value> rows, const typename Rule::State* starts) {
  const std::int64_t segments = rows.segments();
  for (std::int64_t task = Way::first(); task < rows.columns() * segments; task += Way::step()) {
    const Column<typename Rule::Value> column(rows, task / segments);
    const std::int64_t begin = task % segments * rows.size;
    const std::int64_t end = rows.count < begin + rows.size ? rows.count : begin + rows.size;
    Way::template walk<Rule, true, Rule::cut_in_order>(column, begin, end, starts[task]);
  }
}

// ---- how much at once ----

constexpr std::int64_t least_cut = 4096;  ///< values of a row that is cut
constexpr std::int64_t most_columns_cut = 1024;

/// The size with the fewest steps one after the other: those of two walks along a segment, in pairs (a
/// warp's, which have 32 values at a time) or in order, and those from segment to segment.
std::int64_t segment_size(std::int64_t count, bool in_pairs) {
  const std::int64_t least = in_pairs ? 512 : 2048;
  const auto best =
      static_cast<std::uint64_t>(std::sqrt((in_pairs ? 0.6 : 5.0) * static_cast<double>(count)));
  return std::max(least, static_cast<std::int64_t>(std::bit_ceil(best)));
}

template <class Way, class Rule>
void scan_by(const char* name, Rows<typename Rule::Value> rows) {
  if (rows.columns() >= most_columns_cut || rows.count < least_cut)
    return launch(name, Way::grid(rows.columns()), rows_kernel<Way, Rule>, rows);
  rows.size = segment_size(rows.count, std::is_same_v<Way, ByWarp> && !Rule::cut_in_order);
  using State = typename Rule::State;
  const std::int64_t tasks = rows.columns() * rows.segments();
  const Scratch sums(static_cast<std::size_t>(tasks) * sizeof(Reached<State>));
  const Scratch starts(static_cast<std::size_t>(tasks) * sizeof(State));
  launch(name, Way::grid(tasks), sums_kernel<Way, Rule>, rows, sums.as<Reached<State>>());
  launch(name, Way::grid(rows.columns()), starts_kernel<Way, Rule>, rows, sums.as<Reached<State>>(),
         starts.as<State>());
  launch(name, Way::grid(tasks), segments_kernel<Way, Rule>, rows, starts.as<State>());
}

template <class Rule>
void scan_rows(const char* name, const void* values, std::int64_t outer, std::int64_t count,
               std::int64_t inner, bool exclusive, bool reverse, void* out,
               std::int32_t* positions = nullptr) {
  using T = typename Rule::Value;
  const Rows<T> rows{static_cast<const T*>(values),
                     static_cast<T*>(out),
                     positions,
                     outer,
                     count,
                     inner,
                     0,
                     exclusive,
                     reverse};
  if (outer * count * inner == 0) return;
  if (inner == 1)
    scan_by<ByWarp, Rule>(name, rows);
  else
    scan_by<ByThread, Rule>(name, rows);
}

template <class F>
void visit_numbers(const char* kernel, DType dtype, F f) {
  switch (dtype) {
    case DType::int32:
      return f(TypeTag<std::int32_t>{});
    case DType::int64:
      return f(TypeTag<std::int64_t>{});
    case DType::float32:
      return f(TypeTag<float>{});
    case DType::float64:
      return f(TypeTag<double>{});
    default:
      throw NoKernel(std::string(kernel) + " of " + std::string(dtype_name(dtype)));
  }
}

}  // namespace

void scan(Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
          std::int64_t inner, void* out) {
  visit_numbers("scan", dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if (kind.product)
      scan_rows<RunningSum<T, true>>("scan", values, outer, count, inner, kind.exclusive, kind.reverse, out);
    else
      scan_rows<RunningSum<T, false>>("scan", values, outer, count, inner, kind.exclusive, kind.reverse, out);
  });
}

void scan_log_sum_exp(Scan kind, DType dtype, const void* values, std::int64_t outer, std::int64_t count,
                      std::int64_t inner, void* out) {
  const auto scan_of = [&]<class T>(TypeTag<T>) {
    scan_rows<RunningLogSum<T>>("scan_log_sum_exp", values, outer, count, inner, kind.exclusive, kind.reverse,
                                out);
  };
  if (dtype == DType::float32) return scan_of(TypeTag<float>{});
  if (dtype == DType::float64) return scan_of(TypeTag<double>{});
  throw NoKernel("scan_log_sum_exp of " + std::string(dtype_name(dtype)));
}

void scan_max(bool reverse, DType dtype, const void* values, std::int64_t rows, std::int64_t count, void* out,
              std::int32_t* positions) {
  visit_numbers("scan_max", dtype, [&](auto tag) {
    scan_rows<RunningMaximum<typename decltype(tag)::type>>("scan_max", values, rows, count, 1, false,
                                                            reverse, out, positions);
  });
}

}  // namespace tapedeck::cuda
