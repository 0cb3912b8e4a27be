// Loops over elements that call a function object's `apply`. Included by vector/*.cpp only.
#pragma once

#include <cstdint>
#include <type_traits>

#include "engine/cpu/dispatch.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

template <class T, class R, class F>
void unary_loop(const void* a, std::int64_t a_step, void* out, std::int64_t count) {
  const T* __restrict x = static_cast<const T*>(a);
  R* __restrict y = static_cast<R*>(out);
  if (a_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i]);
  } else if (a_step == 0) {
    if (count == 0) return;
    const R value = F::apply(*x);
    for (std::int64_t i = 0; i < count; ++i) y[i] = value;
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i * a_step]);
  }
}

template <class T, class R, class F>
void binary_loop(const void* a, std::int64_t a_step, const void* b, std::int64_t b_step, void* out,
                 std::int64_t count) {
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict z = static_cast<const T*>(b);
  R* __restrict y = static_cast<R*>(out);
  if (count == 1) {
    *y = F::apply(*x, *z);
  } else if (a_step == 1 && b_step == 1) {
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i], z[i]);
  } else if (a_step == 1 && b_step == 0) {
    const T right = count ? *z : T();
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i], right);
  } else if (a_step == 0 && b_step == 1) {
    const T left = count ? *x : T();
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(left, z[i]);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = F::apply(x[i * a_step], z[i * b_step]);
  }
}

template <class T, class R, class F>
void set(LoopTable& table, Unary op) {
  table.unary[static_cast<int>(op)][static_cast<int>(dtype_of<T>())] = unary_loop<T, R, F>;
}
template <class T, class R, class F>
void set(LoopTable& table, Binary op) {
  table.binary[static_cast<int>(op)][static_cast<int>(dtype_of<T>())] = binary_loop<T, R, F>;
}

// The values of the columns of elementwise_functions.h.
enum class Domain : std::uint8_t { numeric, floating, integer, boolean, any };
enum class Result : std::uint8_t { same, truth };

template <class T>
constexpr bool belongs_to(Domain domain) {
  constexpr bool truth = std::is_same_v<T, bool>, real = std::is_floating_point_v<T>;
  return domain == Domain::any || (truth  ? domain == Domain::boolean
                                   : real ? domain == Domain::numeric || domain == Domain::floating
                                          : domain == Domain::numeric || domain == Domain::integer);
}
template <class T, class F, Domain domain, Result result, class Op>
void add_of(LoopTable& table, Op op) {
  if constexpr (belongs_to<T>(domain))
    set<T, std::conditional_t<result == Result::truth, bool, T>, F>(table, op);
}
/// The function's loops of every dtype of its domain.
template <class F, Domain domain, Result result, class Op>
void add(LoopTable& table, Op op) {
  add_of<bool, F, domain, result>(table, op);
  add_of<std::int32_t, F, domain, result>(table, op);
  add_of<std::int64_t, F, domain, result>(table, op);
  add_of<float, F, domain, result>(table, op);
  add_of<double, F, domain, result>(table, op);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
