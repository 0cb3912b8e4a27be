// Readers of .npy, .csv and NumPy literals for the fuzzer that writes them: written from the formats'
// descriptions, without the program's code. They abort on anything that they cannot read.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz.h"

namespace fuzz {

/// Values as they are compared: hexadecimal floats, decimal integers, "s:" and bytes.
using Values = std::vector<std::string>;

inline std::string hex_of(double value, bool single) {
  if (single) value = static_cast<double>(static_cast<float>(value));
  if (std::isnan(value)) return "nan";
  char text[48];
  std::snprintf(text, sizeof text, "%a", value);
  return text;
}

inline bool is_complex(const std::string& dtype) {
  return dtype.starts_with("complex");
}
inline bool is_floating(const std::string& dtype) {
  return dtype.starts_with("float") || dtype == "bfloat16";
}
inline bool is_single(const std::string& dtype) {
  return dtype != "float64" && dtype != "complex128";
}

inline double half_value(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31  ? fraction == 0 ? HUGE_VAL : std::nan("")
                       : exponent == 0 ? std::ldexp(fraction, -24)
                                      : std::ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -size : size;
}

struct Shaped {
  std::string dtype;
  std::vector<std::int64_t> shape;
};

struct Text {
  std::string_view rest;
  bool skip(std::string_view what) {
    if (!rest.starts_with(what)) return false;
    rest.remove_prefix(what.size());
    return true;
  }
  void need(std::string_view what) { expect(skip(what), "the text has what NumPy expects here"); }
  char next() {
    expect(!rest.empty(), "the text does not end here");
    const char byte = rest.front();
    rest.remove_prefix(1);
    return byte;
  }
  std::int64_t whole() {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    expect(error == std::errc(), "an integer stands here");
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return value;
  }
  /// With a prefix ("np.") before nan and inf. As Python and NumPy read numbers: first as a double.
  std::string number(bool single, const char* prefix) {
    const bool negative = skip("-");
    if (!negative) skip("+");
    double value = 0;
    if (rest.starts_with(prefix + std::string("nan")) || rest.starts_with(prefix + std::string("inf"))) {
      need(prefix);
      value = skip("nan") ? std::nan("") : (need("inf"), HUGE_VAL);
    } else {
      expect(!rest.empty() && rest[0] >= '0' && rest[0] <= '9', "a number begins with a digit");
      std::size_t size = rest.find_first_not_of("0123456789.e");
      while (size != std::string_view::npos && (rest[size] == '+' || rest[size] == '-') &&
             rest[size - 1] == 'e')
        size = rest.find_first_not_of("0123456789.e", size + 1);
      const std::string text(rest.substr(0, size));
      char* end = nullptr;
      value = std::strtod(text.c_str(), &end);
      expect(*end == '\0', "a number is one as a whole");
      rest.remove_prefix(text.size());
    }
    return hex_of(negative ? -value : value, single);
  }
  std::string digits() {
    const std::size_t first = rest.starts_with('-') ? 1 : 0;
    const std::size_t size = std::min(rest.find_first_not_of("0123456789", first), rest.size());
    expect(size > first, "an integer has digits");
    const std::string text(rest.substr(0, size));
    rest.remove_prefix(size);
    return text;
  }
};

template <class T>
T little(std::string_view bytes) {
  T value{};
  for (std::size_t i = 0; i < sizeof value; ++i)
    value =
        static_cast<T>(value | static_cast<T>(static_cast<T>(static_cast<unsigned char>(bytes[i])) << 8 * i));
  return value;
}

inline std::string npy_value(std::string_view bytes, const std::string& descr) {
  if (descr == "|b1") return bytes[0] ? "1" : "0";
  if (descr == "|i1") return std::to_string(static_cast<std::int8_t>(bytes[0]));
  if (descr == "|u1") return std::to_string(static_cast<std::uint8_t>(bytes[0]));
  if (descr == "<i2") return std::to_string(static_cast<std::int16_t>(little<std::uint16_t>(bytes)));
  if (descr == "<u2") return std::to_string(little<std::uint16_t>(bytes));
  if (descr == "<i4") return std::to_string(static_cast<std::int32_t>(little<std::uint32_t>(bytes)));
  if (descr == "<u4") return std::to_string(little<std::uint32_t>(bytes));
  if (descr == "<i8") return std::to_string(static_cast<std::int64_t>(little<std::uint64_t>(bytes)));
  if (descr == "<u8") return std::to_string(little<std::uint64_t>(bytes));
  if (descr == "<f2") return hex_of(half_value(little<std::uint16_t>(bytes)), true);
  const auto single = [](std::string_view at) {
    return hex_of(static_cast<double>(std::bit_cast<float>(little<std::uint32_t>(at))), true);
  };
  const auto full = [](std::string_view at) {
    return hex_of(std::bit_cast<double>(little<std::uint64_t>(at)), false);
  };
  if (descr == "<f4") return single(bytes);
  if (descr == "<f8") return full(bytes);
  if (descr == "<c8") return single(bytes) + ' ' + single(bytes.substr(4));
  if (descr == "<c16") return full(bytes) + ' ' + full(bytes.substr(8));
  expect(descr.starts_with("|S"), "the dtype is one of NumPy's");
  return "s:" + std::string(bytes.substr(0, bytes.find_last_not_of('\0') + 1));
}

/// By the format's own description (numpy.lib.format, version 1.0).
inline Values read_npy(std::string_view file, const Shaped& tensor) {
  Text text{file};
  text.need(std::string_view("\x93NUMPY\x01\x00", 8));
  expect(text.rest.size() >= 2, "the header has a length");
  const std::size_t length = little<std::uint16_t>(text.rest);
  expect(text.rest.size() >= 2 + length && (10 + length) % 64 == 0, "values begin at a multiple of 64");
  Text header{text.rest.substr(2, length)};
  const std::string_view data = text.rest.substr(2 + length);
  header.need("{'descr': '");
  const std::size_t end = header.rest.find('\'');
  expect(end != std::string_view::npos, "the dtype ends");
  const std::string descr(header.rest.substr(0, end));
  header.need(descr);
  header.need("', 'fortran_order': False, 'shape': (");
  std::size_t count = 1;
  for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    expect(header.whole() == tensor.shape[axis], "the header has the tensor's shape");
    count *= static_cast<std::size_t>(tensor.shape[axis]);
    if (axis + 1 < tensor.shape.size()) header.need(", ");
  }
  if (tensor.shape.size() == 1) header.need(",");
  header.need("), }");
  expect(header.rest.find_first_not_of(' ') == header.rest.size() - 1 && header.rest.back() == '\n',
         "spaces and a new line end the header");
  const auto item = static_cast<std::size_t>(std::atoi(descr.c_str() + 2));
  expect(item > 0 && data.size() == count * item, "there are as many bytes as the header says");
  Values values;
  for (std::size_t at = 0; at < data.size(); at += item)
    values.push_back(npy_value(data.substr(at, item), descr));
  return values;
}

inline std::string csv_value(Text& text, const std::string& dtype) {
  if (dtype == "string") {
    text.need("\"");
    std::string bytes = "s:";
    for (;;) {
      const char byte = text.next();
      if (byte == '"' && !text.skip("\"")) return bytes;
      bytes += byte;
    }
  }
  if (is_complex(dtype)) {
    const std::string real = text.number(is_single(dtype), "");
    expect(text.rest.starts_with('+') || text.rest.starts_with('-'), "the imaginary part has a sign");
    const std::string imaginary = text.number(is_single(dtype), "");
    text.need("j");
    return real + ' ' + imaginary;
  }
  return is_floating(dtype) ? text.number(is_single(dtype), "") : text.digits();
}

inline Values read_csv(std::string_view file, const Shaped& tensor) {
  Text text{file};
  const std::int64_t columns = tensor.shape.size() < 2 ? 1 : tensor.shape.back();
  Values values;
  while (!text.rest.empty())
    for (std::int64_t column = 0; column < columns; ++column) {
      values.push_back(csv_value(text, tensor.dtype));
      text.need(column + 1 < columns ? "," : "\n");
    }
  return values;
}

inline std::string python_bytes(Text& text) {
  text.need("b");
  const char quote = text.next();
  expect(quote == '\'' || quote == '"', "bytes have quotes");
  std::string bytes = "s:";
  for (;;) {
    const char byte = text.next();
    expect(static_cast<unsigned char>(byte) < 0x80 && byte != '\n',
           "bytes are written in ASCII, in one line");
    if (byte == quote) return bytes;
    if (byte != '\\') {
      bytes += byte;
      continue;
    }
    const char escape = text.next();
    if (escape == 'x') {
      const std::string digits{text.next(), text.next()};
      unsigned code = 0;
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + 2, code, 16);
      expect(error == std::errc() && end == digits.data() + 2, "an escape has two digits");
      bytes += static_cast<char>(code);
    } else {
      constexpr std::string_view names = "nrt\\'\"", meant = "\n\r\t\\'\"";
      const std::size_t which = names.find(escape);
      expect(which != std::string_view::npos, "an escape is one of Python's");
      bytes += meant[which];
    }
  }
}

inline std::string literal_value(Text& text, const std::string& dtype) {
  if (dtype == "string") return python_bytes(text);
  if (dtype == "bool") return text.skip("True") ? "1" : (text.need("False"), "0");
  if (is_complex(dtype)) {
    text.need("complex(");
    const std::string real = text.number(is_single(dtype), "np.");
    text.need(", ");
    const std::string imaginary = text.number(is_single(dtype), "np.");
    text.need(")");
    return real + ' ' + imaginary;
  }
  return is_floating(dtype) ? text.number(is_single(dtype), "np.") : text.digits();
}

inline void read_nested(Text& text, const Shaped& tensor, std::size_t axis, Values& values) {
  if (axis == tensor.shape.size()) {
    values.push_back(literal_value(text, tensor.dtype));
    return;
  }
  text.need("[");
  for (std::int64_t i = 0; i < tensor.shape[axis]; ++i) {
    if (i > 0) {
      text.need(",");
      while (text.skip(" ") || text.skip("\n")) {
      }
    }
    read_nested(text, tensor, axis + 1, values);
  }
  text.need("]");
}

inline Values read_literal(const std::string& literal, const Shaped& tensor) {
  Text text{literal};
  const bool empty = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
  Values values;
  text.need("np.array(");
  if (empty)
    text.need("[]");
  else
    read_nested(text, tensor, 0, values);
  text.need(", dtype=");
  text.need(tensor.dtype == "bool"       ? "bool"
            : tensor.dtype == "string"   ? "object"
            : tensor.dtype == "bfloat16" ? "np.float32"
                                         : "np." + tensor.dtype);
  text.need(")");
  if (empty && tensor.shape.size() > 1) {
    text.need(".reshape(");
    for (std::size_t axis = 0; axis < tensor.shape.size(); ++axis) {
      if (axis > 0) text.need(", ");
      expect(text.whole() == tensor.shape[axis], "nothing is reshaped to the tensor's shape");
    }
    text.need(")");
  }
  expect(text.rest.empty(), "the literal ends");
  return values;
}

}  // namespace fuzz
