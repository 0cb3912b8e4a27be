// From a text to a condition: recursive descent, one function for each rule.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "engine/protocol/condition.h"

namespace tapedeck::protocol {
namespace {

// In the order of the enumerators; FilterPart::any has no name.
constexpr std::array<std::string_view, 12> parts{"op", "kind",  "scope", "cell",   "file",  "name",
                                                 "is", "dtype", "reads", "writes", "shape", "line"};
constexpr std::size_t text_parts = 10;
constexpr std::array<std::string_view, 6> numbers{"record", "line", "duration", "bytes", "thread", "depth"};
constexpr std::array<std::string_view, 5> flags{"forward", "backward", "vjp", "playback", "failed"};
constexpr std::array<std::string_view, 9> functions{"nan",  "inf", "zeros", "max",      "min",
                                                    "mean", "sum", "norm",  "deviation"};
constexpr std::array<std::string_view, 5> properties{"size", "bytes", "rank", "shape", "dtype"};

constexpr int deepest = 64;  // of parentheses and negations: each costs some stack

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

template <class Names>
std::optional<std::size_t> place_of(const Names& names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  return found == names.end() ? std::nullopt : std::optional(static_cast<std::size_t>(found - names.begin()));
}

template <class Names>
std::string listed(const Names& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i)
    text += (i == 0 ? "" : i + 1 == names.size() ? " and " : ", ") + std::string(names[i]);
  return text;
}

class Parser {
 public:
  Parser(std::string_view text, bool unfinished) : text_(text), unfinished_(unfinished) {}

  Condition whole() {
    Condition condition = either();
    skip_spaces();
    if (at_ < text_.size()) fail(at_, "There is no parenthesis that this one closes.");
    number_terms(condition);
    return condition;
  }

  Quantity lone_quantity() {
    Quantity quantity = this->quantity();
    skip_spaces();
    if (at_ < text_.size()) fail(at_, "Nothing may follow the quantity.");
    return quantity;
  }

 private:
  [[noreturn]] static void fail(std::size_t at, const std::string& sentence) {
    throw ConditionError(at, sentence);
  }
  /// The text is over where something has to follow: what that would be holds always, where one still types.
  struct Unfinished {};
  [[noreturn]] void missing(const std::string& sentence) const {
    if (unfinished_ && at_ >= text_.size()) throw Unfinished();
    fail(at_, sentence);
  }

  bool over() const { return at_ >= text_.size(); }
  char here() const { return over() ? '\0' : text_[at_]; }
  void skip_spaces() {
    while (!over() && is_space(text_[at_])) ++at_;
  }
  std::string_view identifier_at(std::size_t from) const {
    std::size_t end = from;
    while (end < text_.size() && (is_letter(text_[end]) || (end > from && is_digit(text_[end])))) ++end;
    return text_.substr(from, end - from);
  }
  /// A word of the language alone, such as "and".
  bool take_keyword(std::string_view keyword) {
    skip_spaces();
    const std::string_view word = identifier_at(at_);
    if (folded(word) != keyword) return false;
    const std::size_t after = at_ + word.size();
    if (after < text_.size() && !is_space(text_[after]) && text_[after] != '(' && text_[after] != ')')
      return false;
    at_ = after;
    return true;
  }

  Condition either();
  Condition both();
  Condition negation();
  Condition primary();
  Condition group();
  Condition term_of(Term term, std::size_t position) const {
    Condition condition;
    condition.kind = Condition::Kind::term;
    condition.term = std::move(term);
    condition.position = position;
    condition.length = at_ - position;
    return condition;
  }
  Condition named(std::size_t from, std::string_view name);
  Condition part_term(std::size_t from, std::size_t part);
  Condition word_term(std::size_t from);
  Condition shape_term(std::size_t from);
  Condition line_term(std::size_t from);
  Condition number_term(std::size_t from, Number number);
  Condition value_term(std::size_t from);
  std::string word();
  std::optional<Comparison> comparison();
  double number();
  double number_with_unit(Number number);
  std::vector<std::int64_t> shape();
  Quantity quantity();
  Target target();
  Operand operand(const Quantity& left);

  std::string_view text_;
  const bool unfinished_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

Condition joined(Condition::Kind kind, std::vector<Condition> conditions) {
  if (conditions.size() == 1) return std::move(conditions.front());
  Condition condition;
  condition.kind = kind;
  condition.parts = std::move(conditions);
  if (!condition.parts.empty()) condition.position = condition.parts.front().position;
  return condition;
}

Condition Parser::either() {
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

Condition Parser::both() {
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

Condition Parser::negation() {
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

Condition Parser::group() {
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

Condition Parser::primary() {
  skip_spaces();
  if (here() == '(') return group();
  const std::size_t from = at_;
  if (is_digit(here()) || here() == '-') {  // 2*max(in0) > …
    std::size_t after = at_;
    while (after < text_.size() && (is_digit(text_[after]) || text_[after] == '.' || text_[after] == '-'))
      ++after;
    while (after < text_.size() && is_space(text_[after])) ++after;
    if (after < text_.size() && text_[after] == '*') return value_term(from);
    return word_term(from);
  }
  const std::string_view name = identifier_at(at_);
  return name.empty() ? word_term(from) : named(from, name);
}

std::optional<Target> target_named(std::string_view name) {
  std::size_t letters = name.size();
  while (letters > 0 && is_digit(name[letters - 1])) --letters;
  const std::string role = folded(name.substr(0, letters));
  Target target;
  if (role == "out")
    target.role = Role::output;
  else if (role == "in")
    target.role = Role::input;
  else if (role == "grad")
    target.role = Role::gradient;
  else if (role == "any" && letters == name.size())
    target.role = Role::any;
  else
    return std::nullopt;
  if (letters < name.size()) {
    const std::string_view digits = name.substr(letters);
    if (digits.size() > 6) return std::nullopt;
    std::from_chars(digits.data(), digits.data() + digits.size(), target.index);
  }
  return target;
}

Condition Parser::named(std::size_t from, std::string_view name) {
  const std::string known = folded(name);
  std::size_t after = from + name.size();
  const char next = after < text_.size() ? text_[after] : '\0';
  const char second = after + 1 < text_.size() ? text_[after + 1] : '\0';
  if (next == ':' || (next == '=' && place_of(parts, known) && !place_of(numbers, known))) {
    if (const auto part = place_of(parts, known)) return part_term(from, *part);
    // "W:0" is the name of a variable.
    if (!is_digit(second) && second != '\0' && !is_space(second) && name.size() > 1)
      fail(from, "There is no part \"" + std::string(name) + "\"; there are " + listed(parts) +
                     ". Quotes make a word of it.");
    return word_term(from);
  }
  if (next == '(') {
    if (place_of(functions, known)) return value_term(from);
    fail(from, "There is no function \"" + std::string(name) + "\"; there are " + listed(functions) + ".");
  }
  if (next == '.' && target_named(name) && is_letter(second)) {
    const std::string_view property = identifier_at(after + 1);
    if (place_of(properties, folded(property))) return value_term(from);
    if (unfinished_ && after + 1 + property.size() >= text_.size()) {
      at_ = text_.size();
      throw Unfinished();
    }
    fail(after + 1, "A tensor has no \"" + std::string(property) + "\"; it has " + listed(properties) + ".");
  }
  while (after < text_.size() && is_space(text_[after])) ++after;
  const char sign = after < text_.size() ? text_[after] : '\0';
  const bool compares = sign == '<' || sign == '>' || sign == '=' ||
                        (sign == '!' && after + 1 < text_.size() && text_[after + 1] == '=');
  if (compares) {
    if (const auto number = place_of(numbers, known)) {
      at_ = from + name.size();
      return number_term(from, static_cast<Number>(*number));
    }
    if (place_of(functions, known) || target_named(name))
      fail(from, "A value is written with a function or a property: max(" +
                     std::string(target_named(name) ? name : "out") + ") or out.shape.");
    fail(from, "There is no number \"" + std::string(name) + "\"; there are " + listed(numbers) + ".");
  }
  if (const auto flag = place_of(flags, known); flag && (next == '\0' || is_space(next) || next == ')')) {
    at_ = from + name.size();
    return term_of(static_cast<Flag>(*flag), from);
  }
  return word_term(from);
}

/// A word without its quotes; `at_` moves behind it. Quotes open at the word's begin alone.
std::string Parser::word() {
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

Condition Parser::word_term(std::size_t from) {
  at_ = from;
  const bool quoted = here() == '"';
  const std::string spelled = word();
  if (here() == '(' && !quoted && !spelled.empty())
    fail(from, "There is no function \"" + spelled + "\"; there are " + listed(functions) + ".");
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

Condition Parser::part_term(std::size_t from, std::size_t part) {
  at_ = from + parts[part].size();
  const bool exact = here() == '=';
  ++at_;
  if (exact && here() == '=') ++at_;
  if (parts[part] == "shape") return shape_term(from);
  if (parts[part] == "line") return line_term(from);
  const bool quoted = here() == '"';
  const std::string spelled = word();
  if (spelled.empty()) {
    if (unfinished_) return {};
    missing("A word is missing after \"" + std::string(parts[part]) + ":\".");
  }
  TextTerm term;
  term.part = static_cast<FilterPart>(part + 1);
  static_assert(static_cast<std::size_t>(FilterPart::writes) == text_parts);
  term.text = folded(spelled);
  const bool whole = term.part == FilterPart::reads || term.part == FilterPart::writes;
  term.exact = exact || whole || (!quoted && spelled.find('*') != std::string::npos);
  return term_of(std::move(term), from);
}

std::vector<std::int64_t> Parser::shape() {
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

Condition Parser::shape_term(std::size_t from) {
  if (here() == '(') return term_of(ShapeTerm{shape(), true}, from);
  if (!is_digit(here())) missing("An extent or a shape is missing: shape:784 or shape:(10000,784).");
  const double extent = number();
  if (extent != static_cast<double>(static_cast<std::int64_t>(extent)))
    fail(from, "An extent is a whole number.");
  return term_of(ShapeTerm{{static_cast<std::int64_t>(extent)}, false}, from);
}

Condition Parser::line_term(std::size_t from) {
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

std::optional<Comparison> Parser::comparison() {
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

double Parser::number() {
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

double Parser::number_with_unit(Number number) {
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
  constexpr double kilo = 1024;
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

Condition Parser::number_term(std::size_t from, Number number) {
  NumberTerm term;
  term.number = number;
  term.comparison = comparison().value();
  term.value = number_with_unit(number);
  if (number == Number::duration && is_digit(text_[at_ - 1]) && term.value != 0)
    fail(at_, "A duration needs its unit: ns, us, ms or s.");
  return term_of(term, from);
}

Target Parser::target() {
  skip_spaces();
  const std::string_view name = identifier_at(at_);
  if (name.empty() || at_ + name.size() >= text_.size())
    if (unfinished_) {
      at_ = text_.size();
      throw Unfinished();
    }
  const auto target = target_named(name);
  if (!target)
    fail(at_, (name.empty() ? std::string("A tensor is missing")
                            : "There is no tensor \"" + std::string(name) + "\"") +
                  "; there are out, out0, in, in0, grad, grad0 and any.");
  at_ += name.size();
  return *target;
}

Quantity Parser::quantity() {
  skip_spaces();
  Quantity quantity;
  if (is_digit(here()) || here() == '-' || here() == '.') {
    quantity.factor = number();
    skip_spaces();
    if (here() != '*') missing("A * is missing between the number and the quantity.");
    ++at_;
    skip_spaces();
  }
  const std::string_view name = identifier_at(at_);
  const std::size_t after = at_ + name.size();
  const bool has_property = after < text_.size() && text_[after] == '.';
  if (has_property) {
    quantity.target = target();
    ++at_;
    const std::string_view property = identifier_at(at_);
    const auto known = place_of(properties, folded(property));
    if (!known) {
      if (at_ + property.size() >= text_.size()) at_ = text_.size();
      missing("A tensor has no \"" + std::string(property) + "\"; it has " + listed(properties) + ".");
    }
    at_ += property.size();
    quantity.measure = static_cast<Measure>(static_cast<std::size_t>(Measure::size) + *known);
    return quantity;
  }
  const auto function = place_of(functions, folded(name));
  if (!function || after >= text_.size() || text_[after] != '(') {
    if (after >= text_.size()) at_ = text_.size();
    missing(name.empty() ? std::string("A quantity is missing: max(out), out.size.")
                         : "There is no quantity \"" + std::string(name) + "\"; functions are " +
                               listed(functions) + ": max(out).");
  }
  quantity.measure = static_cast<Measure>(*function);
  at_ = after + 1;
  skip_spaces();
  std::string_view inner = identifier_at(at_);
  const bool absolute =
      folded(inner) == "abs" && at_ + inner.size() < text_.size() && text_[at_ + inner.size()] == '(';
  if (absolute) {
    quantity.absolute = true;
    at_ += inner.size() + 1;
  }
  quantity.target = target();
  for (int i = 0; i < (absolute ? 2 : 1); ++i) {
    skip_spaces();
    if (here() != ')') missing("A closing parenthesis is missing.");
    ++at_;
  }
  return quantity;
}

Operand Parser::operand(const Quantity& left) {
  skip_spaces();
  if (left.measure == Measure::shape && here() == '(') return shape();
  if (left.measure == Measure::dtype && identifier_at(at_).size() > 0 &&
      text_.substr(at_ + identifier_at(at_).size(), 1) != ".") {
    const std::string_view name = identifier_at(at_);
    at_ += name.size();
    return folded(name);
  }
  const bool negative_infinity = here() == '-' && is_letter(at_ + 1 < text_.size() ? text_[at_ + 1] : ' ');
  const std::string_view name = identifier_at(at_);
  const bool infinity =
      (folded(name) == "inf" && text_.substr(at_ + name.size(), 1) != "(") || negative_infinity;
  if (!infinity && !name.empty()) return quantity();
  const std::size_t before = at_;
  const double value = number();
  if (here() == '%') {
    ++at_;
    if (left.measure > Measure::zeros)
      fail(before, "A share of the elements goes with nan, inf and zeros alone.");
    return Share{value};
  }
  const std::size_t after = at_;
  skip_spaces();
  if (here() == '*') {
    at_ = before;
    return quantity();
  }
  at_ = after;
  return value;
}

Condition Parser::value_term(std::size_t from) {
  at_ = from;
  ValueTerm term;
  term.left = quantity();
  const auto sign = comparison();
  const Measure measure = term.left.measure;
  if (!sign) {
    if (measure > Measure::zeros) missing("A comparison is missing: max(out) > 1000.");
    return term_of(std::move(term), from);
  }
  term.comparison = *sign;
  const bool texts = measure == Measure::shape || measure == Measure::dtype;
  if (texts && *sign != Comparison::equal && *sign != Comparison::not_equal)
    fail(from, "Shapes and dtypes are compared with == and !=.");
  term.right = operand(term.left);
  const auto* other = std::get_if<Quantity>(&term.right);
  const bool fits =
      measure == Measure::shape ? std::holds_alternative<std::vector<std::int64_t>>(term.right) ||
                                      (other && other->measure == Measure::shape)
      : measure == Measure::dtype
          ? std::holds_alternative<std::string>(term.right) || (other && other->measure == Measure::dtype)
          : !other || (other->measure != Measure::shape && other->measure != Measure::dtype);
  if (!fits)
    fail(from, texts ? "A shape is compared with a shape, a dtype with a dtype."
                     : "A number is compared with a number.");
  return term_of(std::move(term), from);
}

}  // namespace

Condition parse_condition(std::string_view text) {
  return Parser(text, false).whole();
}

Condition parse_unfinished(std::string_view text) {
  return Parser(text, true).whole();
}

Quantity parse_quantity(std::string_view text) {
  return Parser(text, false).lone_quantity();
}

std::span<const std::string_view> part_names() {
  return parts;
}
std::span<const std::string_view> number_names() {
  return numbers;
}
std::span<const std::string_view> flag_names() {
  return flags;
}
std::span<const std::string_view> function_names() {
  return functions;
}
std::span<const std::string_view> property_names() {
  return properties;
}

}  // namespace tapedeck::protocol
