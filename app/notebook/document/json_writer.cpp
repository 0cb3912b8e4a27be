#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "app/notebook/document/json_text.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

constexpr char hex_digits[] = "0123456789abcdef";

void writeEscape(unsigned code, std::string& out) {
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += hex_digits[(code >> shift) & 15];
}

/// Code point and length of the UTF-8 sequence at `i`, which is whole: the text was read or comes from Qt.
std::pair<unsigned, std::size_t> characterAt(const std::string& text, std::size_t i) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[at])) & 0x3fU : 0U;
  };
  const auto first = static_cast<unsigned char>(text[i]);
  if (first < 0xe0) return {(first & 0x1fU) << 6 | byte(i + 1), 2};
  if (first < 0xf0) return {(first & 0x0fU) << 12 | byte(i + 1) << 6 | byte(i + 2), 3};
  return {(first & 0x07U) << 18 | byte(i + 1) << 12 | byte(i + 2) << 6 | byte(i + 3), 4};
}

void writeAscii(unsigned code, std::string& out) {
  if (code >= 0x10000) {
    writeEscape(0xd7c0U + (code >> 10), out);
    writeEscape(0xdc00U + (code & 0x3ffU), out);
  } else {
    writeEscape(code, out);
  }
}

}  // namespace

void writeJsonString(const std::string& text, const JsonStyle& style, std::string& out) {
  out += '"';
  std::size_t done = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    // A surrogate (0xed 0xa0…0xbf) came from an escape: as a character it would be no UTF-8.
    const bool surrogate =
        byte == 0xed && i + 2 < text.size() && static_cast<unsigned char>(text[i + 1]) >= 0xa0;
    const bool escaped = surrogate || (style.ascii && byte >= 0x80);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && !escaped) continue;
    out.append(text, done, i - done);
    done = i + 1;
    switch (byte) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (byte >= 0x80) {
          const auto [code, length] = characterAt(text, i);
          writeAscii(code, out);
          i += length - 1;
          done = i + 1;
        } else {
          writeEscape(byte, out);
        }
    }
  }
  out.append(text, done, text.size() - done);
  out += '"';
}

void writeNewLine(int depth, const JsonStyle& style, std::string& out) {
  if (style.newLine.empty()) return;
  out += style.newLine;
  for (int i = 0; i < depth; ++i) out += style.indent;
}

namespace {

void writeObject(const ordered_json& value, int depth, const JsonStyle& style, std::string& out) {
  const auto& object = value.get_ref<const ordered_json::object_t&>();
  std::vector<const ordered_json::object_t::value_type*> members;
  members.reserve(object.size());
  for (const auto& member : object) members.push_back(&member);
  // The order of UTF-8 bytes is that of code points, by which Python sorts.
  if (style.sorted)
    std::sort(members.begin(), members.end(), [](auto* a, auto* b) { return a->first < b->first; });
  out += '{';
  bool first = true;
  for (const auto* member : members) {
    if (!first) out += style.comma;
    first = false;
    writeNewLine(depth + 1, style, out);
    writeJsonString(member->first, style, out);
    out += style.colon;
    writeJson(member->second, depth + 1, style, out);
  }
  writeNewLine(depth, style, out);
  out += '}';
}

void writeArray(const ordered_json& value, int depth, const JsonStyle& style, std::string& out) {
  out += '[';
  bool first = true;
  for (const auto& element : value) {
    if (!first) out += style.comma;
    first = false;
    writeNewLine(depth + 1, style, out);
    writeJson(element, depth + 1, style, out);
  }
  writeNewLine(depth, style, out);
  out += ']';
}

}  // namespace

std::string floatText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value < 0 ? "-Infinity" : "Infinity";
  char buffer[40];
  const auto result = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  const std::string text(buffer, result.ptr);
  const std::size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  const bool negative = text[0] == '-';
  std::string digits;
  for (const char c : text.substr(0, e)) {
    if (c >= '0' && c <= '9') digits += c;
  }
  std::string out = negative ? "-" : "";
  const int count = static_cast<int>(digits.size());
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (count > 1) out += '.' + digits.substr(1);
    const std::string magnitude = std::to_string(std::abs(exponent));
    return out + (exponent < 0 ? "e-" : "e+") + (magnitude.size() < 2 ? "0" : "") + magnitude;
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) {
    return out + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') + ".0";
  }
  const auto whole = static_cast<std::size_t>(exponent + 1);
  return out + digits.substr(0, whole) + '.' + digits.substr(whole);
}

void writeJson(const ordered_json& value, int depth, const JsonStyle& style, std::string& out) {
  switch (value.type()) {
    case ordered_json::value_t::object:
      if (value.empty()) {
        out += "{}";
      } else {
        writeObject(value, depth, style, out);
      }
      break;
    case ordered_json::value_t::array:
      if (value.empty()) {
        out += "[]";
      } else {
        writeArray(value, depth, style, out);
      }
      break;
    case ordered_json::value_t::string:
      writeJsonString(value.get_ref<const std::string&>(), style, out);
      break;
    case ordered_json::value_t::boolean:
      out += value.get<bool>() ? "true" : "false";
      break;
    case ordered_json::value_t::number_integer:
      out += std::to_string(value.get<std::int64_t>());
      break;
    case ordered_json::value_t::number_unsigned:
      out += std::to_string(value.get<std::uint64_t>());
      break;
    case ordered_json::value_t::number_float:
      out += floatText(value.get<double>());
      break;
    case ordered_json::value_t::binary: {
      const auto& text = value.get_binary();
      out.append(text.begin(), text.end());
      break;
    }
    case ordered_json::value_t::null:
    case ordered_json::value_t::discarded:
      out += "null";
  }
}

}  // namespace tapedeck::app
