// Gates of recurrent cells, one row of a step at a time.
#include <cstdint>

#include "engine/cpu/dispatch.h"
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

template <class T>
void lstm(std::int64_t units, const T* __restrict recurrent, const T* __restrict bias,
          const T* __restrict c_before, T* __restrict kept, T* __restrict h) {
  T* __restrict i_gate = kept;
  T* __restrict f_gate = kept + units;
  T* __restrict g_gate = kept + 2 * units;
  T* __restrict o_gate = kept + 3 * units;
  T* __restrict c = kept + 4 * units;
  for (std::int64_t u = 0; u < units; ++u) {
    const T i = sigmoid_of(i_gate[u] + recurrent[u] + bias[u]);
    const T f = sigmoid_of(f_gate[u] + recurrent[units + u] + bias[units + u]);
    const T g = tanh_of(g_gate[u] + recurrent[2 * units + u] + bias[2 * units + u]);
    i_gate[u] = i;
    f_gate[u] = f;
    g_gate[u] = g;
    c[u] = f * c_before[u] + i * g;
  }
  for (std::int64_t u = 0; u < units; ++u) {
    const T o = sigmoid_of(o_gate[u] + recurrent[3 * units + u] + bias[3 * units + u]);
    o_gate[u] = o;
    h[u] = o * tanh_of(c[u]);
  }
}

template <class T>
void lstm_gradient(std::int64_t units, const T* __restrict kept, const T* __restrict c_before,
                   const T* __restrict d_kept, T* __restrict dh, T* __restrict dc, T* __restrict d_gates) {
  const T* __restrict c = kept + 4 * units;
  if (d_kept)
    for (std::int64_t u = 0; u < units; ++u) dc[u] += d_kept[4 * units + u];
  for (std::int64_t u = 0; u < units; ++u) {
    const T i = kept[u], f = kept[units + u], g = kept[2 * units + u], o = kept[3 * units + u];
    const T squashed = tanh_of(c[u]);
    const T d_state = dc[u] + dh[u] * o * tanh_slope(squashed);
    d_gates[u] = d_state * g * sigmoid_slope(i);
    d_gates[units + u] = d_state * c_before[u] * sigmoid_slope(f);
    d_gates[2 * units + u] = d_state * i * tanh_slope(g);
    d_gates[3 * units + u] = dh[u] * squashed * sigmoid_slope(o);
    dc[u] = d_state * f;
    dh[u] = T(0);
  }
  if (!d_kept) return;
  for (std::int64_t u = 0; u < 2 * units; ++u) d_gates[u] += d_kept[u] * sigmoid_slope(kept[u]);
  for (std::int64_t u = 2 * units; u < 3 * units; ++u) d_gates[u] += d_kept[u] * tanh_slope(kept[u]);
  for (std::int64_t u = 3 * units; u < 4 * units; ++u) d_gates[u] += d_kept[u] * sigmoid_slope(kept[u]);
}

template <class T>
void gru_after(std::int64_t units, const T* __restrict recurrent, const T* __restrict bias,
               const T* __restrict h_before, T* __restrict kept, T* __restrict h) {
  const T* __restrict recurrent_bias = bias + 3 * units;
  T* __restrict candidate = kept + 2 * units;
  T* __restrict from_state = kept + 3 * units;
  for (std::int64_t u = 0; u < 2 * units; ++u)
    kept[u] = sigmoid_of(kept[u] + bias[u] + (recurrent[u] + recurrent_bias[u]));
  for (std::int64_t u = 0; u < units; ++u) {
    const T z = kept[u], r = kept[units + u];
    const T part = recurrent[2 * units + u] + recurrent_bias[2 * units + u];
    const T next = tanh_of(candidate[u] + bias[2 * units + u] + r * part);
    from_state[u] = part;
    candidate[u] = next;
    h[u] = z * h_before[u] + (T(1) - z) * next;
  }
}

template <class T>
void gru_after_gradient(std::int64_t units, const T* __restrict kept, const T* __restrict h_before,
                        const T* __restrict d_kept, T* __restrict dh, T* __restrict d_gates) {
  for (std::int64_t u = 0; u < units; ++u) {
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
}

/// The gates, and r·h in the last part of `kept`.
template <class T>
void gru_before_gates(std::int64_t units, const T* __restrict recurrent, const T* __restrict bias,
                      const T* __restrict h_before, T* __restrict kept) {
  T* __restrict reset = kept + 3 * units;
  for (std::int64_t u = 0; u < 2 * units; ++u) kept[u] = sigmoid_of(kept[u] + recurrent[u] + bias[u]);
  for (std::int64_t u = 0; u < units; ++u) reset[u] = kept[units + u] * h_before[u];
}

template <class T>
void gru_before_state(std::int64_t units, const T* __restrict recurrent, const T* __restrict bias,
                      const T* __restrict h_before, T* __restrict kept, T* __restrict h) {
  T* __restrict candidate = kept + 2 * units;
  for (std::int64_t u = 0; u < units; ++u) {
    const T z = kept[u];
    const T next = tanh_of(candidate[u] + recurrent[u] + bias[2 * units + u]);
    candidate[u] = next;
    h[u] = z * h_before[u] + (T(1) - z) * next;
  }
}

template <class T>
void gru_before_state_gradient(std::int64_t units, const T* __restrict kept, const T* __restrict h_before,
                               const T* __restrict d_kept, T* __restrict dh, T* __restrict d_gates) {
  for (std::int64_t u = 0; u < units; ++u) {
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
}

/// `d_reset`: the gradient of r·h so far.
template <class T>
void gru_before_gates_gradient(std::int64_t units, const T* __restrict kept, const T* __restrict h_before,
                               const T* __restrict d_kept, const T* __restrict d_reset, T* __restrict dh,
                               T* __restrict d_gates) {
  for (std::int64_t u = 0; u < units; ++u) {
    const T r = kept[units + u];
    const T d_product = d_kept ? d_reset[u] + d_kept[3 * units + u] : d_reset[u];
    T dr = d_product * h_before[u];
    if (d_kept) dr += d_kept[units + u];
    d_gates[units + u] = dr * sigmoid_slope(r);
    dh[u] += d_product * r;
  }
}

template <class T>
void simple_rnn(std::int64_t units, bool relu, const T* __restrict recurrent, const T* __restrict bias,
                T* __restrict h) {
  if (relu)
    for (std::int64_t u = 0; u < units; ++u) {
      const T x = h[u] + recurrent[u] + bias[u];
      h[u] = x < T(0) ? T(0) : x;  // NaN passes
    }
  else
    for (std::int64_t u = 0; u < units; ++u) h[u] = tanh_of(h[u] + recurrent[u] + bias[u]);
}

template <class T>
void simple_rnn_gradient(std::int64_t units, bool relu, const T* __restrict h, T* __restrict dh,
                         T* __restrict d_gates) {
  for (std::int64_t u = 0; u < units; ++u) {
    d_gates[u] = relu ? (h[u] > T(0) ? dh[u] : T(0)) : dh[u] * tanh_slope(h[u]);
    dh[u] = T(0);
  }
}

/// The gradient of a row of softmax: y·(dy − Σ dy·y), times `scale`, in place of dy.
template <class T>
void softmax_gradient(std::int64_t count, const T* __restrict y, const T* __restrict sum, T scale,
                      T* __restrict dy) {
  const T mean = *sum;
  for (std::int64_t i = 0; i < count; ++i) dy[i] = y[i] * (dy[i] - mean) * scale;
}

template <class T>
void set(RecurrentLoops<T>& loops) {
  loops.lstm = lstm<T>;
  loops.lstm_gradient = lstm_gradient<T>;
  loops.gru_after = gru_after<T>;
  loops.gru_after_gradient = gru_after_gradient<T>;
  loops.gru_before_gates = gru_before_gates<T>;
  loops.gru_before_state = gru_before_state<T>;
  loops.gru_before_state_gradient = gru_before_state_gradient<T>;
  loops.gru_before_gates_gradient = gru_before_gates_gradient<T>;
  loops.simple_rnn = simple_rnn<T>;
  loops.simple_rnn_gradient = simple_rnn_gradient<T>;
  loops.softmax_gradient = softmax_gradient<T>;
}

}  // namespace

void add_recurrent(LoopTable& table) {
  set(table.recurrent_float);
  set(table.recurrent_double);
}

}  // namespace tapedeck::cpu::TAPEDECK_ISA
