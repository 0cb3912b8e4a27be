// Bessel functions of the orders 0 and 1, one element at a time in float64; NaN where they are not real.
#pragma once

namespace tapedeck::cpu {

/// Modified, of the first kind; scaled: times e^(−|x|).
double bessel_i(int order, bool scaled, double x);
/// Modified, of the second kind; scaled: times eˣ.
double bessel_k(int order, bool scaled, double x);
/// Of the first and of the second kind.
double bessel_j(int order, double x);
double bessel_y(int order, double x);

}  // namespace tapedeck::cpu
