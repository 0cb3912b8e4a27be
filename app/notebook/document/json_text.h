// JSON text to values and back, losing nothing: what Python's json module reads and writes, as Jupyter uses
// it.
#pragma once

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tapedeck::app {

/// Where and why a text is no JSON. `line` and `column` (in characters) count from 1.
struct JsonTextError : std::runtime_error {
  JsonTextError(const std::string& what, int line, int column, bool at_end)
      : std::runtime_error(what), line(line), column(column), cutOff(at_end) {}
  int line;
  int column;
  bool cutOff;  ///< the text ends too early: all of it is a correct beginning
};

/// Reads one value; throws JsonTextError. Accepts what Python accepts, so also NaN and Infinity, and lone
/// surrogates as escapes (kept as their three-byte UTF-8 form). A number that would not be written again as
/// it stands (1.50, integers past 64 bits) is kept as its text, in a binary value: isNumberText().
nlohmann::ordered_json readJson(std::string_view text);

bool isNumberText(const nlohmann::ordered_json& value);

/// As Python's json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, separators=(",", ": ")),
/// nested `depth` levels deep.
void writeJson(const nlohmann::ordered_json& value, int depth, std::string& out);

/// As Python writes a float: the shortest digits that read back as the same value.
std::string floatText(double value);

}  // namespace tapedeck::app
