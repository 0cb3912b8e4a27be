// Prints values as NumPy's str() does with its default options, which is what TensorFlow shows: eight digits
// after the point at most, lines of 75 characters, and only the edges of arrays with more than 1000 values.
#include <algorithm>
#include <cmath>
#include <complex>
#include <functional>
#include <string>
#include <vector>

#include "engine/tensor/narrow.h"
#include "engine/tensor/number_text.h"
#include "engine/tensor/strings.h"
#include "engine/tensor/tensor.h"

namespace tapedeck {
namespace {

constexpr std::int64_t summary_threshold = 1000;
constexpr std::size_t line_width = 75;
constexpr int precision = 8;

/// The elements that will be shown, in row-major order.
template <class T>
void collect_shown(const Tensor& tensor, int edge, int axis, const T* at, std::vector<T>& shown) {
  if (axis == tensor.rank()) {
    shown.push_back(*at);
    return;
  }
  const std::int64_t extent = tensor.dim(axis), stride = tensor.strides()[axis];
  for (std::int64_t i = 0; i < extent; ++i) {
    if (edge >= 0 && extent > 2 * edge && i == edge) i = extent - edge;
    if (i < extent) collect_shown(tensor, edge, axis + 1, at + i * stride, shown);
  }
}

std::string padded_left(std::string text, std::size_t width) {
  if (text.size() < width) text.insert(0, width - text.size(), ' ');
  return text;
}

/// Formats all numbers of an array with one width, in positional or scientific form.
template <class T>
class FloatFormat {
 public:
  explicit FloatFormat(const std::vector<T>& shown) {
    std::vector<T> finite;
    std::copy_if(shown.begin(), shown.end(), std::back_inserter(finite),
                 [](T x) { return std::isfinite(x); });
    scientific_ = wants_scientific(finite);
    for (const T value : finite) measure(value);
    if (finite.size() == shown.size()) return;
    const bool negative_infinity =
        std::any_of(shown.begin(), shown.end(), [](T x) { return std::isinf(x) && x < 0; });
    const std::size_t widest = negative_infinity ? 4 : 3;
    if (widest > right_ + 1) left_ = std::max(left_, widest - right_ - 1);
  }

  std::string operator()(T value) const {
    if (std::isnan(value)) return padded_left("nan", left_ + right_ + 1);
    if (std::isinf(value)) return padded_left(value < 0 ? "-inf" : "inf", left_ + right_ + 1);
    if (!scientific_) {
      detail::Positional parts = detail::positional(detail::positional_digits(value, precision));
      parts.fraction.resize(right_, ' ');
      return padded_left(parts.whole, left_) + "." + parts.fraction;
    }
    detail::Scientific parts = detail::scientific(detail::scientific_digits(value, precision));
    if (parts.fraction.size() < fraction_)  // NumPy pads with further digits of the value, not with zeros
      parts = detail::scientific(detail::rounded_digits(value, static_cast<int>(fraction_)));
    parts.fraction.resize(fraction_, '0');
    std::string exponent = std::to_string(std::abs(parts.exponent));
    exponent.insert(0, exponent_ - exponent.size(), '0');
    return padded_left(parts.whole, left_) + "." + parts.fraction + (parts.exponent < 0 ? "e-" : "e+") +
           exponent;
  }

 private:
  static bool wants_scientific(const std::vector<T>& finite) {
    T largest = 0, smallest = 0;
    for (const T value : finite) {
      const T magnitude = std::abs(value);
      if (magnitude == 0) continue;
      largest = std::max(largest, magnitude);
      smallest = smallest == 0 ? magnitude : std::min(smallest, magnitude);
    }
    if (largest == 0) return false;
    return static_cast<double>(largest) >= 1e8 || static_cast<double>(smallest) < 1e-4 ||
           static_cast<double>(largest / smallest) > 1000.;
  }

  void measure(T value) {
    if (scientific_) {
      const detail::Scientific parts = detail::scientific(detail::scientific_digits(value, precision));
      left_ = std::max(left_, parts.whole.size());
      fraction_ = std::max(fraction_, parts.fraction.size());
      exponent_ = std::max(exponent_, std::to_string(std::abs(parts.exponent)).size());
      right_ = exponent_ + 2 + fraction_;
    } else {
      const detail::Positional parts = detail::positional(detail::positional_digits(value, precision));
      left_ = std::max(left_, parts.whole.size());
      right_ = std::max(right_, parts.fraction.size());
    }
  }

  bool scientific_ = false;
  std::size_t left_ = 0, right_ = 0;         // characters before and after the point
  std::size_t fraction_ = 0, exponent_ = 2;  // of the scientific form
};

template <class T>
std::string plain_text(T value) {
  if constexpr (std::is_same_v<T, bool>)
    return value ? "True" : "False";
  else if constexpr (std::is_same_v<T, std::string_view>)
    return bytes_literal(value);
  else if constexpr (std::is_class_v<T>)  // complex
    return detail::scalar_text(value.real()) + (std::signbit(value.imag()) ? "" : "+") +
           detail::scalar_text(value.imag()) + "j";
  else if constexpr (std::is_floating_point_v<T>)
    return detail::scalar_text(value);
  else
    return std::to_string(value);
}

template <class T>
std::function<std::string(T)> element_format(const std::vector<T>& shown) {
  if constexpr (std::is_floating_point_v<T>) {
    return FloatFormat<T>(shown);
  } else {
    std::size_t width = 0;
    for (const T value : shown) width = std::max(width, plain_text(value).size());
    if constexpr (std::is_same_v<T, std::string_view>) width = 0;
    if constexpr (std::is_same_v<T, bool>) width = 5;  // " True", even without a False
    return [width](T value) { return padded_left(plain_text(value), width); };
  }
}

void trim_right(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
}

template <class T>
class ArrayText {
 public:
  ArrayText(const Tensor& tensor, int edge, std::function<std::string(T)> format)
      : tensor_(tensor), edge_(edge), format_(std::move(format)) {}

  std::string axis_text(int axis, const T* at, const std::string& indent, std::size_t width) const {
    std::string text =
        axis + 1 == tensor_.rank() ? row_text(at, indent, width) : nested_text(axis, at, indent, width);
    return "[" + text.substr(indent.size()) + "]";
  }

 private:
  bool shortened(int axis) const { return edge_ >= 0 && tensor_.dim(axis) > 2 * edge_; }

  std::string row_text(const T* at, const std::string& indent, std::size_t width) const {
    const int axis = tensor_.rank() - 1;
    const std::int64_t extent = tensor_.dim(axis), stride = tensor_.strides()[axis];
    std::string done, line = indent;
    const auto extend = [&](const std::string& word) {
      // A word that is too long for any line is not moved.
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        trim_right(line);
        done += line + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::int64_t i = 0; i < extent; ++i) {
      if (shortened(axis) && i == edge_) {
        extend("...");
        if (edge_ == 0) break;
        line += ' ';
        i = extent - edge_;
      }
      extend(format_(at[i * stride]));
      if (i + 1 < extent) line += ' ';
    }
    return done + line;
  }

  std::string nested_text(int axis, const T* at, const std::string& indent, std::size_t width) const {
    const std::int64_t extent = tensor_.dim(axis), stride = tensor_.strides()[axis];
    const std::string gap(static_cast<std::size_t>(tensor_.rank() - axis - 1), '\n');
    std::string text;
    for (std::int64_t i = 0; i < extent; ++i) {
      if (shortened(axis) && i == edge_) {
        text += indent + "...";
        if (edge_ == 0) break;
        text += gap;
        i = extent - edge_;
      }
      text += indent + axis_text(axis + 1, at + i * stride, indent + " ", width - 1);
      if (i + 1 < extent) text += gap;
    }
    return text;
  }

  const Tensor& tensor_;
  int edge_;  // items shown at each end of a long axis; -1: all
  std::function<std::string(T)> format_;
};

template <class T>
std::string values_text(const Tensor& tensor, int edge) {
  const T* first = tensor.data<T>();
  if (tensor.rank() == 0) return plain_text(*first);
  std::vector<T> shown;
  collect_shown(tensor, edge, 0, first, shown);
  return ArrayText<T>(tensor, edge, element_format(shown)).axis_text(0, first, " ", line_width);
}

}  // namespace

std::string format_values(const Tensor& tensor, int edge_items) {
  if (tensor.count() == 0) return "[]";
  if (!tensor.on_cpu()) return format_values(tensor.on_host(), edge_items);
  const int edge = tensor.count() > summary_threshold ? std::max(edge_items, 0) : -1;
  if (is_narrow(tensor.dtype())) {
    const Tensor wide = widened(tensor);
    return format_values(is_floating(tensor.dtype()) ? printable(wide, tensor.dtype()) : wide, edge_items);
  }
  switch (tensor.dtype()) {
    case DType::string:
      return values_text<std::string_view>(tensor, edge);
    case DType::uint64:
      return values_text<std::uint64_t>(tensor, edge);
    case DType::complex64:
      return values_text<std::complex<float>>(tensor, edge);
    case DType::complex128:
      return values_text<std::complex<double>>(tensor, edge);
    default:
      return visit_dtype(tensor.dtype(),
                         [&](auto tag) { return values_text<typename decltype(tag)::type>(tensor, edge); });
  }
}

}  // namespace tapedeck
