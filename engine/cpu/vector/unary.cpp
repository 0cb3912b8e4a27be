// Loops of one operand.
#include <algorithm>

#include "engine/cpu/loops/bessel.h"
#include "engine/cpu/vector/arithmetic.h"
#include "engine/cpu/vector/loop.h"
#include "engine/cpu/vector/special.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

namespace functions_of_one {
TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_FUNCTION_OF_ONE)
}  // namespace functions_of_one

/// unary_loop for an F that does not support all arguments, or is faster for some: blocks with others are
/// processed again.
template <class T, class F>
void guarded_loop(const void* a, std::int64_t a_step, void* out, std::int64_t count) {
  using Flag = typename Format<T>::Bits;  // of the elements' size, so that flags are vectors as they are
  constexpr std::int64_t together = 128;
  const T* __restrict x = static_cast<const T*>(a);
  T* __restrict y = static_cast<T*>(out);
  std::int64_t i = 0;
  if (a_step == 1)
    for (; i + together <= count; i += together) {
      Flag others = 0;
      for (std::int64_t j = i; j < i + together; ++j) {
        y[j] = F::apply(x[j]);
        others |= F::fits(x[j]) ? Flag(0) : Flag(1);
      }
      if (others)
        for (std::int64_t j = i; j < i + together; ++j)
          if (!F::fits(x[j])) y[j] = F::otherwise(x[j]);
    }
  for (; i < count; ++i) y[i] = guarded<F>(x[i * a_step]);
}

/// unary_loop of an F in two steps.
template <class F>
void staged_loop(const void* a, std::int64_t a_step, void* out, std::int64_t count) {
  if (a_step != 1) return unary_loop<float, float, F>(a, a_step, out, count);
  constexpr std::int64_t together = 128;
  alignas(64) float size[together], rest[together], top[together];
  const float* __restrict x = static_cast<const float*>(a);
  float* __restrict y = static_cast<float*>(out);
  for (std::int64_t i = 0; i < count; i += together) {
    const std::int64_t n = std::min(together, count - i);
    for (std::int64_t j = 0; j < n; ++j) {
      const auto parts = F::first(x[i + j]);
      size[j] = parts.size;
      rest[j] = parts.rest;
      top[j] = parts.top;
    }
    for (std::int64_t j = 0; j < n; ++j) y[i + j] = F::second(x[i + j], {size[j], rest[j], top[j]});
  }
}

template <class F>
void add_guarded(LoopTable& table, Unary op) {
  table.unary[static_cast<int>(op)][static_cast<int>(DType::float32)] = guarded_loop<float, F>;
  table.unary[static_cast<int>(op)][static_cast<int>(DType::float64)] = guarded_loop<double, F>;
}

}  // namespace

void add_unary(LoopTable& table) {
#define TAPEDECK_ADD(name, domain, others, result, ...) \
  add<functions_of_one::name, Domain::domain, Result::result>(table, Unary::name);
  TAPEDECK_UNARY_FUNCTIONS(TAPEDECK_ADD)
#undef TAPEDECK_ADD
  add_guarded<Exp>(table, Unary::exp);
  add_guarded<Log>(table, Unary::log);
  add_guarded<Sigmoid>(table, Unary::sigmoid);
  add_guarded<Sin>(table, Unary::sin);
  add_guarded<Cos>(table, Unary::cos);
  add_guarded<Tan>(table, Unary::tan);
  table.unary[static_cast<int>(Unary::lgamma)][static_cast<int>(DType::float32)] =
      guarded_loop<float, Lgamma>;
  table.unary[static_cast<int>(Unary::digamma)][static_cast<int>(DType::float32)] =
      guarded_loop<float, Digamma>;
  table.unary[static_cast<int>(Unary::gelu)][static_cast<int>(DType::float32)] = staged_loop<Gelu>;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
