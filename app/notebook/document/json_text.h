// JSON text to values and back, losing nothing: what Python's json module reads and writes, as Jupyter uses
// it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tapedeck::app {

/// Where and why a text is not JSON. `line` and `column` (in characters) count from 1.
struct JsonTextError : std::runtime_error {
  JsonTextError(const std::string& what, int line, int column, bool at_end)
      : std::runtime_error(what), line(line), column(column), cutOff(at_end) {}
  int line;
  int column;
  bool cutOff;  ///< the text ends too early: it is a valid beginning
};

/// A piece of a text: from `begin` up to `end`.
struct TextSpan {
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// What to report to the caller while a text is read.
struct JsonWatch {
  std::string_view member;         ///< in: a member of the outermost object that is a list
  std::vector<TextSpan> elements;  ///< out: the positions of the list's elements
  TextSpan list;                   ///< out: the text between its brackets
  /// Called at least once a megabyte with the number of bytes read; false ends the reading by JsonStopped.
  std::function<bool(std::size_t)> progress;
};

struct JsonStopped {};

/// Reads one value; throws JsonTextError, also where more than max_json_nesting lists and objects are inside
/// of each other, or there are more than 20 million values. Accepts what Python accepts, so also NaN and
/// Infinity, and lone surrogates as escapes (kept as their three-byte UTF-8 form). A number that would not be
/// written again as it stands (1.50, integers past 64 bits) is kept as its text, in a binary value:
/// isNumberText().
nlohmann::ordered_json readJson(std::string_view text, JsonWatch* watch = nullptr);

bool isNumberText(const nlohmann::ordered_json& value);

/// How a text is laid out. By default: as Jupyter does, Python's json.dumps(value, indent=1,
/// sort_keys=True, ensure_ascii=False, separators=(",", ": ")).
struct JsonStyle {
  std::string newLine = "\n";  ///< empty: all on one line
  std::string indent = " ";
  std::string comma = ",";
  std::string colon = ": ";
  bool sorted = true;  ///< members by their keys, else in the object's own order
  bool ascii = false;  ///< other characters as escapes
};

/// Nested `depth` levels deep.
void writeJson(const nlohmann::ordered_json& value, int depth, const JsonStyle& style, std::string& out);
/// A line end and the indentation of `depth`.
void writeNewLine(int depth, const JsonStyle& style, std::string& out);
void writeJsonString(const std::string& text, const JsonStyle& style, std::string& out);

/// As Python writes a float: the shortest digits that read back as the same value.
std::string floatText(double value);

}  // namespace tapedeck::app
