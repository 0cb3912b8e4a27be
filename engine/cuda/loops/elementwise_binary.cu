// Functions of two operands. Compiled without contraction, as those of one.
#include <limits>

#include "engine/cpu/vector/arithmetic.h"
#include "engine/cpu/vector/special.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/elementwise.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

namespace functions_of_two {
TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_FUNCTION_OF_TWO)

/// Powers whose exponent all elements share: some need no logarithm, as on the CPU (vector/binary.cpp).
struct pow_shared {
  template <class T>
  TAPEDECK_INLINE static T apply(T x, T y) {
    if (y == T(2)) return x * x;
    if (y == T(0.5)) {
      const T root = std::sqrt(x + T(0));
      return x == -std::numeric_limits<T>::infinity() ? std::numeric_limits<T>::infinity() : root;
    }
    if (y == T(-1)) return T(1) / x;
    if (y == T(1)) return x;
    if constexpr (std::is_same_v<T, float>)
      if (y == T(3)) {
        const double wide = static_cast<double>(x);
        return static_cast<T>(wide * wide * wide);
      }
    return pow_of(x, y);
  }
};
}  // namespace functions_of_two

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA

namespace tapedeck::cuda {
namespace {

namespace functions = cpu::TAPEDECK_ISA::functions_of_two;

template <class T, class R, class F, int width>
__global__ void binary_kernel(Source<T> x, Source<T> y, R* out, std::int64_t count) {
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    const Pack<T, width> left = x.template pack<width>(i, count);
    const Pack<T, width> right = y.template pack<width>(i, count);
    Pack<R, width> result;
    for (int k = 0; k < width; ++k) result.values[k] = F::apply(left.values[k], right.values[k]);
    store_pack(out, i, count, result);
  }
}
template <class T, class R, class F, int width>
__global__ void binary_walk_kernel(Source<T> x, Source<T> y, R* out, Walk<2> walk) {
  for (std::int64_t i = thread_number(); i < walk.steps; i += thread_count()) {
    std::int64_t place[2];
    walk.offsets(static_cast<std::uint32_t>(i), place);
    if (width == 1 || walk.width == 1) {
      out[i] = F::apply(x.at(place[0]), y.at(place[1]));
      continue;
    }
    const std::int64_t first = i * width, here = walk.count - first;
    const Pack<T, width> left = x.template step_of<width>(walk, 0, place[0], here);
    const Pack<T, width> right = y.template step_of<width>(walk, 1, place[1], here);
    Pack<R, width> result;
    for (int k = 0; k < width; ++k) result.values[k] = F::apply(left.values[k], right.values[k]);
    store_pack(out, first, walk.count, result);
  }
}

/// The kernels of a function and a dtype, as those of one operand. `shared` ones are for a second operand
/// that is one number along the innermost axis.
struct BinaryKernel {
  void (*contiguous)() = nullptr;
  void (*strided)() = nullptr;
  void (*contiguous_shared)() = nullptr;
  void (*strided_shared)() = nullptr;
  int width = 1;
};
struct BinaryTable {
  BinaryKernel kernels[kernels::binary_count][dtype_count];
  const char* names[kernels::binary_count];
  bool truth[kernels::binary_count];

  template <class T, class F, class Shared, Domain domain, Result result, bool is_cheap>
  void add(Binary op) {
    if constexpr (belongs_to<T>(domain)) {
      using R = std::conditional_t<result == Result::truth, bool, T>;
      constexpr int width = is_cheap ? pack_width<T> : 1;
      BinaryKernel& kernel = kernels[static_cast<int>(op)][static_cast<int>(dtype_of<T>())];
      kernel = {};
      if constexpr (is_cheap) {
        kernel.contiguous = reinterpret_cast<void (*)()>(binary_kernel<T, R, F, width>);
        kernel.contiguous_shared = reinterpret_cast<void (*)()>(binary_kernel<T, R, Shared, width>);
      }
      kernel.strided = reinterpret_cast<void (*)()>(binary_walk_kernel<T, R, F, width>);
      kernel.strided_shared = reinterpret_cast<void (*)()>(binary_walk_kernel<T, R, Shared, width>);
      kernel.width = width;
    }
  }
  BinaryTable() {
#define TAPEDECK_ADD(name, domain, others, result, cost, wide_cost, ...)                    \
  names[static_cast<int>(Binary::name)] = #name;                                            \
  truth[static_cast<int>(Binary::name)] = Result::result == Result::truth;                  \
  add_all<functions::name, functions::name, Domain::domain, Result::result, is_cheap(cost), \
          is_cheap(wide_cost)>(Binary::name);
    TAPEDECK_BINARY_FUNCTIONS(TAPEDECK_ADD)
#undef TAPEDECK_ADD
    add<float, functions::pow, functions::pow_shared, Domain::floating, Result::same, true>(Binary::pow);
    add<double, functions::pow, functions::pow_shared, Domain::floating, Result::same, false>(Binary::pow);
  }
  template <class F, class Shared, Domain domain, Result result, bool is_cheap, bool is_cheap_wide>
  void add_all(Binary op) {
    add<bool, F, Shared, domain, result, true>(op);
    add<std::int32_t, F, Shared, domain, result, true>(op);
    add<std::int64_t, F, Shared, domain, result, true>(op);
    add<float, F, Shared, domain, result, is_cheap>(op);
    add<double, F, Shared, domain, result, is_cheap_wide>(op);
  }
};

}  // namespace

void binary(Binary op, DType dtype, const Values& a, const Values& b, void* out, std::int64_t count) {
  const bool shared = b.step == 0 || count == 1;
  with_kernel<BinaryTable>(op, dtype, [&]<class T, class R>(const auto& kernel, const char* name, T, R) {
    using Start = void (*)(Source<T>, Source<T>, R*, std::int64_t);
    const auto operand = [](const Values& of) { return Operand{of.data, Strides{of.step}, of.immediate}; };
    if (!kernel.contiguous) return binary_strided(op, dtype, operand(a), operand(b), out, Shape{count});
    launch(name, grid_for(count, kernel.width),
           reinterpret_cast<Start>(shared ? kernel.contiguous_shared : kernel.contiguous), Source<T>(a),
           Source<T>(b), static_cast<R*>(out), count);
  });
}
void binary_strided(Binary op, DType dtype, const Operand& a, const Operand& b, void* out,
                    const Shape& shape) {
  const Strides a_strides = strides_of(a), b_strides = strides_of(b);
  with_kernel<BinaryTable>(op, dtype, [&]<class T, class R>(const auto& kernel, const char* name, T, R) {
    using Start = void (*)(Source<T>, Source<T>, R*, Walk<2>);
    for_walks<2>(shape, {&a_strides, &b_strides},
                 [&](Walk<2> walk, const std::array<std::int64_t, 2>& at, std::int64_t first) {
                   const bool shared = walk.stride[0][1] == 0;
                   walk.widen(kernel.width);
                   launch(name, grid_for(walk.steps),
                          reinterpret_cast<Start>(shared ? kernel.strided_shared : kernel.strided),
                          source_at<T>(a, at[0]), source_at<T>(b, at[1]), static_cast<R*>(out) + first, walk);
                 });
  });
}

}  // namespace tapedeck::cuda
