// Numbers as Python and NumPy print them.
#pragma once

#include <string>

namespace tapedeck::detail {

/// A finite number's shortest decimal digits that read back as the same number: 0.d₁d₂d₃… × 10^point.
struct Digits {
  bool negative = false;
  std::string digits;  ///< without leading or trailing zeros, but "0" for zero
  int point = 1;
};
/// At most `fraction` digits after the point of the positional form, correctly rounded (half to even); before
/// the point the value's own digits, also those that the shortest form does not need (72663536, not
/// 72663540).
template <class T>
Digits positional_digits(T value, int fraction);
/// At most `fraction` digits after the first one.
template <class T>
Digits scientific_digits(T value, int fraction);
/// The exact value rounded to `fraction` digits after the first one, even if fewer digits would identify it.
template <class T>
Digits rounded_digits(T value, int fraction);

/// The digits before and after the point, "12" and "5"; the fraction is empty for whole numbers.
struct Positional {
  std::string whole, fraction;
};
Positional positional(const Digits& digits);

/// "1.5", "2.", "1e" parts of the scientific form: one whole digit with its sign, the fraction, the exponent.
struct Scientific {
  std::string whole, fraction;
  int exponent = 0;
};
Scientific scientific(const Digits& digits);

/// As `str()` of a NumPy scalar, and for double as Python's repr: "4.0", "0.1", "1e-05", "nan", "-inf".
template <class T>
std::string scalar_text(T value);

extern template Digits positional_digits<float>(float, int);
extern template Digits positional_digits<double>(double, int);
extern template Digits scientific_digits<float>(float, int);
extern template Digits scientific_digits<double>(double, int);
extern template Digits rounded_digits<float>(float, int);
extern template Digits rounded_digits<double>(double, int);
extern template std::string scalar_text<float>(float);
extern template std::string scalar_text<double>(double);

}  // namespace tapedeck::detail
