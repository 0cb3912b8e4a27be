#include "engine/ops/core/attributes.h"

#include <array>
#include <cstdio>

#include "engine/tensor/number_text.h"

namespace tapedeck {
namespace {

/// Python's repr of a str: in single quotes, or in double ones where that saves escaping.
std::string quoted(const std::string& text) {
  const char quote = text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      result += '\\';
      result += c;
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (code < 0x20 || code == 0x7f) {
      std::array<char, 8> escape{};
      std::snprintf(escape.data(), escape.size(), "\\x%02x", code);
      result += escape.data();
    } else {
      result += c;
    }
  }
  return result + quote;
}

struct Writer {
  std::string operator()(std::monostate) const { return "None"; }
  std::string operator()(bool value) const { return value ? "True" : "False"; }
  std::string operator()(std::int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return detail::scalar_text(value); }
  std::string operator()(const std::string& value) const { return quoted(value); }
  std::string operator()(DType value) const { return std::string(dtype_name(value)); }
  std::string operator()(const std::vector<std::int64_t>& values) const {
    std::string text = "[";
    for (std::size_t i = 0; i < values.size(); ++i) text += (i ? ", " : "") + std::to_string(values[i]);
    return text + "]";
  }
};

}  // namespace

std::string to_string(const Attribute& attribute) {
  return std::visit(Writer{}, attribute);
}

}  // namespace tapedeck
