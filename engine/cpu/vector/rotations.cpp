// Rotations of neighbouring rows, which the QR iterations of eigenvalues and singular values leave by
// thousands.
#include <algorithm>

#include "engine/cpu/dispatch.h"
#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// `width` is a constant: the row that two rotations share stays in registers.
template <std::int64_t width, class T>
TAPEDECK_INLINE void rotate_strip(T* rows, std::int64_t stride, std::int64_t count, const T* c, const T* s) {
  T upper[width];
  for (std::int64_t j = 0; j < width; ++j) upper[j] = rows[j];
  for (std::int64_t k = 0; k < count; ++k) {
    T* __restrict out = rows + k * stride;
    const T* __restrict lower = out + stride;
    const T cosine = c[k], sine = s[k];
    for (std::int64_t j = 0; j < width; ++j) {
      const T below = lower[j];
      out[j] = cosine * upper[j] + sine * below;
      upper[j] = cosine * below - sine * upper[j];
    }
  }
  T* last = rows + count * stride;
  for (std::int64_t j = 0; j < width; ++j) last[j] = upper[j];
}

template <class T>
void rotate(T* rows, std::int64_t stride, std::int64_t width, std::int64_t count, const T* c, const T* s) {
  constexpr std::int64_t strip = 256 / sizeof(T);
  std::int64_t j = 0;
  for (; j + strip <= width; j += strip) rotate_strip<strip>(rows + j, stride, count, c, s);
  for (; j + 8 <= width; j += 8) rotate_strip<8>(rows + j, stride, count, c, s);
  for (; j < width; ++j) rotate_strip<1>(rows + j, stride, count, c, s);
}

}  // namespace

void add_rotations(LoopTable& table) {
  table.rotate_float = rotate<float>;
  table.rotate_double = rotate<double>;
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
