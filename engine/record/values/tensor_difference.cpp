#include "engine/record/values/tensor_difference.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>

#include "engine/tensor/narrow.h"
#include "engine/tensor/strings.h"

namespace tapedeck {
namespace {

constexpr std::int64_t most_samples = 64;

Tensor in_rows(const Tensor& tensor) {
  if (!tensor.on_cpu()) return in_rows(tensor.on_host());
  return is_narrow(tensor.dtype()) ? widened(tensor) : tensor.make_contiguous();
}

template <class T>
constexpr bool is_complex_number = false;
template <class T>
constexpr bool is_complex_number<std::complex<T>> = true;

/// Calls f(pointer to the values) for any dtype except string; narrow ones are widened.
template <class F>
void visit_values(const Tensor& rows, F&& f) {
  switch (rows.dtype()) {
    case DType::uint64:
      return f(rows.data<std::uint64_t>());
    case DType::complex64:
      return f(rows.data<std::complex<float>>());
    case DType::complex128:
      return f(rows.data<std::complex<double>>());
    default:
      visit_dtype(rows.dtype(), [&](auto tag) { f(rows.data<typename decltype(tag)::type>()); });
  }
}

template <class T>
double magnitude(const T& value) {
  if constexpr (is_complex_number<T>)
    return std::abs(std::complex<double>(value));
  else
    return std::abs(static_cast<double>(value));
}

template <class T>
double shown(const T& value) {
  if constexpr (is_complex_number<T>)
    return magnitude(value);
  else
    return static_cast<double>(value);
}

template <class T>
bool is_nan(const T& value) {
  return std::isnan(magnitude(value));
}

/// Infinite if one is NaN or a different infinity; 0 if both are NaN.
template <class A, class B>
double distance(const A& a, const B& b) {
  if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) {
    const auto difference = static_cast<__int128_t>(a) - static_cast<__int128_t>(b);
    return static_cast<double>(difference < 0 ? -difference : difference);
  } else if constexpr (is_complex_number<A> && is_complex_number<B>) {
    const std::complex<double> x(a), y(b);
    if (x == y) return 0;
    return std::max(distance(x.real(), y.real()), distance(x.imag(), y.imag())) ==
                   std::numeric_limits<double>::infinity()
               ? std::numeric_limits<double>::infinity()
               : std::abs(x - y);
  } else if constexpr (is_complex_number<A> == is_complex_number<B>) {
    const auto x = static_cast<double>(a), y = static_cast<double>(b);
    if (x == y || (std::isnan(x) && std::isnan(y))) return 0;
    const double difference = std::abs(x - y);
    return std::isfinite(difference) ? difference : std::numeric_limits<double>::infinity();
  } else {
    return std::numeric_limits<double>::infinity();
  }
}

class Comparison {
 public:
  Comparison(const Tolerance& tolerance, double largest)
      : tolerance_(tolerance), least_(tolerance.atol + tolerance.share * largest) {}

  template <class A, class B>
  void see(std::int64_t index, const A& a, const B& b) {
    const double difference = distance(a, b);
    if (difference == 0) return;
    const double scale = std::max(magnitude(a), magnitude(b));
    bool wrong = !(difference <= least_ + tolerance_.rtol * scale) || std::isinf(difference);
    if constexpr (std::is_integral_v<A> && std::is_integral_v<B>) wrong = true;
    found_.wrong += wrong;
    // One beyond the tolerance counts more than any within it.
    if (any_ && (wrong == worst_is_wrong_ ? difference <= found_.absolute : !wrong)) return;
    any_ = true;
    worst_is_wrong_ = wrong;
    found_.index = index;
    found_.absolute = difference;
    found_.relative =
        std::isinf(difference) || scale == 0 ? std::numeric_limits<double>::infinity() : difference / scale;
    found_.first = shown(a);
    found_.second = shown(b);
  }

  TensorDifference found() const { return found_; }

 private:
  const Tolerance tolerance_;
  const double least_;
  TensorDifference found_;
  bool any_ = false, worst_is_wrong_ = false;
};

TensorDifference compare_strings(const Tensor& first, const Tensor& second) {
  const auto a = strings_of(first), b = strings_of(second);
  TensorDifference found;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i]) continue;
    if (found.wrong++ == 0) found.index = static_cast<std::int64_t>(i);
    found.absolute = found.relative = std::numeric_limits<double>::infinity();
  }
  return found;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && (a.raw() == b.raw() || std::memcmp(a.raw(), b.raw(), a.bytes()) == 0);
}

/// Two sums of words, each mixed with its position; the last word is padded with zeros.
void hash_bytes(const std::byte* bytes, std::size_t size, std::uint64_t (&hash)[2]) {
  std::uint64_t a = 0x9E3779B97F4A7C15 ^ size, b = 0xC2B2AE3D27D4EB4F;
  const auto mix = [&](std::uint64_t word) {
    a = (a ^ word) * 0x9FB21C651E98DF25;
    a ^= a >> 32;
    b = (b + word) * 0xD6E8FEB86659FD93;
    b ^= b >> 29;
  };
  std::size_t at = 0;
  for (; at + 8 <= size; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + at, 8);
    mix(word);
  }
  std::uint64_t rest = 0;
  if (at < size) std::memcpy(&rest, bytes + at, size - at);
  mix(rest);
  hash[0] = a;
  hash[1] = b;
}

}  // namespace

double largest_magnitude(const Tensor& tensor) {
  if (tensor.dtype() == DType::string) return 0;
  const Tensor rows = in_rows(tensor);
  double largest = 0;
  visit_values(rows, [&](const auto* values) {
    for (std::int64_t i = 0; i < rows.count(); ++i) {
      const double size = magnitude(values[i]);
      if (size > largest && std::isfinite(size)) largest = size;
    }
  });
  return largest;
}

TensorDifference compare_values(const Tensor& first, const Tensor& second, const Tolerance& tolerance) {
  if (first.same_body(second) || first.count() == 0) return {};
  if (first.dtype() == DType::string) return compare_strings(first, second);
  const Tensor a = in_rows(first), b = in_rows(second);
  if (same_bits(a, b)) return {};
  const double largest = tolerance.share > 0 ? std::max(largest_magnitude(a), largest_magnitude(b)) : 0;
  Comparison comparison(tolerance, largest);
  const std::int64_t count = a.count();
  visit_values(a, [&](const auto* x) {
    visit_values(b, [&](const auto* y) {
      for (std::int64_t i = 0; i < count; ++i) comparison.see(i, x[i], y[i]);
    });
  });
  return comparison.found();
}

Digest digest_of(const Tensor& tensor) {
  Digest digest;
  digest.dtype = tensor.dtype();
  digest.shape = tensor.shape();
  if (tensor.dtype() == DType::string) {
    std::string all;
    for (const std::string_view each : strings_of(tensor)) (all += each) += '\0';
    hash_bytes(reinterpret_cast<const std::byte*>(all.data()), all.size(), digest.bits);
    return digest;
  }
  const Tensor rows = in_rows(tensor);
  hash_bytes(rows.raw(), rows.bytes(), digest.bits);
  const std::int64_t count = rows.count();
  digest.step = std::max<std::int64_t>(1, (count + most_samples - 1) / most_samples);
  double squares = 0;
  bool any = false;
  visit_values(rows, [&](const auto* values) {
    for (std::int64_t i = 0; i < count; ++i) {
      const double value = shown(values[i]);
      if (i % digest.step == 0) digest.samples.push_back(value);
      if (!std::isfinite(value)) {
        ++digest.not_finite;
        continue;
      }
      digest.minimum = any ? std::min(digest.minimum, value) : value;
      digest.maximum = any ? std::max(digest.maximum, value) : value;
      any = true;
      squares += value * value;
    }
  });
  digest.norm = std::sqrt(squares);
  return digest;
}

TensorDifference compare_values(const Digest& first, const Tensor& second, const Tolerance& tolerance) {
  const Digest other = digest_of(second);
  if (first.dtype == other.dtype && first.bits[0] == other.bits[0] && first.bits[1] == other.bits[1])
    return {};
  const bool floating = is_differentiable(first.dtype);
  const auto largest_of = [](const Digest& digest) {
    return std::max(std::abs(digest.minimum), std::abs(digest.maximum));
  };
  Comparison comparison(tolerance, std::max(largest_of(first), largest_of(other)));
  for (std::size_t i = 0; i < std::min(first.samples.size(), other.samples.size()); ++i)
    comparison.see(static_cast<std::int64_t>(i) * first.step, first.samples[i], other.samples[i]);
  TensorDifference found = comparison.found();
  if (found.wrong > 0) return found;
  Comparison overall(tolerance, std::max(largest_of(first), largest_of(other)));
  overall.see(-1, first.minimum, other.minimum);
  overall.see(-1, first.maximum, other.maximum);
  overall.see(-1, first.norm, other.norm);
  const TensorDifference whole = overall.found();
  if (whole.wrong > 0) return whole;
  // The bits differ, which only a tolerance allows.
  if (first.not_finite != other.not_finite || !floating ||
      (tolerance.exact() && first.dtype == other.dtype)) {
    found.wrong = 1;
    found.index = -1;
  }
  return found;
}

}  // namespace tapedeck
