// The characters of a condition's text: the parser's position, and what it reads there.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/protocol/conditions/condition.h"

namespace tapedeck::protocol::detail {

inline bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
inline bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

class ConditionReader {
 protected:
  /// `unfinished`: the user is still typing, and what is missing at the end is not an error.
  ConditionReader(std::string_view text, bool unfinished) : text_(text), unfinished_(unfinished) {}

  [[noreturn]] static void fail(std::size_t at, const std::string& sentence);
  /// The text is over where something has to follow: what that would be holds always, where one still types.
  struct Unfinished {};
  [[noreturn]] void missing(const std::string& sentence) const;

  bool over() const { return at_ >= text_.size(); }
  char here() const { return over() ? '\0' : text_[at_]; }
  void skip_spaces();
  std::string_view identifier_at(std::size_t from) const;
  /// A word of the language alone, such as "and".
  bool take_keyword(std::string_view keyword);
  /// A word without its quotes; `at_` moves behind it. Quotes open at the word's start alone.
  std::string word();
  std::optional<Comparison> comparison();
  double number();

  std::string_view text_;
  const bool unfinished_;
  std::size_t at_ = 0;
};

}  // namespace tapedeck::protocol::detail
