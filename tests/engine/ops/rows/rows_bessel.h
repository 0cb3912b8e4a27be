// Test rows of Bessel functions.
#pragma once

#include "tests/engine/ops/rows/rows_math.h"

namespace tapedeck::testing {

/// Against the C++ library's integrals and series in long double.
inline Rows bessel_rows() {
  const auto first = [](double order, bool scaled) {
    return [=](double x) {
      const Wide size = std::abs(static_cast<Wide>(x));
      const Wide value = std::cyl_bessel_i(static_cast<Wide>(order), size) * (scaled ? std::exp(-size) : 1);
      return static_cast<double>(order == 1 && x < 0 ? -value : value);
    };
  };
  const auto second = [](double order, bool scaled) {
    return [=](double x) {
      const Wide value = std::cyl_bessel_k(static_cast<Wide>(order), static_cast<Wide>(x));
      return static_cast<double>(value * (scaled ? std::exp(static_cast<Wide>(x)) : 1));
    };
  };
  const auto j = [](double order) {
    return [=](double x) {
      const Wide value = std::cyl_bessel_j(static_cast<Wide>(order), std::abs(static_cast<Wide>(x)));
      return static_cast<double>(order == 1 && x < 0 ? -value : value);
    };
  };
  const auto y = [](double order) {
    return [=](double x) {
      return static_cast<double>(std::cyl_neumann(static_cast<Wide>(order), static_cast<Wide>(x)));
    };
  };
  const double tolerance = 1e-14;
  const double near_zeros = 1e-12;  // relative, of values down to 1e-3: there a rounding of x alone is 2e-13
  Rows rows = {unary_test("bessel_i0", -3, 3, first(0, false), tolerance, false),
               unary_test("bessel_i0e", 0.2, 3, first(0, true), tolerance, false),
               unary_test("bessel_i1", -3, 3, first(1, false), tolerance, false),
               unary_test("bessel_i1e", 0.2, 3, first(1, true), tolerance, false),
               unary_test("bessel_j0", -3, 3, j(0), tolerance, false),
               unary_test("bessel_j1", -3, 3, j(1), tolerance, false),
               unary_test("bessel_y0", 0.5, 3, y(0), near_zeros, false),
               unary_test("bessel_y1", 0.5, 3, y(1), near_zeros, false),
               unary_test("bessel_k0", 0.5, 3, second(0, false), tolerance, false),
               unary_test("bessel_k0e", 0.5, 3, second(0, true), tolerance, false),
               unary_test("bessel_k1", 0.5, 3, second(1, false), tolerance, false),
               unary_test("bessel_k1e", 0.5, 3, second(1, true), tolerance, false)};
  for (Row& row : rows)
    if (row.op.find("_i") != std::string::npos || row.op.find("_k") != std::string::npos)
      row.calls.push_back([](Random&) {  // on both sides of where the series begins
        return Call{{Tensor::from_values<double>(std::vector<double>{0.01, 7.5, 15, 99.5, 100.5, 300}, {6})}};
      });
    else
      row.calls.push_back([](Random&) {
        return Call{{Tensor::from_values<double>(std::vector<double>{0.01, 7.5, 25, 60, 200, 950.5}, {6})}};
      });
  return rows;
}

}  // namespace tapedeck::testing
