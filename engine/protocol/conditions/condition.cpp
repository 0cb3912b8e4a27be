#include "engine/protocol/conditions/condition.h"

#include <algorithm>
#include <cmath>

namespace tapedeck::protocol {
namespace {

/// The lower case of a letter of two bytes in UTF-8, as a code point.
unsigned lower(unsigned letter) {
  if ((letter >= 0xc0 && letter <= 0xde && letter != 0xd7) || (letter >= 0x391 && letter <= 0x3a9) ||
      (letter >= 0x410 && letter <= 0x42f))
    return letter + 0x20;
  if (letter >= 0x400 && letter <= 0x40f) return letter + 0x50;
  if (letter >= 0x100 && letter <= 0x137 && letter != 0x130) return letter | 1;
  return letter;
}

/// One tensor among those of an op.
struct Chosen {
  bool output = false;
  std::size_t index = 0;
};

/// Calls `look` with the target's tensors until it returns true; returns whether it did. `missing`: there may
/// be others later.
template <class Look>
bool any_of_target(const Target& target, const OpFacts& op, bool& missing, Look&& look) {
  const auto in = [&](bool output, std::span<const TensorFacts> tensors) {
    if (output && !op.outputs_known) missing = true;
    for (std::size_t i = 0; i < tensors.size(); ++i)
      if ((target.index < 0 || static_cast<std::size_t>(target.index) == i) && look(Chosen{output, i}))
        return true;
    return false;
  };
  switch (target.role) {
    case Role::output:
      return in(true, op.outputs);
    case Role::input:
      return in(false, op.inputs);
    case Role::gradient:
      return op.gives_gradients && in(true, op.outputs);
    case Role::any:
      return in(false, op.inputs) || in(true, op.outputs);
  }
  return false;
}

const TensorFacts& facts_of(const OpFacts& op, const Chosen& tensor) {
  return (tensor.output ? op.outputs : op.inputs)[tensor.index];
}

std::optional<double> number_of(const OpFacts& op, const Chosen& tensor, const Quantity& quantity) {
  const TensorFacts& facts = facts_of(op, tensor);
  switch (quantity.measure) {
    case Measure::size:
      return quantity.factor * static_cast<double>(facts.size);
    case Measure::bytes:
      return quantity.factor * static_cast<double>(facts.bytes);
    case Measure::rank:
      return quantity.factor * static_cast<double>(facts.shape.size());
    default:
      break;
  }
  if (!op.measure) return std::nullopt;
  const std::optional<double> value = op.measure(tensor.output, tensor.index, quantity);
  return value ? std::optional(quantity.factor * *value) : std::nullopt;
}

bool equal_extents(std::span<const std::int64_t> shape, std::span<const std::int64_t> wanted) {
  return std::equal(shape.begin(), shape.end(), wanted.begin(), wanted.end(),
                    [](std::int64_t have, std::int64_t want) { return want < 0 || have == want; });
}

/// Shapes and dtypes.
bool same_text(const TensorFacts& left, const TensorFacts& right, Measure measure) {
  return measure == Measure::shape ? equal_extents(left.shape, right.shape) : left.dtype == right.dtype;
}

/// A boolean is 0 or 1, as in Python.
std::optional<double> as_number(const NameValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? 1 : 0;
  return std::nullopt;
}

double number_held(const std::string& name, const NameValue& value) {
  if (const auto number = as_number(value)) return *number;
  throw NameError("The Python name \"" + name + "\" holds a string, which no number is compared with.");
}

/// As Python's %: of the modulus' sign.
double rest_of(double value, double modulus) {
  const double rest = std::fmod(value, modulus);
  return rest != 0 && (rest < 0) != (modulus < 0) ? rest + modulus : rest;
}

class Comparer {
 public:
  Comparer(const ValueTerm& term, const OpFacts& op) : term_(term), op_(op) {}

  Verdict verdict() {
    bool missing = false;
    const bool found =
        any_of_target(term_.left.target, op_, missing, [&](const Chosen& left) { return holds(left); });
    if (found) return Verdict::yes;
    return missing || missing_ ? Verdict::unknown : Verdict::no;
  }

 private:
  bool holds(const Chosen& left) {
    if (const auto* other = std::get_if<Quantity>(&term_.right))
      return any_of_target(other->target, op_, missing_,
                           [&](const Chosen& right) { return holds(left, right, *other); });
    const TensorFacts& facts = facts_of(op_, left);
    if (const auto* shape = std::get_if<std::vector<std::int64_t>>(&term_.right))
      return equal_extents(facts.shape, *shape) == (term_.comparison == Comparison::equal);
    if (const auto* name = std::get_if<std::string>(&term_.right))
      return (facts.dtype == *name) == (term_.comparison == Comparison::equal);
    const std::optional<double> value = number_of(op_, left, term_.left);
    if (!value) {
      missing_ = true;
      return false;
    }
    const auto size = static_cast<double>(facts.size);
    if (std::holds_alternative<std::monostate>(term_.right))
      return term_.left.measure == Measure::zeros ? size > 0 && *value == size : *value > 0;
    if (const auto* share = std::get_if<Share>(&term_.right))
      return size > 0 && compare(*value / size * 100, term_.comparison, share->percent);
    if (const auto* name = std::get_if<PythonName>(&term_.right)) {
      if (op_.name) return compare(*value, term_.comparison, number_held(name->name, op_.name(name->name)));
      missing_ = true;
      return false;
    }
    return compare(*value, term_.comparison, std::get<double>(term_.right));
  }

  bool holds(const Chosen& left, const Chosen& right, const Quantity& other) {
    if (other.measure == Measure::shape || other.measure == Measure::dtype)
      return same_text(facts_of(op_, left), facts_of(op_, right), other.measure) ==
             (term_.comparison == Comparison::equal);
    const auto a = number_of(op_, left, term_.left);
    const auto b = a ? number_of(op_, right, other) : std::nullopt;
    if (!b) missing_ = true;
    return b && compare(*a, term_.comparison, *b);
  }

  const ValueTerm& term_;
  const OpFacts& op_;
  bool missing_ = false;
};

}  // namespace

std::string folded(std::string_view text) {
  std::string result(text);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto byte = static_cast<unsigned char>(result[i]);
    if (byte >= 'A' && byte <= 'Z') {
      result[i] = static_cast<char>(byte + ('a' - 'A'));
    } else if (byte >= 0xc3 && byte <= 0xdf && i + 1 < result.size()) {
      const auto next = static_cast<unsigned char>(result[i + 1]);
      if ((next & 0xc0u) != 0x80) continue;
      const unsigned letter = lower((byte & 0x1fu) << 6 | (next & 0x3fu));
      result[i] = static_cast<char>(0xc0u | letter >> 6);
      result[++i] = static_cast<char>(0x80u | (letter & 0x3fu));
    }
  }
  return result;
}

std::size_t number_terms(Condition& condition) {
  std::size_t count = 0;
  for_each_term(condition, [&](Condition& term) { term.number = count++; });
  return count;
}

std::uint64_t bytes_of_dtype(std::string_view name) {
  std::uint64_t bits = 0, unit = 1;
  for (; !name.empty() && name.back() >= '0' && name.back() <= '9' && unit <= 1000; name.remove_suffix(1)) {
    bits += static_cast<std::uint64_t>(name.back() - '0') * unit;
    unit *= 10;
  }
  return std::max<std::uint64_t>(1, bits / 8);
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  // Greedy, with one place to go back to: the last *.
  std::size_t p = 0, t = 0, star = std::string_view::npos, resume = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = t;
    } else if (p < pattern.size() && pattern[p] == text[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

bool TextTerm::finds(FilterPart where, std::string_view value) const {
  if (part == FilterPart::is || (part == FilterPart::any ? where > FilterPart::name : part != where))
    return false;
  const std::string whole = folded(value);
  if (!exact) return whole.find(text) != std::string::npos;
  // A variable called W has the name W:0; one that Python knows as model.W is called so.
  const bool is_name = where == FilterPart::reads || where == FilterPart::writes || where == FilterPart::name;
  const std::size_t dot = is_name ? whole.rfind('.') : std::string::npos;
  return matches_pattern(text, whole) ||
         (whole.ends_with(":0") &&
          matches_pattern(text, std::string_view(whole).substr(0, whole.size() - 2))) ||
         (dot != std::string::npos && matches_pattern(text, std::string_view(whole).substr(dot + 1)));
}

bool ShapeTerm::fits(std::span<const std::int64_t> shape) const {
  if (whole) return equal_extents(shape, extents);
  return std::find(shape.begin(), shape.end(), extents.front()) != shape.end();
}

bool compare(double left, Comparison comparison, double right) {
  switch (comparison) {
    case Comparison::less:
      return left < right;
    case Comparison::less_equal:
      return left <= right;
    case Comparison::equal:
      return left == right;
    case Comparison::not_equal:
      return left != right;
    case Comparison::greater_equal:
      return left >= right;
    case Comparison::greater:
      return left > right;
  }
  return false;
}

bool NumberTerm::holds(double actual) const {
  return last ? actual >= value && actual <= *last : compare(actual, comparison, value);
}

bool holds(const NameTerm& term, const NameLookup& lookup) {
  NameValue left = lookup(term.name);
  if (term.modulus) left = rest_of(number_held(term.name, left), *term.modulus);
  const auto* other = std::get_if<PythonName>(&term.right);
  const NameValue right = std::visit(
      [&]<class Value>(const Value& value) -> NameValue {
        if constexpr (std::is_same_v<Value, PythonName>)
          return lookup(value.name);
        else
          return value;
      },
      term.right);
  const auto a = as_number(left), b = as_number(right);
  if (a && b) return compare(*a, term.comparison, *b);
  const bool equality = term.comparison == Comparison::equal || term.comparison == Comparison::not_equal;
  if (!equality)
    throw NameError("The Python name \"" + (a && other ? other->name : term.name) + "\" holds a " +
                    (a && !other ? "number" : "string") + ": strings can only be compared with == and !=.");
  const bool same = !a && !b && std::get<std::string>(left) == std::get<std::string>(right);
  return same == (term.comparison == Comparison::equal);
}

Verdict evaluate(const ValueTerm& term, const OpFacts& op) {
  return Comparer(term, op).verdict();
}

bool looks_at_ops(const Condition& condition) {
  bool found = false;
  for_each_term(condition, [&](const Condition& one) {
    const auto* number = std::get_if<NumberTerm>(&one.term);
    const bool line = number && number->number == Number::line;
    found = found || !(line || std::holds_alternative<NameTerm>(one.term) ||
                       std::holds_alternative<SeriesTerm>(one.term));
  });
  return found;
}

}  // namespace tapedeck::protocol
