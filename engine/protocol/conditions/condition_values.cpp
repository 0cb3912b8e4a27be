// The terms of a condition that look at tensors: nan(out), max(abs(in0)) > 1e3, out.shape == (3).
#include <charconv>

#include "engine/protocol/conditions/condition_names.h"
#include "engine/protocol/conditions/condition_parser.h"

namespace tapedeck::protocol::detail {

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

Target ConditionParser::target() {
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

Quantity ConditionParser::quantity() {
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
    const auto known = place_of(property_names(), folded(property));
    if (!known) {
      if (at_ + property.size() >= text_.size()) at_ = text_.size();
      missing("A tensor has no \"" + std::string(property) + "\"; it has " + listed(property_names()) + ".");
    }
    at_ += property.size();
    quantity.measure = static_cast<Measure>(static_cast<std::size_t>(Measure::size) + *known);
    return quantity;
  }
  const auto function = place_of(function_names(), folded(name));
  if (!function || after >= text_.size() || text_[after] != '(') {
    if (after >= text_.size()) at_ = text_.size();
    missing(name.empty() ? std::string("A quantity is missing: max(out), out.size.")
                         : "There is no quantity \"" + std::string(name) + "\"; functions are " +
                               listed(function_names()) + ": max(out).");
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

Operand ConditionParser::operand(const Quantity& left) {
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
  if (!infinity && !name.empty()) {
    const char next = at_ + name.size() < text_.size() ? text_[at_ + name.size()] : '\0';
    const bool numbers = left.measure != Measure::shape && left.measure != Measure::dtype;
    if (!numbers || next == '(' || next == '.' || target_named(name) ||
        place_of(function_names(), folded(name)))
      return quantity();
    check_name(at_, name);
    at_ += name.size();
    return PythonName{std::string(name)};
  }
  const std::size_t before = at_;
  const double value = number();
  if (here() == '%') {
    ++at_;
    if (left.measure > Measure::zeros) fail(before, "A percentage of the elements needs nan, inf or zeros.");
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

Condition ConditionParser::value_term(std::size_t from) {
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

}  // namespace tapedeck::protocol::detail
