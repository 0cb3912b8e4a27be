// Recurrent cells, one unit of a row of a step at a time: pointers point to the row, whose parts are `units`
// wide. RecurrentLoops in cpu/dispatch.h describes them. Included by vector/recurrent.cpp and
// cuda/recurrent*.cu, inside the namespace of an instruction set.
#pragma once

#include <cstdint>

#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// σ′ by way of σ, tanh′ by way of tanh.
template <class T>
TAPEDECK_INLINE T sigmoid_slope(T y) {
  return y * (T(1) - y);
}
template <class T>
TAPEDECK_INLINE T tanh_slope(T y) {
  return T(1) - y * y;
}

/// The gates i, f and g, and the new state c.
template <class T>
TAPEDECK_INLINE void lstm_state(std::int64_t u, std::int64_t units, const T* recurrent, const T* bias,
                                const T* c_before, T* kept) {
  const T i = sigmoid_of(kept[u] + recurrent[u] + bias[u]);
  const T f = sigmoid_of(kept[units + u] + recurrent[units + u] + bias[units + u]);
  const T g = tanh_of(kept[2 * units + u] + recurrent[2 * units + u] + bias[2 * units + u]);
  kept[u] = i;
  kept[units + u] = f;
  kept[2 * units + u] = g;
  kept[4 * units + u] = f * c_before[u] + i * g;
}
/// The gate o, and h.
template <class T>
TAPEDECK_INLINE void lstm_output(std::int64_t u, std::int64_t units, const T* recurrent, const T* bias,
                                 T* kept, T* h) {
  const T o = sigmoid_of(kept[3 * units + u] + recurrent[3 * units + u] + bias[3 * units + u]);
  kept[3 * units + u] = o;
  h[u] = o * tanh_of(kept[4 * units + u]);
}

/// `dc` already holds the direct gradient of c.
template <class T>
TAPEDECK_INLINE void lstm_unit_gradient(std::int64_t u, std::int64_t units, const T* kept, const T* c_before,
                                        T* dh, T* dc, T* d_gates) {
  const T i = kept[u], f = kept[units + u], g = kept[2 * units + u], o = kept[3 * units + u];
  const T squashed = tanh_of(kept[4 * units + u]);
  const T d_state = dc[u] + dh[u] * o * tanh_slope(squashed);
  d_gates[u] = d_state * g * sigmoid_slope(i);
  d_gates[units + u] = d_state * c_before[u] * sigmoid_slope(f);
  d_gates[2 * units + u] = d_state * i * tanh_slope(g);
  d_gates[3 * units + u] = dh[u] * squashed * sigmoid_slope(o);
  dc[u] = d_state * f;
  dh[u] = T(0);
}
/// Adds the direct gradient of the LSTM's gate `at` of a row.
template <class T>
TAPEDECK_INLINE void add_sigmoid_gate(std::int64_t at, const T* kept, const T* d_kept, T* d_gates) {
  d_gates[at] += d_kept[at] * sigmoid_slope(kept[at]);
}
template <class T>
TAPEDECK_INLINE void add_tanh_gate(std::int64_t at, const T* kept, const T* d_kept, T* d_gates) {
  d_gates[at] += d_kept[at] * tanh_slope(kept[at]);
}

/// Gate z or r of a row.
template <class T>
TAPEDECK_INLINE void gru_after_gate(std::int64_t at, std::int64_t units, const T* recurrent, const T* bias,
                                    T* kept) {
  kept[at] = sigmoid_of(kept[at] + bias[at] + (recurrent[at] + bias[3 * units + at]));
}
template <class T>
TAPEDECK_INLINE void gru_after_state(std::int64_t u, std::int64_t units, const T* recurrent, const T* bias,
                                     const T* h_before, T* kept, T* h) {
  const T z = kept[u], r = kept[units + u];
  const T part = recurrent[2 * units + u] + bias[5 * units + u];
  const T next = tanh_of(kept[2 * units + u] + bias[2 * units + u] + r * part);
  kept[3 * units + u] = part;
  kept[2 * units + u] = next;
  h[u] = z * h_before[u] + (T(1) - z) * next;
}

template <class T>
TAPEDECK_INLINE void gru_after_unit_gradient(std::int64_t u, std::int64_t units, const T* kept,
                                             const T* h_before, const T* d_kept, T* dh, T* d_gates) {
  const T z = kept[u], r = kept[units + u], next = kept[2 * units + u], part = kept[3 * units + u];
  T dz = dh[u] * (h_before[u] - next), d_next = dh[u] * (T(1) - z);
  if (d_kept) {
    dz += d_kept[u];
    d_next += d_kept[2 * units + u];
  }
  const T d_candidate = d_next * tanh_slope(next);
  T dr = d_candidate * part, d_part = d_candidate * r;
  if (d_kept) {
    dr += d_kept[units + u];
    d_part += d_kept[3 * units + u];
  }
  d_gates[u] = dz * sigmoid_slope(z);
  d_gates[units + u] = dr * sigmoid_slope(r);
  d_gates[2 * units + u] = d_candidate;
  d_gates[3 * units + u] = d_part;
  dh[u] = dh[u] * z;
}

/// Gate z or r of a row.
template <class T>
TAPEDECK_INLINE void gru_before_gate(std::int64_t at, const T* recurrent, const T* bias, T* kept) {
  kept[at] = sigmoid_of(kept[at] + recurrent[at] + bias[at]);
}
/// r·h.
template <class T>
TAPEDECK_INLINE void gru_before_reset(std::int64_t u, std::int64_t units, const T* h_before, T* kept) {
  kept[3 * units + u] = kept[units + u] * h_before[u];
}
template <class T>
TAPEDECK_INLINE void gru_before_state(std::int64_t u, std::int64_t units, const T* recurrent, const T* bias,
                                      const T* h_before, T* kept, T* h) {
  const T z = kept[u];
  const T next = tanh_of(kept[2 * units + u] + recurrent[u] + bias[2 * units + u]);
  kept[2 * units + u] = next;
  h[u] = z * h_before[u] + (T(1) - z) * next;
}

template <class T>
TAPEDECK_INLINE void gru_before_unit_gradient(std::int64_t u, std::int64_t units, const T* kept,
                                              const T* h_before, const T* d_kept, T* dh, T* d_gates) {
  const T z = kept[u], next = kept[2 * units + u];
  T dz = dh[u] * (h_before[u] - next), d_next = dh[u] * (T(1) - z);
  if (d_kept) {
    dz += d_kept[u];
    d_next += d_kept[2 * units + u];
  }
  d_gates[u] = dz * sigmoid_slope(z);
  d_gates[2 * units + u] = d_next * tanh_slope(next);
  dh[u] = dh[u] * z;
}
/// `d_reset`: the gradient of r·h so far.
template <class T>
TAPEDECK_INLINE void gru_before_reset_gradient(std::int64_t u, std::int64_t units, const T* kept,
                                               const T* h_before, const T* d_kept, const T* d_reset, T* dh,
                                               T* d_gates) {
  const T r = kept[units + u];
  const T d_product = d_kept ? d_reset[u] + d_kept[3 * units + u] : d_reset[u];
  T dr = d_product * h_before[u];
  if (d_kept) dr += d_kept[units + u];
  d_gates[units + u] = dr * sigmoid_slope(r);
  dh[u] += d_product * r;
}

template <class T>
TAPEDECK_INLINE void relu_unit(std::int64_t u, const T* recurrent, const T* bias, T* h) {
  const T x = h[u] + recurrent[u] + bias[u];
  h[u] = x < T(0) ? T(0) : x;  // NaN passes
}
template <class T>
TAPEDECK_INLINE void tanh_unit(std::int64_t u, const T* recurrent, const T* bias, T* h) {
  h[u] = tanh_of(h[u] + recurrent[u] + bias[u]);
}
template <class T>
TAPEDECK_INLINE void simple_unit_gradient(std::int64_t u, bool relu, const T* h, T* dh, T* d_gates) {
  d_gates[u] = relu ? (h[u] > T(0) ? dh[u] : T(0)) : dh[u] * tanh_slope(h[u]);
  dh[u] = T(0);
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
