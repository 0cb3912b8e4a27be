// Functions of one operand. Compiled without contraction, so that products are fused where the source says so
// and the bits are the CPU's.
#include <limits>

#include "engine/cpu/vector/arithmetic.h"
#include "engine/cpu/vector/special.h"
#include "engine/cuda/kernels.h"
#include "engine/cuda/loops/bessel.h"
#include "engine/cuda/loops/elementwise.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

namespace functions_of_one {
TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_FUNCTION_OF_ONE)
}  // namespace functions_of_one

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA

namespace tapedeck::cuda {
namespace {

namespace functions = cpu::TAPEDECK_ISA::functions_of_one;

template <class T, class R, class F, int width>
__global__ void unary_kernel(Source<T> x, R* out, std::int64_t count) {
  for (std::int64_t i = thread_number() * width; i < count; i += thread_count() * width) {
    const Pack<T, width> in = x.template pack<width>(i, count);
    Pack<R, width> result;
    for (int k = 0; k < width; ++k) result.values[k] = F::apply(in.values[k]);
    store_pack(out, i, count, result);
  }
}
template <class T, class R, class F, int width>
__global__ void unary_walk_kernel(Source<T> x, R* out, Walk<1> walk) {
  for (std::int64_t i = thread_number(); i < walk.steps; i += thread_count()) {
    std::int64_t place[1];
    walk.offsets(static_cast<std::uint32_t>(i), place);
    if (width == 1 || walk.width == 1) {
      out[i] = F::apply(x.at(place[0]));
      continue;
    }
    const std::int64_t first = i * width;
    const Pack<T, width> in = x.template step_of<width>(walk, 0, place[0], walk.count - first);
    Pack<R, width> result;
    for (int k = 0; k < width; ++k) result.values[k] = F::apply(in.values[k]);
    store_pack(out, first, walk.count, result);
  }
}

/// The kernels of a function and a dtype, of types that the dtype and `truth` tell; so what starts them is
/// compiled once for a dtype. Where they compute more than they move, one of them does for both.
struct UnaryKernel {
  void (*contiguous)() = nullptr;
  void (*strided)() = nullptr;
  int width = 1;
};
struct UnaryTable {
  UnaryKernel kernels[kernels::unary_count][dtype_count];
  const char* names[kernels::unary_count];
  bool truth[kernels::unary_count];

  template <class T, class F, Domain domain, Result result, bool is_cheap>
  void add(Unary op) {
    if constexpr (belongs_to<T>(domain)) {
      using R = std::conditional_t<result == Result::truth, bool, T>;
      constexpr int width = is_cheap ? pack_width<T> : 1;
      UnaryKernel& kernel = kernels[static_cast<int>(op)][static_cast<int>(dtype_of<T>())];
      if constexpr (is_cheap) kernel.contiguous = reinterpret_cast<void (*)()>(unary_kernel<T, R, F, width>);
      kernel.strided = reinterpret_cast<void (*)()>(unary_walk_kernel<T, R, F, width>);
      kernel.width = width;
    }
  }
  UnaryTable() {
#define TAPEDECK_ADD(name, domain, others, result, cost, wide_cost, ...)                    \
  names[static_cast<int>(Unary::name)] = #name;                                             \
  truth[static_cast<int>(Unary::name)] = Result::result == Result::truth;                   \
  add<bool, functions::name, Domain::domain, Result::result, true>(Unary::name);            \
  add<std::int32_t, functions::name, Domain::domain, Result::result, true>(Unary::name);    \
  add<std::int64_t, functions::name, Domain::domain, Result::result, true>(Unary::name);    \
  add<float, functions::name, Domain::domain, Result::result, is_cheap(cost)>(Unary::name); \
  add<double, functions::name, Domain::domain, Result::result, is_cheap(wide_cost)>(Unary::name);
    TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_ADD)
#undef TAPEDECK_ADD
  }
};

}  // namespace

void unary(Unary op, DType dtype, const void* a, void* out, std::int64_t count) {
  with_kernel<UnaryTable>(op, dtype, [&]<class T, class R>(const auto& kernel, const char* name, T, R) {
    using Start = void (*)(Source<T>, R*, std::int64_t);
    if (!kernel.contiguous) return unary_strided(op, dtype, Operand{a, Strides{1}}, out, Shape{count});
    launch(name, grid_for(count, kernel.width), reinterpret_cast<Start>(kernel.contiguous),
           Source<T>(a, 1, false), static_cast<R*>(out), count);
  });
}
void unary_strided(Unary op, DType dtype, const Operand& a, void* out, const Shape& shape) {
  const Strides strides = strides_of(a);
  with_kernel<UnaryTable>(op, dtype, [&]<class T, class R>(const auto& kernel, const char* name, T, R) {
    using Start = void (*)(Source<T>, R*, Walk<1>);
    for_walks<1>(shape, {&strides},
                 [&](Walk<1> walk, const std::array<std::int64_t, 1>& at, std::int64_t first) {
                   walk.widen(kernel.width);
                   launch(name, grid_for(walk.steps), reinterpret_cast<Start>(kernel.strided),
                          source_at<T>(a, at[0]), static_cast<R*>(out) + first, walk);
                 });
  });
}

}  // namespace tapedeck::cuda
