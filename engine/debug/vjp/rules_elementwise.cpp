// Element by element; operands broadcast.
#include <cmath>

#include "engine/debug/vjp/foreign_rules.h"
#include "engine/ops/core/ops.h"

namespace tapedeck::debug {
namespace elementwise {
namespace {

/// "alpha·" where it is not 1.
std::string factor_text(const ForeignArguments& call, const char* name) {
  return call.number_or(name, 1) == 1 ? std::string() : std::string(name) + "·";
}

/// Of an op of `self` and a second operand, which may be a number: that has no gradient.
std::string of_two(const ForeignArguments& call, const char* second, const std::string& of_self,
                   const std::string& of_second) {
  if (!call.takes_tensor(second)) return of_self + "; with x self";
  return of_self + of_second + "; with x self, y " + second;
}

template <bool subtracts>
ForeignResult sum_of_two(const ForeignArguments& call) {
  const double alpha = call.number_or("alpha", 1);
  Tensor other = call.operand("other");
  if (alpha != 1) other = other * alpha;
  const Tensor self = call.operand("self");
  const std::string sign = subtracts ? "−" : "", factor = factor_text(call, "alpha");
  return {{subtracts ? self - other : self + other},
          of_two(call, "other", "dx = dz", ", dy = " + sign + factor + "dz")};
}

ForeignResult reversed_difference(const ForeignArguments& call) {
  const double alpha = call.number_or("alpha", 1);
  const Tensor self = call.operand("self");
  return {{call.operand("other") - (alpha == 1 ? self : self * alpha)},
          of_two(call, "other", "dx = −" + factor_text(call, "alpha") + "dz", ", dy = dz")};
}

ForeignResult product(const ForeignArguments& call) {
  const char* of_self = call.takes_tensor("other") ? "dx = dz·y" : "dx = dz·other";
  return {{call.operand("self") * call.operand("other")}, of_two(call, "other", of_self, ", dy = dz·x")};
}

ForeignResult quotient(const ForeignArguments& call) {
  if (!call.is_none("rounding_mode"))
    throw NoFormula{"it rounds its result (rounding_mode = " + call.text_or("rounding_mode", "") + ")"};
  const char* of_self = call.takes_tensor("other") ? "dx = dz / y" : "dx = dz / other";
  return {{call.operand("self") / call.operand("other")}, of_two(call, "other", of_self, ", dy = −dz·z / y")};
}

ForeignResult power(const ForeignArguments& call) {
  const Tensor self = call.operand("self"), exponent = call.operand("exponent");
  if (!call.takes_tensor("self")) return {{ops::pow(self, exponent)}, "dy = dz·z·ln self; with y exponent"};
  const char* of_self = call.takes_tensor("exponent") ? "dx = dz·y·x^(y−1) (0 where y = 0)"
                                                      : "dx = dz·exponent·x^(exponent − 1)";
  return {{ops::pow(self, exponent)}, of_two(call, "exponent", of_self, ", dy = dz·z·ln x (0 where x ≤ 0)")};
}

ForeignResult choice(const ForeignArguments& call) {
  return {{ops::where(call.tensor("condition"), call.operand("self"), call.operand("other"))}};
}

ForeignResult masked_fill(const ForeignArguments& call) {
  const char* of_value = call.takes_tensor("value") ? "; d(value) = Σ dz where mask, else 0" : "";
  return {{ops::where(call.tensor("mask"), call.operand("value"), call.operand("self"))},
          std::string("dx = 0 where mask, else dz") + of_value + "; with x self"};
}

/// Where it lies between the bounds; at a bound, too, if `closed`.
ForeignResult clipped(const ForeignArguments& call, const char* lowest, const char* highest, bool closed) {
  const Tensor self = call.operand("self");
  const bool below = !call.is_none(lowest), above = !call.is_none(highest);
  const std::string order = closed ? " ≤ " : " < ";
  std::string range = "x";
  Tensor result = self;
  // maximum and minimum give the gradient to their first operand where both are equal.
  if (below) {
    const Tensor bound = call.operand(lowest);
    result = closed ? ops::maximum(result, bound) : ops::where(ops::greater(self, bound), result, bound);
    range = lowest + order + range;
  }
  if (above) {
    const Tensor bound = call.operand(highest);
    result = closed ? ops::minimum(result, bound) : ops::where(ops::less(self, bound), result, bound);
    range += order + highest;
  }
  return {{result}, "dx = dz where " + range + ", else 0; with x self"};
}

ForeignResult clamp(const ForeignArguments& call) {
  return clipped(call, "min", "max", true);
}
ForeignResult hardtanh(const ForeignArguments& call) {
  return clipped(call, "min_val", "max_val", false);
}

ForeignResult leaky_relu(const ForeignArguments& call) {
  const double slope = call.number("negative_slope");
  return {{call_row1("leaky_relu", {call.operand("self")}, {{"alpha", slope}})},
          "dx = dz where x > 0, else negative_slope·dz; with x self"};
}

ForeignResult prelu(const ForeignArguments& call) {
  const Tensor self = call.operand("self");
  return {
      {ops::where(ops::greater(self, Tensor::scalar(0, self.dtype())), self, self * call.operand("weight"))},
      "dx = dz where x > 0, else weight·dz; d(weight) = 0 where x > 0, else dz·x; with x self"};
}

/// scale·x above zero, else scale·alpha·(e^(input_scale·x) − 1).
Tensor exponential_unit(const Tensor& self, double scale, double alpha, double input_scale) {
  const Tensor zero = Tensor::scalar(0, self.dtype()), above = ops::greater(self, zero);
  const Tensor below = ops::where(above, zero, self);  // finite where it is not chosen
  return ops::where(above, self * scale, (ops::exp(below * input_scale) - 1.0) * (alpha * scale));
}

ForeignResult elu(const ForeignArguments& call) {
  const std::string factors = factor_text(call, "alpha") + factor_text(call, "scale");
  const std::string lowest = factors.empty() ? "1" : factors.substr(0, factors.rfind("·"));
  return {{exponential_unit(call.operand("self"), call.number_or("scale", 1), call.number_or("alpha", 1),
                            call.number_or("input_scale", 1))},
          "dx = " + factor_text(call, "scale") + "dz where x > 0, else " + factor_text(call, "input_scale") +
              "dz·(z + " + lowest + "); with x self"};
}

ForeignResult celu(const ForeignArguments& call) {
  const double alpha = call.number_or("alpha", 1);
  return {{exponential_unit(call.operand("self"), 1, alpha, 1 / alpha)},
          alpha == 1 ? "dx = dz where x > 0, else dz·(z + 1); with x self"
                     : "dx = dz where x > 0, else dz·(z + alpha)/alpha; with x self"};
}

ForeignResult softplus(const ForeignArguments& call) {
  const double beta = call.number_or("beta", 1);
  if (beta == 1) return {{ops::softplus(call.operand("self"))}};
  return {{ops::softplus(call.operand("self") * beta) / beta}, "dx = dz·sigmoid(beta·x); with x self"};
}

ForeignResult gelu(const ForeignArguments& call) {
  const bool approximate = call.text_or("approximate", "none") == "tanh";
  return {{call_row1("gelu", {call.operand("self")}, {{"approximate", approximate}})},
          approximate ? "dx = dz·(s + x·s·(1 − s)·√(8/π)·(1 + 0.134145·x²)) with s = sigmoid(√(8/π)·(x + "
                        "0.044715·x³))"
                      : "dx = dz·(Φ(x) + x·φ(x)) with φ = Φ'"};
}

ForeignResult silu(const ForeignArguments& call) {
  return {{call_row1("swish", {call.operand("self")})}, "dx = dz·(s + x·s·(1 − s)) with s = sigmoid(x)"};
}

ForeignResult mish(const ForeignArguments& call) {
  const Tensor self = call.operand("self");
  return {{self * ops::tanh(ops::softplus(self))},
          "dx = dz·(t + x·(1 − t²)·sigmoid(x)) with t = tanh(softplus(x))"};
}

ForeignResult hardswish(const ForeignArguments& call) {
  const Tensor self = call.operand("self");
  return {{self * call_row1("relu6", {self + 3.0}) / 6.0},
          "dx = 0 where x ≤ −3, else dz where x ≥ 3, else dz·(2·x + 3)/6"};
}

/// What relu's backward computes.
ForeignResult threshold_backward(const ForeignArguments& call) {
  if (call.number("threshold") != 0) throw NoFormula{"the formula of relu_grad has no threshold"};
  const Tensor self = call.operand("self"), gradient = call.operand("grad_output");
  return {{call_row1("relu_grad", {gradient, self})},
          "dg = dz where self > 0, else 0; with g grad_output; none for self"};
}

ForeignResult tanh_backward(const ForeignArguments& call) {
  const Tensor output = call.operand("output");
  return {{call.operand("grad_output") * (1.0 - output * output)},
          "dg = dz·(1 − y²), dy = −2·dz·g·y; with g grad_output, y output"};
}

ForeignResult sigmoid_backward(const ForeignArguments& call) {
  const Tensor output = call.operand("output");
  return {{call.operand("grad_output") * output * (1.0 - output)},
          "dg = dz·y·(1 − y), dy = dz·g·(1 − 2·y); with g grad_output, y output"};
}

ForeignResult cast(const ForeignArguments& call) {
  return {{ops::cast(call.tensor("self"), call.dtype())}};
}

ForeignResult native_dropout(const ForeignArguments& call) {
  const double kept = 1 - call.number_or("p", 0.5);
  if (!call.flag_or("train", true)) return {{call.operand("input")}, "dx = dz; with x input"};
  if (kept <= 0) throw NoFormula{"it drops everything"};
  return {{call.operand("input") * ops::cast(call.output(1), call.dtype()) / kept},
          "dx = dz·mask / (1 − p), mask: what it kept, its result 1; with x input"};
}

constexpr NamedRule rules[] = {
    {"add", &sum_of_two<false>},
    {"sub", &sum_of_two<true>},
    {"subtract", &sum_of_two<true>},
    {"rsub", &reversed_difference},
    {"mul", &product},
    {"multiply", &product},
    {"div", &quotient},
    {"divide", &quotient},
    {"true_divide", &quotient},
    {"pow", &power},
    {"where", &choice},
    {"masked_fill", &masked_fill},
    {"clamp", &clamp},
    {"clip", &clamp},
    {"hardtanh", &hardtanh},
    {"leaky_relu", &leaky_relu},
    {"_prelu_kernel", &prelu},
    {"celu", &celu},
    {"elu", &elu},
    {"softplus", &softplus},
    {"gelu", &gelu},
    {"silu", &silu},
    {"mish", &mish},
    {"hardswish", &hardswish},
    {"threshold_backward", &threshold_backward},
    {"tanh_backward", &tanh_backward},
    {"sigmoid_backward", &sigmoid_backward},
    {"_to_copy", &cast},
    {"native_dropout", &native_dropout},
};

}  // namespace
}  // namespace elementwise

std::span<const NamedRule> elementwise_rules() {
  return elementwise::rules;
}

}  // namespace tapedeck::debug
