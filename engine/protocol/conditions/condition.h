// The language of conditions: what the filter of Ops looks for, and where breakpoints stop. One parser, and
// one tree that the window and the engine evaluate over what each of them has.
//
//   matmul  "my scope"        words: in the op's name, its kind, scope, cell, file, or a tensor's name
//   op:matmul  op:*pool*      in that part alone; with a * the whole of it. Parts: op, kind, scope, cell,
//                             file, name, dtype, reads, writes; call: what the program wrote there, on one
//                             line
//   op=add                    the whole of it, exactly
//   is:failed                 forward, backward, pending, running, done, failed (or how one begins)
//   forward backward vjp playback failed
//   bookmarked                in the filter alone: what has a bookmark in the window
//   shape:784  shape:(10000,784)  shape:(*,784)    an axis, or the whole shape, of any tensor of the op
//   line:7  line:7-12  record>100  duration>1ms  bytes>1M  (line, record, duration, bytes, thread, depth)
//   nan(out)  inf(any)  zeros(grad)                some element is NaN or infinite; all elements are 0
//   nan(out) > 10  zeros(out) > 90%                how many of them
//   max(abs(out)) > 1e3  norm(grad) < 1e-8         also min, mean, sum, deviation; 2*max(in0)
//   out.shape != in0.shape  out.dtype == float64  out.rank > 2  in.size, in.bytes
//   loss rose  "cell 3: loss" fell                 the newest point of a curve, against the one before
//   step == 30  mode != "train"  warm == True      a name of the Python program, where the op runs, that
//   holds a
//                                                  number, a scalar tensor, a string or a boolean; step >
//                                                  start
//   step % 100 == 0  max(abs(grad)) > limit        its remainder; a name beside a quantity
//   and  or  not  ( )                              one after the other means and
//
// Tensors are out, out0, out1 …, in, in0 …, grad, grad0 … (what a VJP or a playback gives), any. Where there
// are several, one that holds is enough. A comparison with NaN does not hold.
//
// A Python name is looked for in the user's innermost function that runs, then in its module, then in what
// called it. Where there is none, or where it holds something else, evaluation throws NameError, and the
// program stops with that sentence. What the language itself has a meaning for (op, line, out, forward, …) is
// no Python name.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tapedeck::protocol {

/// What is known of a condition: it may need what is not there yet. Minimum is "and", maximum is "or".
enum class Verdict : std::uint8_t { no, unknown, yes };
constexpr Verdict opposite(Verdict verdict) {
  return static_cast<Verdict>(2 - static_cast<int>(verdict));
}
constexpr Verdict verdict_of(bool holds) {
  return holds ? Verdict::yes : Verdict::no;
}

/// A word without a part looks at those up to `name`.
enum class FilterPart : std::uint8_t {
  any,
  op,
  kind,
  scope,
  cell,
  file,
  name,
  is,
  dtype,
  reads,
  writes,
  call
};

struct TextTerm {
  FilterPart part = FilterPart::any;
  std::string text;    ///< folded
  bool exact = false;  ///< the whole of the part, where * matches anything; else it is contained
  bool operator==(const TextTerm&) const = default;

  /// Whether the term looks at `where` and finds its text in it.
  bool finds(FilterPart where, std::string_view value) const;
};

enum class Flag : std::uint8_t { forward, backward, vjp, playback, failed, bookmarked };

/// A tensor with an axis of that extent, or of that shape; -1 is any extent.
struct ShapeTerm {
  std::vector<std::int64_t> extents;
  bool whole = false;
  bool operator==(const ShapeTerm&) const = default;
  bool fits(std::span<const std::int64_t> shape) const;
};

enum class Comparison : std::uint8_t { less, less_equal, equal, not_equal, greater_equal, greater };
/// False where one is NaN, except for not_equal.
bool compare(double left, Comparison comparison, double right);

enum class Number : std::uint8_t { record, line, duration, bytes, thread, depth };

/// duration in nanoseconds; bytes: of all outputs together.
struct NumberTerm {
  Number number = Number::record;
  Comparison comparison = Comparison::equal;
  double value = 0;
  std::optional<double> last;  ///< with `equal`: a range, from `value` on
  bool operator==(const NumberTerm&) const = default;
  bool holds(double number) const;
};

enum class Role : std::uint8_t { output, input, gradient, any };
struct Target {
  Role role = Role::output;
  int index = -1;  ///< -1: each of them
  bool operator==(const Target&) const = default;
};

enum class Measure : std::uint8_t {
  // Counts of elements.
  nan,
  inf,
  zeros,
  // Of all elements; NaN where one is NaN.
  maximum,
  minimum,
  mean,
  sum,
  norm,
  deviation,
  // What is known without looking at elements.
  size,
  bytes,
  rank,
  shape,
  dtype
};
constexpr bool reads_values(Measure measure) {
  return measure < Measure::size;
}

struct Quantity {
  Measure measure = Measure::nan;
  bool absolute = false;  ///< of the elements' absolute values
  double factor = 1;
  Target target;
  bool operator==(const Quantity&) const = default;
};

struct Share {
  double percent = 0;  ///< of the elements
  bool operator==(const Share&) const = default;
};
/// A name of the Python program.
struct PythonName {
  std::string name;
  bool operator==(const PythonName&) const = default;
};
/// What a quantity is compared with: a number, a share of the elements, another quantity, a shape, a dtype's
/// name, a Python name; nothing: nan and inf hold where there is one, zeros where all are.
using Operand =
    std::variant<std::monostate, double, Share, Quantity, std::vector<std::int64_t>, std::string, PythonName>;

struct ValueTerm {
  Quantity left;
  Comparison comparison = Comparison::equal;
  Operand right;
  bool operator==(const ValueTerm&) const = default;
};

/// A curve's newest point, against the one before it.
struct SeriesTerm {
  std::string series;
  bool rose = true;
  bool operator==(const SeriesTerm&) const = default;
};

/// What a Python name holds.
using NameValue = std::variant<double, bool, std::string>;
/// A name is missing, or holds what can't be compared: a sentence.
struct NameError : std::runtime_error {
  using std::runtime_error::runtime_error;
};
/// Throws NameError.
using NameLookup = std::function<NameValue(const std::string& name)>;

/// A Python name, or its remainder, against a value or another name.
struct NameTerm {
  std::string name;
  std::optional<double> modulus;  ///< not 0
  Comparison comparison = Comparison::equal;
  std::variant<double, bool, std::string, PythonName> right;
  bool operator==(const NameTerm&) const = default;
};
/// Numbers and booleans are compared as Python does, strings with == and != alone. Throws NameError.
bool holds(const NameTerm& term, const NameLookup& lookup);

using Term = std::variant<TextTerm, Flag, ShapeTerm, NumberTerm, ValueTerm, SeriesTerm, NameTerm>;

struct Condition {
  enum class Kind : std::uint8_t { all, any, negation, term };
  Kind kind = Kind::all;
  std::vector<Condition> parts;  ///< none of `all`: it holds always
  Term term;                     ///< of a term
  std::size_t number = 0;        ///< of a term: how many come before it
  std::size_t position = 0;      ///< in the text, in bytes
  std::size_t length = 0;        ///< of a term
  bool operator==(const Condition& other) const {
    return kind == other.kind && parts == other.parts && term == other.term;
  }
  bool always() const { return kind == Kind::all && parts.empty(); }
};

/// A text that is not a condition: a sentence, and where.
struct ConditionError : std::runtime_error {
  ConditionError(std::size_t at, const std::string& sentence) : std::runtime_error(sentence), position(at) {}
  std::size_t position;  ///< in bytes
};

/// The condition that the text says; one of nothing holds always. Throws ConditionError.
Condition parse_condition(std::string_view text);
/// The same where the text only ends too early: what is missing there holds always.
Condition parse_unfinished(std::string_view text);
/// Something in it is there only where an op is: Python names, curves and the line itself are not.
bool looks_at_ops(const Condition& condition);
/// A quantity alone, as log points show: "norm(grad)". Throws ConditionError.
Quantity parse_quantity(std::string_view text);

/// `look(condition)` gives the Verdict of one term.
template <class Look>
Verdict evaluate(const Condition& condition, Look&& look) {
  switch (condition.kind) {
    case Condition::Kind::term:
      return look(condition);
    case Condition::Kind::negation:
      return opposite(evaluate(condition.parts.front(), look));
    case Condition::Kind::all:
    case Condition::Kind::any:
      break;
  }
  const bool all = condition.kind == Condition::Kind::all;
  const Verdict decisive = all ? Verdict::no : Verdict::yes;
  Verdict verdict = all ? Verdict::yes : Verdict::no;
  for (const Condition& part : condition.parts) {
    const Verdict one = evaluate(part, look);
    if (one == decisive) return one;
    verdict = all ? std::min(verdict, one) : std::max(verdict, one);
  }
  return verdict;
}

/// Calls `visit(condition)` for each term, in the order of the text.
template <class Any, class Visit>
void for_each_term(Any& condition, Visit&& visit) {
  if (condition.kind == Condition::Kind::term) visit(condition);
  for (auto& part : condition.parts) for_each_term(part, visit);
}
/// Gives the terms their numbers; returns how many there are.
std::size_t number_terms(Condition& condition);

/// What a value term asks of one tensor.
struct TensorFacts {
  std::span<const std::int64_t> shape;
  std::string_view dtype;
  std::uint64_t size = 0, bytes = 0;
};
/// The tensors of one op. Spans of nullptr with `known` false: not there yet.
struct OpFacts {
  std::span<const TensorFacts> inputs, outputs;
  bool outputs_known = true;
  bool gives_gradients = false;  ///< a VJP or a playback
  /// One quantity of one tensor; nothing where its value is not at hand.
  std::function<std::optional<double>(bool output, std::size_t index, const Quantity&)> measure;
  NameLookup name;  ///< empty: no Python program runs, and terms with a name are unknown
};
/// Throws what `op.name` throws, and NameError where the name holds no number.
Verdict evaluate(const ValueTerm& term, const OpFacts& op);

/// Where it asks for bookmarks, which only ops that ran have: the error for all but filters.
std::optional<ConditionError> bookmarks_error(const Condition& condition);

/// What may be written in a condition, for completion and for error messages.
std::span<const std::string_view> part_names();      ///< "op" …
std::span<const std::string_view> number_names();    ///< "record" …
std::span<const std::string_view> flag_names();      ///< "forward" …
std::span<const std::string_view> function_names();  ///< "nan" …
std::span<const std::string_view> property_names();  ///< "shape" …

/// UTF-8 in lower case: Latin, Greek and Cyrillic letters; other bytes as they are.
std::string folded(std::string_view text);
/// Of one element, by the name's bits: "bfloat16" 2; 1 for a name without.
std::uint64_t bytes_of_dtype(std::string_view name);
/// Whether all of `text` matches `pattern`, where * matches anything. Both folded.
bool matches_pattern(std::string_view pattern, std::string_view text);

}  // namespace tapedeck::protocol
