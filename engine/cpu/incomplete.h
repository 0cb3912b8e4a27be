// The regularized incomplete gamma and beta functions and their densities, element by element; NaN outside of
// their domains.
#pragma once

#include <cstdint>

#include "engine/tensor/dtype.h"

namespace tapedeck::cpu {

/// P(a, x) = γ(a, x) / Γ(a), for finite a > 0 and x ≥ 0; 1 at x = ∞.
double lower_incomplete_gamma(double a, double x);
/// Q(a, x) = 1 − P(a, x), without the loss of digits where P is near 1.
double upper_incomplete_gamma(double a, double x);
/// I(x; a, b) = B(x; a, b) / B(a, b), for finite a > 0, b > 0 and 0 ≤ x ≤ 1.
double incomplete_beta(double a, double b, double x);

/// ∂P/∂x = xᵃ⁻¹·e⁻ˣ / Γ(a), without the loss of digits that its logarithm has where a is large; at 0 its
/// limit.
double gamma_density(double a, double x);
/// ∂I/∂x = xᵃ⁻¹·(1 − x)ᵇ⁻¹ / B(a, b), the same.
double beta_density(double a, double b, double x);

/// The same over contiguous float32 or float64 values.
void incomplete_gamma(bool upper, DType dtype, const void* a, const void* x, void* out, std::int64_t count);
void gamma_density(DType dtype, const void* a, const void* x, void* out, std::int64_t count);
void incomplete_beta(DType dtype, const void* a, const void* b, const void* x, void* out, std::int64_t count);
void beta_density(DType dtype, const void* a, const void* b, const void* x, void* out, std::int64_t count);

}  // namespace tapedeck::cpu
