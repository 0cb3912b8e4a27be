#include "engine/protocol/conditions/condition_reader.h"

#include <charconv>
#include <limits>

namespace tapedeck::protocol::detail {

void ConditionReader::fail(std::size_t at, const std::string& sentence) {
  throw ConditionError(at, sentence);
}

void ConditionReader::missing(const std::string& sentence) const {
  if (unfinished_ && at_ >= text_.size()) throw Unfinished();
  fail(at_, sentence);
}

void ConditionReader::skip_spaces() {
  while (!over() && is_space(text_[at_])) ++at_;
}

std::string_view ConditionReader::identifier_at(std::size_t from) const {
  std::size_t end = from;
  while (end < text_.size() && (is_letter(text_[end]) || (end > from && is_digit(text_[end])))) ++end;
  return text_.substr(from, end - from);
}

bool ConditionReader::take_keyword(std::string_view keyword) {
  skip_spaces();
  const std::string_view word = identifier_at(at_);
  if (folded(word) != keyword) return false;
  const std::size_t after = at_ + word.size();
  if (after < text_.size() && !is_space(text_[after]) && text_[after] != '(' && text_[after] != ')')
    return false;
  at_ = after;
  return true;
}

std::string ConditionReader::word() {
  std::string word;
  if (here() == '"') {
    for (++at_; !over() && here() != '"'; ++at_) word += here();
    if (!over())
      ++at_;
    else if (!unfinished_)
      fail(at_, "A closing quote is missing.");
    return word;
  }
  for (; !over() && !is_space(here()) && here() != ')' && here() != '('; ++at_) {
    if (here() == '"') fail(at_, "A quote inside of a word.");
    word += here();
  }
  return word;
}

std::optional<Comparison> ConditionReader::comparison() {
  skip_spaces();
  const char sign = here();
  const bool equal = at_ + 1 < text_.size() && text_[at_ + 1] == '=';
  std::optional<Comparison> found;
  if (sign == '<') found = equal ? Comparison::less_equal : Comparison::less;
  if (sign == '>') found = equal ? Comparison::greater_equal : Comparison::greater;
  if (sign == '=') found = Comparison::equal;
  if (sign == '!' && equal) found = Comparison::not_equal;
  if (found) at_ += equal ? 2 : 1;
  return found;
}

double ConditionReader::number() {
  skip_spaces();
  std::size_t from = at_;
  double sign = 1;
  if (here() == '-' || here() == '+') {
    sign = here() == '-' ? -1 : 1;
    ++from;
  }
  if (folded(identifier_at(from)) == "inf" || folded(identifier_at(from)) == "infinity") {
    at_ = from + identifier_at(from).size();
    return sign * std::numeric_limits<double>::infinity();
  }
  double value = 0;
  // from_chars would take "nan", too.
  if (from >= text_.size() || !(is_digit(text_[from]) || text_[from] == '.')) missing("A number is missing.");
  const auto [end, error] = std::from_chars(text_.data() + from, text_.data() + text_.size(), value);
  if (error == std::errc::invalid_argument) missing("A number is missing.");
  if (error == std::errc::result_out_of_range) fail(at_, "This number is too large or too small.");
  at_ = static_cast<std::size_t>(end - text_.data());
  return sign * value;
}

}  // namespace tapedeck::protocol::detail
