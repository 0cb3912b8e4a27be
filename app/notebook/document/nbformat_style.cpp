// How a file is laid out: found out, so that it can be kept.
#include <algorithm>
#include <charconv>

#include "app/notebook/document/nbformat.h"

namespace tapedeck::app {
namespace {

using nlohmann::ordered_json;

bool isSpace(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::string_view spaceAt(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && isSpace(text[end])) ++end;
  return text.substr(begin, end - begin);
}

/// All members of all objects are in the order of their keys. Looks at the first cells only: a program that
/// sorts, sorts everywhere.
bool isSorted(const ordered_json& value, int depth = 0) {
  constexpr std::size_t looked_at = 50;
  if (!value.is_structured()) return true;
  const std::string* before = nullptr;
  std::size_t count = 0;
  for (auto member = value.begin(); member != value.end(); ++member) {
    if (value.is_object()) {
      if (before && member.key() < *before) return false;
      before = &member.key();
    } else if (++count > looked_at) {
      break;
    }
    if (depth < 8 && !isSorted(*member, depth + 1)) return false;
  }
  return true;
}

/// The text has no character beyond ASCII but escapes of such.
bool isAscii(std::string_view text) {
  bool found = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (static_cast<unsigned char>(text[i]) >= 0x80) return false;
    if (text[i] != '\\' || i + 1 >= text.size()) continue;
    ++i;
    unsigned code = 0;
    if (text[i] != 'u' || i + 4 >= text.size()) continue;
    std::from_chars(text.data() + i + 1, text.data() + i + 5, code, 16);
    // A lone surrogate can't be written in any other way.
    found = found || (code >= 0x80 && (code < 0xd800 || code >= 0xe000));
  }
  return found;
}

/// What separates the first key of an object from its value, and so on.
JsonStyle jsonStyle(std::string_view text, const ordered_json& top) {
  JsonStyle style;
  style.sorted = isSorted(top);
  style.ascii = isAscii(text);
  const std::size_t brace = text.find('{');
  const std::string_view space = spaceAt(text, brace + 1);
  const std::size_t line = space.find_last_of('\n');
  if (line == std::string_view::npos) {
    style.newLine.clear();
    style.indent.clear();
  } else {
    if (space.find('\r') != std::string_view::npos) style.newLine = "\r\n";
    style.indent = space.substr(line + 1);
  }
  const std::size_t colon = text.find(':', brace);
  style.colon = ":" + std::string(spaceAt(text, colon + 1).substr(0, 1));
  if (!style.newLine.empty()) {
    if (style.colon == ":\n" || style.colon == ":\r") style.colon = ": ";
  } else {
    // On one line a list shows it: Python writes ", ", JavaScript ",".
    for (std::size_t i = text.find(','); i != std::string_view::npos; i = text.find(',', i + 1)) {
      if (i == 0 || std::string_view("\"}]0123456789").find(text[i - 1]) == std::string_view::npos) continue;
      if (!spaceAt(text, i + 1).empty()) style.comma = ", ";
      break;
    }
  }
  return style;
}

}  // namespace

NotebookStyle styleOf(std::string_view text, const ordered_json& top, const JsonWatch& cells) {
  NotebookStyle style;
  style.json = jsonStyle(text, top);
  bool lines = false;
  bool strings = false;
  for (const ordered_json& cell : top["cells"]) {
    if (!cell.is_object() || !cell.contains("source")) continue;
    lines = lines || cell["source"].is_array();
    strings = strings || cell["source"].is_string();
  }
  style.textAsLines = lines || !strings;
  const auto between = [&](std::size_t begin, std::size_t end) {
    return std::string(text.substr(begin, end - begin));
  };
  style.beforeFirst.clear();
  style.afterLast.clear();
  writeNewLine(2, style.json, style.beforeFirst);
  writeNewLine(1, style.json, style.afterLast);
  if (!cells.elements.empty()) {
    style.beforeFirst = between(cells.list.begin, cells.elements.front().begin);
    style.afterLast = between(cells.elements.back().end, cells.list.end);
  }
  style.between = style.json.newLine.empty() ? style.json.comma : style.json.comma + style.beforeFirst;
  if (cells.elements.size() > 1) style.between = between(cells.elements[0].end, cells.elements[1].begin);
  return style;
}

}  // namespace tapedeck::app
