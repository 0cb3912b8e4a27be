// The tokens of a VJP's formula.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tapedeck::protocol::detail {

struct FormulaToken {
  enum class Kind : std::uint8_t { name, number, raised, lowered, open, close, sign };
  Kind kind = Kind::sign;
  std::string text;  ///< raised, lowered: as it is written on the line: "T", "−1", "j≠i"
  bool spaced = false;
  std::size_t position = 0;  ///< bytes into the formula
};

/// Throws FormulaError for a character that no formula has, or a bracket that is not closed.
std::vector<FormulaToken> formula_tokens(std::string_view text);

}  // namespace tapedeck::protocol::detail
