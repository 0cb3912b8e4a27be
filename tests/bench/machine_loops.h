// The loops that machine.cpp measures, in the namespace TAPEDECK_LOOPS, by registers of TAPEDECK_BYTES, for
// the instruction set that is switched on where it is included: GCC handles wider vectors in memory. No
// #pragma once: it is included for each.
namespace TAPEDECK_LOOPS {

template <class Number>
struct Vectors {
  typedef Number Type __attribute__((vector_size(TAPEDECK_BYTES)));
};
using Floats = Vectors<float>::Type;
constexpr int width = TAPEDECK_BYTES / 4;

template <class Number>
void multiply_add(Number start) {
  using Type = typename Vectors<Number>::Type;
  Type sums[chains];
  const Type factor = Type{} + start * Number(0.5), term = Type{} + start * Number(0.3);
#pragma GCC unroll 12
  for (int i = 0; i < chains; ++i)
    sums[i] = factor + static_cast<Number>(i);  // equal ones would be computed once
  for (long i = 0; i < rounds_of_chains; ++i)
#pragma GCC unroll 12
    for (Type& sum : sums) sum = sum * factor + term;
  for (int i = 1; i < chains; ++i) sums[0] += sums[i];
  kept = static_cast<float>(sums[0][0] + sums[0][TAPEDECK_BYTES / sizeof(Number) - 1]);
}

// Of `count` floats, a multiple of `lanes`.

inline void read(const float* from, long count) {
  const auto* x = reinterpret_cast<const Floats*>(from);
  constexpr int together = 8;
  Floats sums[together] = {};
  long i = 0;
  for (; i + together <= count / width; i += together)
#pragma GCC unroll 8
    for (int j = 0; j < together; ++j) sums[j] += x[i + j];
  for (; i < count / width; ++i) sums[0] += x[i];
  for (int j = 1; j < together; ++j) sums[0] += sums[j];
  kept = sums[0][0] + sums[0][width - 1];
}

inline void copy(const float* from, float* to, long count) {
  const auto* x = reinterpret_cast<const Floats*>(from);
  auto* out = reinterpret_cast<Floats*>(to);
#pragma GCC unroll 4
  for (long i = 0; i < count / width; ++i) out[i] = x[i];
}

inline void add(const float* a, const float* b, float* to, long count) {
  const auto *x = reinterpret_cast<const Floats*>(a), *y = reinterpret_cast<const Floats*>(b);
  auto* out = reinterpret_cast<Floats*>(to);
#pragma GCC unroll 4
  for (long i = 0; i < count / width; ++i) out[i] = x[i] + y[i];
}

constexpr Loops loops{width, multiply_add<float>, multiply_add<double>, read, copy, add};

}  // namespace TAPEDECK_LOOPS
