// QR iterations of eigenvalues and singular values, and the rotations of neighbouring rows which they leave
// by thousands. Each rotation depends on the previous one, so its data stays in registers.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/wide.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// The row that two rotations share stays in registers.
template <class Vector, int count_of_vectors, class T>
TAPEDECK_INLINE void rotate_strip(T* rows, std::int64_t stride, std::int64_t count, const T* c, const T* s) {
  Vector upper[count_of_vectors];
  std::memcpy(upper, rows, sizeof upper);
  for (std::int64_t k = 0; k < count; ++k) {
    T* const out = rows + k * stride;
    const T cosine = c[k], sine = s[k];
#pragma GCC unroll 4
    for (int j = 0; j < count_of_vectors; ++j) {
      Vector below;
      std::memcpy(&below, out + stride + j * sizeof(Vector) / sizeof(T), sizeof below);
      // The product with the previous rotation's result comes first, so that it is the fused one.
      const Vector along = sine * upper[j], across = cosine * below;
      const Vector turned = cosine * upper[j] + sine * below;
      std::memcpy(out + j * sizeof(Vector) / sizeof(T), &turned, sizeof turned);
      upper[j] = across - along;
    }
  }
  std::memcpy(rows + count * stride, upper, sizeof upper);
}

/// As many columns as strips of that width fill, from column `j` on.
template <int bytes, int vectors, class T>
TAPEDECK_INLINE void rotate_strips(T* rows, std::int64_t stride, std::int64_t width, std::int64_t count,
                                   const T* c, const T* s, std::int64_t& j) {
  typedef T Vector __attribute__((vector_size(bytes)));
  constexpr std::int64_t strip = bytes / sizeof(T) * vectors;
  for (; j + strip <= width; j += strip) rotate_strip<Vector, vectors>(rows + j, stride, count, c, s);
}

template <class T>
void rotate(T* rows, std::int64_t stride, std::int64_t width, std::int64_t count, const T* c, const T* s) {
  std::int64_t j = 0;
  rotate_strips<register_bytes, 4>(rows, stride, width, count, c, s, j);
  rotate_strips<register_bytes, 1>(rows, stride, width, count, c, s, j);
  rotate_strips<32, 1>(rows, stride, width, count, c, s, j);
  rotate_strips<16, 1>(rows, stride, width, count, c, s, j);
  rotate_strips<sizeof(T), 1>(rows, stride, width, count, c, s, j);
}

/// r of the rotation that turns (x, z) into (r, 0): c·x + s·z = r, c·z − s·x = 0.
template <class T>
struct Rotation {
  T c, s, r;
};

template <class T>
TAPEDECK_INLINE Rotation<T> rotation_of(T x, T z) {
  constexpr T small = sizeof(T) == 4 ? T(1e-30) : T(1e-280);
  if (z == T(0)) return {T(1), T(0), x};
  const T square = x * x + z * z;
  T r;
  if (square > small && square < 1 / small) [[likely]] {
    r = std::sqrt(square);
  } else {  // squares may be lost
    const T larger = std::max(std::abs(x), std::abs(z)), p = x / larger, q = z / larger;
    r = larger * std::sqrt(p * p + q * q);
  }
  return {x / r, z / r, r};
}

/// Golub and Van Loan, "Matrix computations", algorithm 8.3.2.
template <class T>
void symmetric_step(T* d, T* e, std::int64_t count, T shift, T* cosines, T* sines) {
  const std::int64_t last = count - 1;
  T here = d[0], beside = e[0], x = here - shift, z = beside;
  for (std::int64_t k = 0; k < last; ++k) {
    const auto [c, s, r] = rotation_of(x, z);
    if (k > 0) e[k - 1] = r;
    const T next = d[k + 1];
    const T upper = c * here + s * beside, middle = c * beside + s * next;
    const T crossed = c * beside - s * here, lower = c * next - s * beside;
    d[k] = c * upper + s * middle;
    here = c * lower - s * crossed;
    x = c * crossed + s * lower;
    if (k + 1 < last) {
      z = s * e[k + 1];
      beside = c * e[k + 1];
    }
    cosines[k] = c;
    sines[k] = s;
  }
  d[last] = here;
  e[last - 1] = x;
}

/// Demmel and Kahan 1990, "Accurate singular values of bidiagonal matrices", SIAM J. Sci. Stat. Comput.
/// 11(5).
template <class T>
void bidiagonal_step_without_shift(const BidiagonalPart<T>& part, T* left_c, T* left_s, T* right_c,
                                   T* right_s) {
  const auto [d, e, step, count] = part;
  const std::int64_t last = count - 1;
  T c = T(1), before_c = T(1), before_s = T(0), here = d[0];
  for (std::int64_t i = 0; i < last; ++i) {
    const auto first = rotation_of(here * c, e[i * step]);
    if (i > 0) e[(i - 1) * step] = before_s * first.r;
    here = d[(i + 1) * step];
    const auto second = rotation_of(before_c * first.r, here * first.s);
    d[i * step] = second.r;
    right_c[i] = first.c;
    right_s[i] = first.s;
    left_c[i] = second.c;
    left_s[i] = second.s;
    c = first.c;
    before_c = second.c;
    before_s = second.s;
  }
  const T end = here * c;
  d[last * step] = end * before_c;
  e[(last - 1) * step] = end * before_s;
}

/// Golub and Kahan's (Golub and Van Loan, "Matrix computations", algorithm 8.6.1).
template <class T>
void bidiagonal_step(const BidiagonalPart<T>& part, T shift, T* left_c, T* left_s, T* right_c, T* right_s) {
  if (shift == T(0)) return bidiagonal_step_without_shift(part, left_c, left_s, right_c, right_s);
  const auto [d, e, step, count] = part;
  const std::int64_t last = count - 1;
  T here = d[0], above = e[0], g = above;
  T f = (std::abs(here) - shift) * (std::copysign(T(1), here) + shift / here);
  for (std::int64_t i = 0; i < last; ++i) {
    const auto first = rotation_of(f, g);
    if (i > 0) e[(i - 1) * step] = first.r;
    f = first.c * here + first.s * above;
    above = first.c * above - first.s * here;
    g = first.s * d[(i + 1) * step];
    const T next = first.c * d[(i + 1) * step];
    const auto second = rotation_of(f, g);
    d[i * step] = second.r;
    f = second.c * above + second.s * next;
    here = second.c * next - second.s * above;
    if (i + 1 < last) {
      g = second.s * e[(i + 1) * step];
      above = second.c * e[(i + 1) * step];
    }
    right_c[i] = first.c;
    right_s[i] = first.s;
    left_c[i] = second.c;
    left_s[i] = second.s;
  }
  d[last * step] = here;
  e[(last - 1) * step] = f;
}

template <class T>
void set(RotationLoops<T>& loops) {
  loops.rotate = rotate<T>;
  loops.symmetric_step = symmetric_step<T>;
  loops.bidiagonal_step = bidiagonal_step<T>;
}

}  // namespace

void add_rotations(LoopTable& table) {
  set(table.rotation_float);
  set(table.rotation_double);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
