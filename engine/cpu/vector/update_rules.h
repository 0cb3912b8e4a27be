// The rules of optimisers, element by element. Each is an object constructed from the call's numbers, which
// are the same for all elements; it updates a value and its slots by a gradient. engine/optim/rules.cpp has
// the formulas' sources. Included by vector/update.cpp and cuda/loops/update.cu, inside the namespace of an
// instruction set.
#pragma once

#include <cmath>
#include <cstddef>

#include "engine/backend/kernels.h"
#include "engine/cpu/vector/math.h"

namespace tapedeck::cpu::TAPEDECK_ISA {
namespace {

/// Reads the numbers of a call in order.
template <class T>
struct Numbers {
  const double* next;
  operator T() { return static_cast<T>(*next++); }
  double exact() { return *next++; }
};

/// NaN for a sign of NaN.
template <class T>
TAPEDECK_INLINE T sign_times(T sign, T magnitude) {
  return sign > T(0) ? magnitude : sign < T(0) ? -magnitude : sign * T(0);
}
template <class T>
TAPEDECK_INLINE T shrink(T x, T threshold) {
  const T size = std::abs(x) - threshold;
  return sign_times(x, size > T(0) ? size : T(0));
}

template <class T>
struct GradientDescent {
  static constexpr std::size_t slots = 0;
  T rate;
  explicit GradientDescent(Numbers<T> n) : rate(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p) const { p -= rate * g; }
};

template <class T>
struct ProximalGradientDescent {
  static constexpr std::size_t slots = 0;
  T rate, l1, l2;
  explicit ProximalGradientDescent(Numbers<T> n) : rate(n), l1(n), l2(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p) const {
    p = shrink(p - rate * g, rate * l1) / (T(1) + rate * l2);
  }
};

template <class T, bool nesterov>
struct Momentum {
  static constexpr std::size_t slots = 1;
  T rate, momentum;
  explicit Momentum(Numbers<T> n) : rate(n), momentum(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& sum) const {
    sum = momentum * sum + g;
    p -= rate * (nesterov ? g + momentum * sum : sum);
  }
};

template <class T, bool nesterov>
struct Velocity {
  static constexpr std::size_t slots = 1;
  T rate, momentum;
  explicit Velocity(Numbers<T> n) : rate(n), momentum(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& velocity) const {
    velocity = momentum * velocity - rate * g;
    p += nesterov ? momentum * velocity - rate * g : velocity;
  }
};

template <class T>
struct Adagrad {
  static constexpr std::size_t slots = 1;
  T rate, epsilon;
  explicit Adagrad(Numbers<T> n) : rate(n), epsilon(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& sum) const {
    sum += g * g;
    p -= rate * g / std::sqrt(sum + epsilon);
  }
};

template <class T>
struct ProximalAdagrad {
  static constexpr std::size_t slots = 1;
  T rate, l1, l2;
  explicit ProximalAdagrad(Numbers<T> n) : rate(n), l1(n), l2(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& sum) const {
    sum += g * g;
    const T own = rate / std::sqrt(sum);
    p = shrink(p - own * g, own * l1) / (T(1) + own * l2);
  }
};

template <class T>
struct AdagradDA {
  static constexpr std::size_t slots = 2;
  T rate, l1, l2;  // l1 and l2 times the step's number
  explicit AdagradDA(Numbers<T> n) : rate(n), l1(n), l2(n) {
    const double step = n.exact();
    l1 = static_cast<T>(static_cast<double>(l1) * step);
    l2 = static_cast<T>(static_cast<double>(l2) * step);
  }
  TAPEDECK_INLINE void operator()(T g, T& p, T& sum, T& squares) const {
    sum += g;
    squares += g * g;
    p = -rate * shrink(sum, l1) / (l2 * rate + std::sqrt(squares));
  }
};

template <class T>
struct Adadelta {
  static constexpr std::size_t slots = 2;
  T rate, rho, rest, epsilon;
  explicit Adadelta(Numbers<T> n) : rate(n), rho(0), rest(0), epsilon(0) {
    const double decay = n.exact();
    rho = static_cast<T>(decay);
    rest = static_cast<T>(1.0 - decay);
    epsilon = n;
  }
  TAPEDECK_INLINE void operator()(T g, T& p, T& squares, T& steps) const {
    squares = rho * squares + rest * (g * g);
    const T step = std::sqrt(steps + epsilon) / std::sqrt(squares + epsilon) * g;
    steps = rho * steps + rest * (step * step);
    p -= rate * step;
  }
};

/// Slots in the order of the ops: [mean gradient], mean square, [momentum].
template <class T, bool centered, bool with_momentum>
struct RmsProp {
  static constexpr std::size_t slots = 1 + centered + with_momentum;
  T rate, rho, rest, momentum, epsilon;
  explicit RmsProp(Numbers<T> n) : rate(n), rho(0), rest(0), momentum(0), epsilon(0) {
    const double decay = n.exact();
    rho = static_cast<T>(decay);
    rest = static_cast<T>(1.0 - decay);
    if constexpr (with_momentum) momentum = n;
    epsilon = n;
  }
  TAPEDECK_INLINE T step_of(T g, T variance) const { return rate * g / std::sqrt(variance + epsilon); }
  TAPEDECK_INLINE void operator()(T g, T& p, T& squares) const {
    squares = rho * squares + rest * (g * g);
    p -= step_of(g, squares);
  }
  TAPEDECK_INLINE void operator()(T g, T& p, T& first, T& second) const {
    if constexpr (centered) {
      first = rho * first + rest * g;
      second = rho * second + rest * (g * g);
      p -= step_of(g, second - first * first);
    } else {
      first = rho * first + rest * (g * g);
      second = momentum * second + step_of(g, first);
      p -= second;
    }
  }
  TAPEDECK_INLINE void operator()(T g, T& p, T& mean, T& squares, T& steps) const {
    mean = rho * mean + rest * g;
    squares = rho * squares + rest * (g * g);
    steps = momentum * steps + step_of(g, squares - mean * mean);
    p -= steps;
  }
};

/// beta and 1 − beta of two moments, the second exact where beta is near 1.
template <class T>
struct Moments {
  T beta1, rest1, beta2, rest2;
  explicit Moments(Numbers<T>& n) : beta1(0), rest1(0), beta2(0), rest2(0) {
    const double first = n.exact(), second = n.exact();
    beta1 = static_cast<T>(first);
    rest1 = static_cast<T>(1.0 - first);
    beta2 = static_cast<T>(second);
    rest2 = static_cast<T>(1.0 - second);
  }
  TAPEDECK_INLINE void mean(T g, T& m) const { m = beta1 * m + rest1 * g; }
  TAPEDECK_INLINE void square(T g, T& v) const { v = beta2 * v + rest2 * (g * g); }
};

template <class T, bool amsgrad>
struct Adam {
  static constexpr std::size_t slots = 2 + amsgrad;
  T rate;
  Moments<T> moments;
  T epsilon, kept;
  explicit Adam(Numbers<T> n) : rate(n), moments(n), epsilon(n), kept(static_cast<T>(1.0 - n.exact())) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& m, T& v) const {
    moments.mean(g, m);
    moments.square(g, v);
    p = kept * p - rate * m / (std::sqrt(v) + epsilon);
  }
  TAPEDECK_INLINE void operator()(T g, T& p, T& m, T& v, T& largest) const {
    moments.mean(g, m);
    moments.square(g, v);
    largest = v > largest ? v : largest;
    p = kept * p - rate * m / (std::sqrt(largest) + epsilon);
  }
};

template <class T>
struct Adamax {
  static constexpr std::size_t slots = 2;
  T rate;
  Moments<T> moments;
  T epsilon;
  explicit Adamax(Numbers<T> n) : rate(n), moments(n), epsilon(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& m, T& u) const {
    moments.mean(g, m);
    const T size = std::abs(g), decayed = moments.beta2 * u;
    u = decayed > size ? decayed : size;
    p -= rate * m / (u + epsilon);
  }
};

template <class T>
struct Nadam {
  static constexpr std::size_t slots = 2;
  T mean_rate, gradient_rate;
  Moments<T> moments;
  T correction, epsilon;
  explicit Nadam(Numbers<T> n) : mean_rate(n), gradient_rate(n), moments(n), correction(n), epsilon(n) {}
  TAPEDECK_INLINE void operator()(T g, T& p, T& m, T& v) const {
    moments.mean(g, m);
    moments.square(g, v);
    p -= (mean_rate * m + gradient_rate * g) / (std::sqrt(v / correction) + epsilon);
  }
};

template <class T, bool square_root>
struct Ftrl {
  static constexpr std::size_t slots = 2;
  T rate, power, l1, l2, shrinkage;  // power: minus learning_rate_power
  explicit Ftrl(Numbers<T> n) : rate(n), power(-static_cast<T>(n)), l1(n), l2(n), shrinkage(n) {}
  TAPEDECK_INLINE T raised(T sum) const { return square_root ? std::sqrt(sum) : std::pow(sum, power); }
  TAPEDECK_INLINE void operator()(T g, T& p, T& sum, T& linear) const {
    const T grown = sum + g * g;
    linear += g + T(2) * shrinkage * p - (raised(grown) - raised(sum)) / rate * p;
    const T quadratic = raised(grown) / rate + T(2) * l2;
    p = -shrink(linear, l1) / quadratic;
    sum = grown;
  }
};

template <class T>
struct Lion {
  static constexpr std::size_t slots = 1;
  T rate, kept;
  T beta1, rest1, beta2, rest2;
  explicit Lion(Numbers<T> n) : rate(n), kept(0), beta1(0), rest1(0), beta2(0), rest2(0) {
    const Moments<T> moments(n);
    beta1 = moments.beta1;
    rest1 = moments.rest1;
    beta2 = moments.beta2;
    rest2 = moments.rest2;
    kept = static_cast<T>(1.0 - n.exact());
  }
  TAPEDECK_INLINE void operator()(T g, T& p, T& m) const {
    p = kept * p - sign_times(beta1 * m + rest1 * g, rate);
    m = beta2 * m + rest2 * g;
  }
};

/// Calls `f.template operator()<Rule>()` with the rule's class.
template <class T, class F>
void visit_rule(kernels::Update rule, F&& f) {
  using kernels::Update;
  switch (rule) {
    case Update::gradient_descent:
      return f.template operator()<GradientDescent<T>>();
    case Update::proximal_gradient_descent:
      return f.template operator()<ProximalGradientDescent<T>>();
    case Update::momentum:
      return f.template operator()<Momentum<T, false>>();
    case Update::momentum_nesterov:
      return f.template operator()<Momentum<T, true>>();
    case Update::velocity:
      return f.template operator()<Velocity<T, false>>();
    case Update::velocity_nesterov:
      return f.template operator()<Velocity<T, true>>();
    case Update::adagrad:
      return f.template operator()<Adagrad<T>>();
    case Update::proximal_adagrad:
      return f.template operator()<ProximalAdagrad<T>>();
    case Update::adagrad_da:
      return f.template operator()<AdagradDA<T>>();
    case Update::adadelta:
      return f.template operator()<Adadelta<T>>();
    case Update::rms_prop:
      return f.template operator()<RmsProp<T, false, false>>();
    case Update::rms_prop_momentum:
      return f.template operator()<RmsProp<T, false, true>>();
    case Update::centered_rms_prop:
      return f.template operator()<RmsProp<T, true, false>>();
    case Update::centered_rms_prop_momentum:
      return f.template operator()<RmsProp<T, true, true>>();
    case Update::adam:
      return f.template operator()<Adam<T, false>>();
    case Update::adam_amsgrad:
      return f.template operator()<Adam<T, true>>();
    case Update::adamax:
      return f.template operator()<Adamax<T>>();
    case Update::nadam:
      return f.template operator()<Nadam<T>>();
    case Update::ftrl:
      return f.template operator()<Ftrl<T, false>>();
    case Update::ftrl_square_root:
      return f.template operator()<Ftrl<T, true>>();
    case Update::lion:
      return f.template operator()<Lion<T>>();
  }
}

}  // namespace
}  // namespace tapedeck::cpu::TAPEDECK_ISA
