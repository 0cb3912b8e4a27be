// The terms of a condition that look at what an op is: words, parts, shapes, lines and numbers.
#include <array>
#include <charconv>

#include "engine/protocol/conditions/condition_names.h"
#include "engine/protocol/conditions/condition_parser.h"

namespace tapedeck::protocol::detail {

Condition ConditionParser::term_of(Term term, std::size_t from) const {
  Condition condition;
  condition.kind = Condition::Kind::term;
  condition.term = std::move(term);
  condition.position = from;
  condition.length = at_ - from;
  return condition;
}

Condition ConditionParser::word_term(std::size_t from) {
  at_ = from;
  const bool quoted = here() == '"';
  const std::string spelled = word();
  if (here() == '(' && !quoted && !spelled.empty())
    fail(from, "There is no function \"" + spelled + "\"; there are " + listed(function_names()) + ".");
  if (spelled.empty()) {
    if (quoted && (unfinished_ || !over())) return {};
    missing("A word is missing.");
  }
  const std::size_t after = at_;
  for (const bool rose : {true, false})
    if (take_keyword(rose ? "rose" : "fell")) return term_of(SeriesTerm{spelled, rose}, from);
  at_ = after;
  const bool pattern = !quoted && spelled.find('*') != std::string::npos;
  return term_of(TextTerm{FilterPart::any, folded(spelled), pattern}, from);
}

Condition ConditionParser::part_term(std::size_t from, std::size_t part) {
  at_ = from + part_names()[part].size();
  const bool exact = here() == '=';
  ++at_;
  if (exact && here() == '=') ++at_;
  if (part_names()[part] == "shape") return shape_term(from);
  if (part_names()[part] == "line") return line_term(from);
  const bool quoted = here() == '"';
  const std::string spelled = word();
  if (spelled.empty()) {
    if (unfinished_) return {};
    missing("A word is missing after \"" + std::string(part_names()[part]) + ":\".");
  }
  TextTerm term;
  term.part = static_cast<FilterPart>(part + 1);
  term.text = folded(spelled);
  const bool whole = term.part == FilterPart::reads || term.part == FilterPart::writes;
  term.exact = exact || whole || (!quoted && spelled.find('*') != std::string::npos);
  return term_of(std::move(term), from);
}

std::vector<std::int64_t> ConditionParser::shape() {
  std::vector<std::int64_t> extents;
  ++at_;
  while (true) {
    skip_spaces();
    if (here() == ')') break;
    if (here() == '*' || here() == '?') {
      ++at_;
      extents.push_back(-1);
    } else {
      if (!is_digit(here())) missing("An extent is missing: (10000, 784), or * for any.");
      std::int64_t extent = 0;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), extent);
      if (error != std::errc()) fail(at_, "This extent is too large.");
      at_ = static_cast<std::size_t>(end - text_.data());
      extents.push_back(extent);
    }
    skip_spaces();
    if (here() == ',')
      ++at_;
    else if (here() != ')')
      missing("A comma or a closing parenthesis is missing.");
  }
  ++at_;
  return extents;
}

Condition ConditionParser::shape_term(std::size_t from) {
  if (here() == '(') return term_of(ShapeTerm{shape(), true}, from);
  if (!is_digit(here())) missing("An extent or a shape is missing: shape:784 or shape:(10000,784).");
  const double extent = number();
  if (!(extent < 0x1p63)) fail(from, "This extent is too large.");
  if (extent != static_cast<double>(static_cast<std::int64_t>(extent)))
    fail(from, "An extent is an integer.");
  return term_of(ShapeTerm{{static_cast<std::int64_t>(extent)}, false}, from);
}

Condition ConditionParser::line_term(std::size_t from) {
  NumberTerm term;
  term.number = Number::line;
  if (!is_digit(here())) missing("A line's number is missing: line:7 or line:7-12.");
  term.value = number();
  if (here() == '-') {
    ++at_;
    if (!is_digit(here())) missing("The last line's number is missing: line:7-12.");
    term.last = number();
    if (*term.last < term.value) fail(from, "The last line comes before the first one.");
  }
  return term_of(term, from);
}

double ConditionParser::number_with_unit(Number number) {
  const double value = this->number();
  const std::size_t from = at_;
  std::size_t end = at_;
  while (end < text_.size() && !is_space(text_[end]) && text_[end] != ')') ++end;
  const std::string_view unit = text_.substr(from, end - from);
  if (unit.empty()) return value;
  at_ = end;
  struct Unit {
    Number number;
    std::string_view name;
    double factor;
  };
  constexpr double kilo = 1000;  // as everywhere in the window
  static constexpr std::array<Unit, 11> units{{{Number::duration, "ns", 1},
                                               {Number::duration, "us", 1e3},
                                               {Number::duration, "\xc2\xb5s", 1e3},
                                               {Number::duration, "\xce\xbcs", 1e3},
                                               {Number::duration, "ms", 1e6},
                                               {Number::duration, "s", 1e9},
                                               {Number::bytes, "k", kilo},
                                               {Number::bytes, "K", kilo},
                                               {Number::bytes, "M", kilo * kilo},
                                               {Number::bytes, "G", kilo * kilo * kilo},
                                               {Number::bytes, "B", 1}}};
  for (const Unit& known : units)
    if (known.number == number && known.name == unit) return value * known.factor;
  if (number == Number::duration) fail(from, "A duration's unit is ns, us, ms or s.");
  if (number == Number::bytes) fail(from, "The unit of bytes is k, M or G.");
  fail(from, "A space is missing after the number.");
}

Condition ConditionParser::number_term(std::size_t from, Number number) {
  NumberTerm term;
  term.number = number;
  term.comparison = comparison().value();
  term.value = number_with_unit(number);
  if (number == Number::duration && is_digit(text_[at_ - 1]) && term.value != 0)
    fail(at_, "A duration needs its unit: ns, us, ms or s.");
  return term_of(term, from);
}

/// What the language has a meaning for is none.
void ConditionParser::check_name(std::size_t from, std::string_view name) const {
  const std::string known = folded(name);
  const bool is_part = place_of(part_names(), known).has_value();
  const bool keyword = known == "and" || known == "or" || known == "not";
  if (name == "True" || name == "False" || name == "None")
    fail(from,
         std::string(name) + " is not the name of a variable: a comparison begins with one, warm == True.");
  if (is_part || keyword || place_of(flag_names(), known) || place_of(number_names(), known) ||
      place_of(function_names(), known) || target_named(name))
    fail(from, "\"" + std::string(name) + "\" has a meaning of its own in conditions" +
                   (is_part ? ", without spaces: " + known + ":… or " + known + "=…" : std::string()) +
                   "; a Python variable of that name can't be asked for.");
}

Condition ConditionParser::name_term(std::size_t from, std::string_view name) {
  check_name(from, name);
  NameTerm term;
  term.name = name;
  at_ = from + name.size();
  skip_spaces();
  if (here() == '%') {
    ++at_;
    term.modulus = number();
    if (*term.modulus == 0) fail(from, "The divisor must not be 0.");
  }
  const auto sign = comparison();
  if (!sign) missing("A comparison is missing: " + std::string(name) + " % 100 == 0.");
  term.comparison = *sign;
  skip_spaces();
  const std::size_t place = at_;
  const std::string_view other = identifier_at(at_);
  bool multiplied = false;  // 2*max(out)
  if (is_digit(here()) || here() == '-' || here() == '.') {
    std::size_t after = place;
    while (after < text_.size() && (is_digit(text_[after]) || text_[after] == '.' || text_[after] == '-'))
      ++after;
    while (after < text_.size() && is_space(text_[after])) ++after;
    multiplied = after < text_.size() && text_[after] == '*';
  }
  if (here() == '"' || here() == '\'') {
    const char quote = here();
    std::string text;
    for (++at_; !over() && here() != quote; ++at_) text += here();
    if (!over())
      ++at_;
    else
      missing("A closing quote is missing.");
    if (term.comparison != Comparison::equal && term.comparison != Comparison::not_equal)
      fail(from, "Strings can only be compared with == and !=.");
    if (term.modulus) fail(from, "A remainder is compared with a number.");
    term.right = std::move(text);
  } else if (other == "True" || other == "False") {
    at_ += other.size();
    term.right = other == "True";
  } else if (!multiplied && (other.empty() || folded(other) == "inf" || folded(other) == "infinity")) {
    term.right = number();
    if (!over() && !is_space(here()) && here() != ')') fail(at_, "A space is missing after the number.");
  } else if (const char next = at_ + other.size() < text_.size() ? text_[at_ + other.size()] : '\0';
             multiplied || next == '(' || (next == '.' && target_named(other))) {
    // limit < max(out): the quantity is what is compared.
    if (term.modulus) fail(from, "A remainder is compared with a number.");
    constexpr std::array<Comparison, 6> mirrored{Comparison::greater,    Comparison::greater_equal,
                                                 Comparison::equal,      Comparison::not_equal,
                                                 Comparison::less_equal, Comparison::less};
    ValueTerm value;
    value.left = quantity();
    if (value.left.measure == Measure::shape || value.left.measure == Measure::dtype)
      fail(place, "A Python name is compared with a number.");
    value.comparison = mirrored[static_cast<std::size_t>(term.comparison)];
    value.right = PythonName{term.name};
    return term_of(std::move(value), from);
  } else {
    check_name(place, other);
    at_ += other.size();
    if (!over() && !is_space(here()) && here() != ')')
      fail(at_, "A Python name can be compared with a number, a string, True, False, a name or a quantity.");
    term.right = PythonName{std::string(other)};
  }
  return term_of(std::move(term), from);
}

}  // namespace tapedeck::protocol::detail
