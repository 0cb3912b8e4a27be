#include "engine/tensor/number_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <string_view>

namespace tapedeck::detail {
namespace {

/// Parses the output of to_chars, in either form.
Digits parse(std::string_view text) {
  Digits result;
  result.negative = text.starts_with('-');
  if (result.negative) text.remove_prefix(1);
  int exponent = 0;
  if (const auto e = text.find('e'); e != std::string_view::npos) {
    std::string_view exponent_text = text.substr(e + 1);
    if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
    std::from_chars(exponent_text.data(), exponent_text.data() + exponent_text.size(), exponent);
    text = text.substr(0, e);
  }
  const std::size_t point = std::min(text.find('.'), text.size());
  result.digits = std::string(text.substr(0, point));
  if (point < text.size()) result.digits += text.substr(point + 1);
  result.point = static_cast<int>(point) + exponent;
  const auto first = std::min(result.digits.find_first_not_of('0'), result.digits.size());
  result.digits.erase(0, first);
  result.point -= static_cast<int>(first);
  result.digits.erase(result.digits.find_last_not_of('0') + 1);
  if (result.digits.empty()) {
    result.digits = "0";
    result.point = 1;
  }
  return result;
}

template <class T, class... Format>
Digits digits_of(T value, Format... format) {
  std::array<char, 512> text{};  // the longest: a double near 1.8e308 in positional form
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value, format...).ptr;
  return parse({text.data(), end});
}

template <class T>
Digits shortest_digits(T value) {
  return digits_of(value, std::chars_format::scientific);
}

}  // namespace

template <class T>
Digits positional_digits(T value, int fraction) {
  Digits shortest = shortest_digits(value);
  const int behind_point = static_cast<int>(shortest.digits.size()) - shortest.point;
  if (behind_point < 0) return digits_of(value, std::chars_format::fixed, 0);
  return behind_point <= fraction ? shortest : digits_of(value, std::chars_format::fixed, fraction);
}

template <class T>
Digits scientific_digits(T value, int fraction) {
  Digits shortest = shortest_digits(value);
  if (static_cast<int>(shortest.digits.size()) - 1 <= fraction) return shortest;
  return rounded_digits(value, fraction);
}

template <class T>
Digits rounded_digits(T value, int fraction) {
  return digits_of(value, std::chars_format::scientific, fraction);
}

Positional positional(const Digits& digits) {
  const auto size = static_cast<int>(digits.digits.size());
  Positional result;
  if (digits.point <= 0) {
    result.whole = "0";
    result.fraction = std::string(static_cast<std::size_t>(-digits.point), '0') + digits.digits;
  } else if (digits.point >= size) {
    result.whole = digits.digits + std::string(static_cast<std::size_t>(digits.point - size), '0');
  } else {
    result.whole = digits.digits.substr(0, static_cast<std::size_t>(digits.point));
    result.fraction = digits.digits.substr(static_cast<std::size_t>(digits.point));
  }
  if (digits.negative) result.whole.insert(0, "-");
  return result;
}

Scientific scientific(const Digits& digits) {
  Scientific result;
  result.whole = (digits.negative ? "-" : "") + digits.digits.substr(0, 1);
  result.fraction = digits.digits.substr(1);
  result.exponent = digits.digits == "0" ? 0 : digits.point - 1;
  return result;
}

template <class T>
std::string scalar_text(T value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  const Digits digits = shortest_digits(value);
  const T magnitude = std::abs(value);
  if (magnitude == 0 || (static_cast<double>(magnitude) >= 1e-4 && static_cast<double>(magnitude) < 1e16)) {
    const Positional parts = positional(digits);
    return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
  }
  const Scientific parts = scientific(digits);
  std::string exponent = std::to_string(std::abs(parts.exponent));
  if (exponent.size() < 2) exponent.insert(0, "0");
  return parts.whole + (parts.fraction.empty() ? "" : "." + parts.fraction) + "e" +
         (parts.exponent < 0 ? "-" : "+") + exponent;
}

template Digits positional_digits<float>(float, int);
template Digits positional_digits<double>(double, int);
template Digits scientific_digits<float>(float, int);
template Digits scientific_digits<double>(double, int);
template Digits rounded_digits<float>(float, int);
template Digits rounded_digits<double>(double, int);
template std::string scalar_text<float>(float);
template std::string scalar_text<double>(double);

}  // namespace tapedeck::detail
