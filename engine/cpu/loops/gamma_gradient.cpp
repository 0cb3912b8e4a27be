// The derivative of a gamma-distributed number with respect to the distribution's shape parameter.
//
// Figurnov, Mohamed, Mnih: "Implicit reparameterization gradients" (NeurIPS 2018), (5): with F(x; a) the
// distribution function and f its density, dx/da = −(∂F/∂a)/f where F(x; a) stays what it is. F is a power
// series or a continued fraction (DLMF 8.7.1 and 8.9.2), evaluated on Taylor series in a.
#include <limits>

#include "engine/cpu/blocks.h"
#include "engine/cpu/kernels.h"
#include "engine/cpu/loops/taylor.h"

namespace tapedeck::cpu {
namespace {

constexpr int most_terms = 100'000;  ///< never reached: both expansions end after about √a terms

/// ψ by recurrence up to 12 and the asymptotic series (Abramowitz and Stegun, 6.3.5 and 6.3.18).
template <std::size_t order>
Taylor<order> digamma(Taylor<order> x) {
  Taylor<order> shift;
  for (; x.c[0] < 12.0; x = x + 1.0) shift = shift + Taylor<order>(1.0) / x;
  const Taylor<order> inverse = Taylor<order>(1.0) / x;
  const Taylor<order> z = inverse * inverse;
  Taylor<order> series;
  for (const double factor :
       {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252, -1.0 / 120, 1.0 / 12})
    series = series * z + factor;
  return log(x) - inverse * 0.5 - z * series - shift;
}

/// Whether adding `change` leaves every coefficient unchanged.
template <std::size_t order>
bool is_negligible(const Taylor<order>& change, const Taylor<order>& sum) {
  for (std::size_t k = 0; k <= order; ++k)
    if (std::abs(change.c[k]) > 0x1p-54 * std::abs(sum.c[k])) return false;
  return true;
}

/// S with F = p·S, p = xᵃ·e⁻ˣ / Γ(a + 1): Σ xⁿ / ((a + 1)…(a + n)).
template <std::size_t order>
Taylor<order> lower_series(const Taylor<order>& a, double x) {
  Taylor<order> term(1.0);
  Taylor<order> sum(1.0);
  for (int n = 1; n < most_terms; ++n) {
    term = term * x / (a + static_cast<double>(n));
    sum = sum + term;
    if (is_negligible(term, sum)) break;
  }
  return sum;
}

/// C with 1 − F = p·C, by Lentz's method.
template <std::size_t order>
Taylor<order> upper_fraction(const Taylor<order>& a, double x) {
  Taylor<order> b = Taylor<order>(x + 1.0) - a;
  Taylor<order> c(1e300);
  Taylor<order> d = Taylor<order>(1.0) / b;
  Taylor<order> fraction = d;
  for (int n = 1; n < most_terms; ++n) {
    const Taylor<order> numerator = (a - static_cast<double>(n)) * static_cast<double>(n);
    b = b + 2.0;
    d = Taylor<order>(1.0) / (numerator * d + b);
    c = b + numerator / c;
    const Taylor<order> change = fraction * (d * c - 1.0);
    fraction = fraction + change;
    if (is_negligible(change, fraction)) break;
  }
  return a * fraction;
}

/// By Cornish and Fisher's expansion of the quantile at a fixed normal number z (Abramowitz and Stegun,
/// 26.4.14 ff. and 26.2.49): x = a + z√a + (z² − 1)/3 + …; z is solved for first.
template <std::size_t order>
Taylor<order> large_shape_slope(const Taylor<order>& a, double x) {
  const Taylor<order> root = sqrt(a);
  const Taylor<order> u = Taylor<order>(1.0) / root;
  const auto third = [](const Taylor<order>& z) { return z * (z * z - 7.0); };
  const auto fourth = [](const Taylor<order>& z) { return z * z * (z * z * 3.0 + 7.0) - 16.0; };
  const auto fifth = [](const Taylor<order>& z) { return z * (z * z * (z * z * 9.0 + 256.0) - 433.0); };
  Taylor<order> z = (Taylor<order>(x) - a) * u;
  for (int step = 0; step < 12; ++step) {  // each gains two digits
    const Taylor<order> reached = a + z * root + (z * z - 1.0) * (1.0 / 3) + third(z) * u * (1.0 / 36) -
                                  fourth(z) * u * u * (1.0 / 810) + fifth(z) * u * u * u * (1.0 / 38880);
    z = z + (Taylor<order>(x) - reached) * u;
  }
  return z * u * 0.5 + 1.0 - third(z) * u * u * u * (1.0 / 72) + fourth(z) * u * u * u * u * (1.0 / 810) -
         fifth(z) * u * u * u * u * u * (1.0 / 25920);
}

template <std::size_t order>
double slope(double shape, double x) {
  if (!(shape > 0.0) || !(x > 0.0) || std::isinf(shape) || std::isinf(x))
    return std::numeric_limits<double>::quiet_NaN();
  const auto a = Taylor<order>::variable(shape);
  const double deviations = (x - shape) / std::sqrt(shape);
  double factorial = 1.0;
  for (std::size_t k = 2; k <= order; ++k) factorial *= static_cast<double>(k);
  // The expansions below need about √a terms there; this one is in powers of deviations/√a.
  if (shape >= 1e4 && std::abs(deviations) < 0.04 * std::sqrt(shape))
    return factorial * large_shape_slope(a, x).c[order];
  // ∂F/∂a = ±p·(E·ln' p + E'), E one of the expansions; f = p·a/x.
  const auto longer = Taylor<order + 1>::variable(shape);
  const bool is_upper = x > 1.0 && x > shape;
  const auto expansion = is_upper ? upper_fraction(longer, x) : lower_series(longer, x);
  const Taylor<order> log_slope = Taylor<order>(std::log(x)) - digamma(a + 1.0);
  const Taylor<order> change = shortened<order>(expansion) * log_slope + derivative(expansion);
  return (is_upper ? factorial : -factorial) * (change * x / a).c[order];
}

double slope_of_order(int order, double shape, double x) {
  switch (order) {
    case 0:
      return slope<0>(shape, x);
    case 1:
      return slope<1>(shape, x);
    case 2:
      return slope<2>(shape, x);
    default:
      return slope<3>(shape, x);
  }
}

template <class T>
void fill_slopes(int order, const T* alpha, const T* sample, T* out, std::int64_t count) {
  for_blocks(count, grain_for(500.0), [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i)
      out[i] = static_cast<T>(
          slope_of_order(order, static_cast<double>(alpha[i]), static_cast<double>(sample[i])));
  });
}

}  // namespace

void random_gamma_slope(int order, DType dtype, const void* alpha, const void* sample, void* out,
                        std::int64_t count) {
  if (dtype == DType::float32)
    fill_slopes(order, static_cast<const float*>(alpha), static_cast<const float*>(sample),
                static_cast<float*>(out), count);
  else
    fill_slopes(order, static_cast<const double*>(alpha), static_cast<const double*>(sample),
                static_cast<double*>(out), count);
}

}  // namespace tapedeck::cpu
