// Tapedeck's engine from C++: derivatives of any order, a custom gradient, and a line fitted by gradient
// descent.
#include <cstdio>

#include "engine/tapedeck.h"

using namespace tapedeck;

namespace {

/// Differentiating a gradient function gives the next derivative.
void print_derivatives_of_a_cube() {
  const TensorFunction cube = [](std::span<const Tensor> x) { return x[0] * x[0] * x[0]; };
  const TensorFunction slope = [=](std::span<const Tensor> x) { return gradients_function(cube)(x)[0]; };
  const TensorFunction curvature = [=](std::span<const Tensor> x) { return gradients_function(slope)(x)[0]; };
  const std::array x{Tensor::scalar(2)};
  std::printf("x^3 at 2: value %g, first derivative %g, second derivative %g\n", cube(x).item(),
              slope(x).item(), curvature(x).item());
}

Tensor naive_log1pexp(const Tensor& x) {
  return ops::log(1.0 + ops::exp(x));
}

/// The same function with a gradient that does not divide infinity by infinity: dy·(1 − 1/(1 + eˣ)).
Tensor stable_log1pexp(const Tensor& x) {
  return custom_gradient("log1pexp", std::array{x}, [&] {
    const Tensor e = ops::exp(x);
    const CustomVjp vjp = [e](std::span<const Tensor> cotangents) -> Tensors {
      return {cotangents[0] * (1.0 - 1.0 / (1.0 + e))};
    };
    return CustomResult{{ops::log(1.0 + e)}, vjp};
  })[0];
}

double slope_at(Tensor (*f)(const Tensor&), double at) {
  const Tensor x = Tensor::scalar(at);
  Tape tape;
  tape.start();
  tape.watch(x);
  const Tensor y = f(x);
  tape.stop();
  return tape.gradient(std::array{y}, std::array{x})[0].item();
}

void print_gradients_of_log1pexp() {
  for (const double at : {0.0, 100.0})
    std::printf("log(1 + e^x) at %g: naive gradient %g, custom gradient %g\n", at,
                slope_at(naive_log1pexp, at), slope_at(stable_log1pexp, at));
}

/// y = 3x + 2, found again from its points and some noise.
void fit_a_line() {
  constexpr double true_slope = 3, true_intercept = 2;
  const Tensor x = ops::linspace(Tensor::scalar(-1), Tensor::scalar(1), 100);
  const Tensor noise = ops::random_normal({100}, 0.0, 0.01, DType::float32, 7);
  const Tensor y = x * true_slope + true_intercept + noise;

  Variable slope(Tensor::scalar(0), "slope"), intercept(Tensor::scalar(0), "intercept");
  const auto loss_and_gradients = implicit_value_and_gradients(
      [&] { return ops::reduce_mean(ops::square(x * slope.read() + intercept.read() - y)); });
  constexpr double learning_rate = 0.5;
  for (int step = 0; step <= 60; ++step) {
    auto [loss, gradients] = loss_and_gradients();
    if (step % 30 == 0) std::printf("step %2d: loss %.3f\n", step, loss.item());
    for (auto& [gradient, variable] : gradients) variable.assign(variable.peek() - gradient * learning_rate);
  }
  std::printf("fitted line: %.2f x + %.2f\n", slope.read().item(), intercept.read().item());
}

}  // namespace

int main() {
  try {
    print_derivatives_of_a_cube();
    print_gradients_of_log1pexp();
    fit_a_line();
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
