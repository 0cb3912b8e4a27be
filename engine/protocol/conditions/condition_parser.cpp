// How the terms of a condition are joined, and what kind of term begins where.
#include "engine/protocol/conditions/condition_parser.h"

#include "engine/protocol/conditions/condition_names.h"

namespace tapedeck::protocol {
namespace detail {
namespace {

constexpr int deepest = 64;  // of parentheses and negations: each costs some stack

Condition joined(Condition::Kind kind, std::vector<Condition> conditions) {
  if (conditions.size() == 1) return std::move(conditions.front());
  Condition condition;
  condition.kind = kind;
  condition.parts = std::move(conditions);
  if (!condition.parts.empty()) condition.position = condition.parts.front().position;
  return condition;
}

bool compares_at(std::string_view text, std::size_t at) {
  const char sign = at < text.size() ? text[at] : '\0';
  return sign == '<' || sign == '>' || sign == '=' || (sign == '!' && text.substr(at, 2) == "!=");
}

/// "% 100 ==": a % alone belongs to a word.
bool takes_remainder(std::string_view text, std::size_t at) {
  if (at >= text.size() || text[at] != '%') return false;
  for (++at; at < text.size() && is_space(text[at]);) ++at;
  return at < text.size() && (is_digit(text[at]) || text[at] == '-');
}

}  // namespace

Condition ConditionParser::whole() {
  Condition condition = either();
  skip_spaces();
  if (at_ < text_.size()) fail(at_, "This parenthesis closes nothing.");
  number_terms(condition);
  return condition;
}

Quantity ConditionParser::lone_quantity() {
  Quantity quantity = this->quantity();
  skip_spaces();
  if (at_ < text_.size()) fail(at_, "Nothing may follow the quantity.");
  return quantity;
}

Condition ConditionParser::either() {
  std::vector<Condition> conditions;
  conditions.push_back(both());
  while (take_keyword("or")) {
    if (conditions.back().always() && !over()) fail(at_, "There is nothing before this \"or\".");
    conditions.push_back(both());
    if (conditions.back().always()) {
      if (!unfinished_ || !over()) fail(at_, "There is nothing after \"or\".");
      conditions.pop_back();
    }
  }
  return joined(Condition::Kind::any, std::move(conditions));
}

Condition ConditionParser::both() {
  std::vector<Condition> conditions;
  while (true) {
    skip_spaces();
    if (over() || here() == ')') break;
    const std::size_t before = at_;
    if (take_keyword("or")) {
      at_ = before;
      if (conditions.empty()) fail(at_, "There is nothing before \"or\".");
      break;
    }
    if (take_keyword("and")) {
      if (conditions.empty()) fail(before, "There is nothing before \"and\".");
      skip_spaces();
      if (over() && unfinished_) break;
      if (over() || here() == ')') fail(at_, "There is nothing after \"and\".");
    }
    try {
      Condition condition = negation();
      if (!condition.always()) conditions.push_back(std::move(condition));
    } catch (const Unfinished&) {
      at_ = text_.size();
    }
  }
  return joined(Condition::Kind::all, std::move(conditions));
}

Condition ConditionParser::negation() {
  const std::size_t from = at_;
  if (++depth_ > deepest) fail(at_, "This is nested too deeply.");
  Condition condition;
  if (take_keyword("not")) {
    skip_spaces();
    if (over() || here() == ')') missing("There is nothing after \"not\".");
    condition.kind = Condition::Kind::negation;
    condition.position = from;
    Condition part = negation();
    if (part.always())
      condition = {};
    else
      condition.parts.push_back(std::move(part));
  } else {
    condition = primary();
  }
  --depth_;
  return condition;
}

Condition ConditionParser::group() {
  ++at_;
  Condition condition = either();
  if (condition.always() && !(unfinished_ && over())) fail(at_, "There is nothing between the parentheses.");
  skip_spaces();
  if (here() == ')')
    ++at_;
  else if (!unfinished_)
    fail(at_, "A closing parenthesis is missing.");
  return condition;
}

Condition ConditionParser::primary() {
  skip_spaces();
  if (here() == '(') return group();
  const std::size_t from = at_;
  if (is_digit(here()) || here() == '-') {  // 2*max(in0) > …
    std::size_t after = at_;
    while (after < text_.size() && (is_digit(text_[after]) || text_[after] == '.' || text_[after] == '-'))
      ++after;
    while (after < text_.size() && is_space(text_[after])) ++after;
    if (after < text_.size() && text_[after] == '*') return value_term(from);
    if (compares_at(text_, after))
      fail(from, "A comparison begins with a name or a quantity: step == 30, max(out) > 10.");
    return word_term(from);
  }
  const std::string_view name = identifier_at(at_);
  return name.empty() ? word_term(from) : named(from, name);
}

Condition ConditionParser::named(std::size_t from, std::string_view name) {
  const std::string known = folded(name);
  std::size_t after = from + name.size();
  const char next = after < text_.size() ? text_[after] : '\0';
  const char second = after + 1 < text_.size() ? text_[after + 1] : '\0';
  if (next == ':' || (next == '=' && place_of(part_names(), known) && !place_of(number_names(), known))) {
    if (const auto part = place_of(part_names(), known)) return part_term(from, *part);
    // "W:0" is the name of a variable.
    if (!is_digit(second) && second != '\0' && !is_space(second) && name.size() > 1)
      fail(from, "There is no part \"" + std::string(name) + "\"; there are " + listed(part_names()) +
                     ". Quotes turn it into a word.");
    return word_term(from);
  }
  if (next == '(') {
    if (place_of(function_names(), known)) return value_term(from);
    fail(from,
         "There is no function \"" + std::string(name) + "\"; there are " + listed(function_names()) + ".");
  }
  if (next == '.' && target_named(name) && is_letter(second)) {
    const std::string_view property = identifier_at(after + 1);
    if (place_of(property_names(), folded(property))) return value_term(from);
    if (unfinished_ && after + 1 + property.size() >= text_.size()) {
      at_ = text_.size();
      throw Unfinished();
    }
    fail(after + 1,
         "A tensor has no \"" + std::string(property) + "\"; it has " + listed(property_names()) + ".");
  }
  while (after < text_.size() && is_space(text_[after])) ++after;
  if (compares_at(text_, after) || takes_remainder(text_, after)) {
    if (const auto number = place_of(number_names(), known); number && text_[after] != '%') {
      at_ = from + name.size();
      return number_term(from, static_cast<Number>(*number));
    }
    if (place_of(function_names(), known) || target_named(name))
      fail(from, "A value is written with a function or a property: max(" +
                     std::string(target_named(name) ? name : "out") + ") or out.shape.");
    return name_term(from, name);
  }
  if (const auto flag = place_of(flag_names(), known);
      flag && (next == '\0' || is_space(next) || next == ')')) {
    at_ = from + name.size();
    return term_of(static_cast<Flag>(*flag), from);
  }
  return word_term(from);
}

}  // namespace detail

Condition parse_condition(std::string_view text) {
  return detail::ConditionParser(text, false).whole();
}

Condition parse_unfinished(std::string_view text) {
  return detail::ConditionParser(text, true).whole();
}

Quantity parse_quantity(std::string_view text) {
  return detail::ConditionParser(text, false).lone_quantity();
}

}  // namespace tapedeck::protocol
