// Householder's reflections, several at a time: H₀·H₁·… = I − V·T·Vᵀ (Schreiber and Van Loan 1989, "A
// storage-efficient WY representation for products of Householder transformations", SIAM J. Sci. Stat.
// Comput. 10(1)).
#pragma once

#include <vector>

#include "engine/cpu/linear_algebra/blocked.h"

namespace tapedeck::cpu {

constexpr std::int64_t reflections_at_once = 32;

/// Makes x, of `count` values `step` apart, a multiple of the first unit vector: x becomes v, whose first
/// element is 1. `value` is the remaining element: (I − tau·v·vᵀ)·x = value·e₀.
template <class T>
struct Reflection {
  T tau, value;
  static Reflection make(std::int64_t count, T* x, std::int64_t step);
};

template <class T>
class Reflectors {
 public:
  /// `v` has a reflection's vector in each column.
  Reflectors(Dense<T> v, const std::vector<T>& taus);

  /// c = (H₀·H₁·…)·c, or transposed: (…·H₁·H₀)·c.
  void apply(bool transposed, Block<T> c);
  Block<T> vectors() { return v_.all(); }

 private:
  Dense<T> v_, t_;
};

/// a becomes r, upper triangular, in its first min(m, n) rows; q = H₀·H₁·… are the reflections, of panels of
/// `reflections_at_once` columns, each of which starts at the row of its first column.
template <class T>
std::vector<Reflectors<T>> factor_qr(Block<T> a);
/// c = the first columns of q. `offset`: how many rows below its first column each panel starts.
template <class T>
void write_q(std::vector<Reflectors<T>>& q, std::int64_t offset, Block<T> c);

}  // namespace tapedeck::cpu
