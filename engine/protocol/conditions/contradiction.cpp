#include "engine/protocol/conditions/contradiction.h"

#include <array>
#include <cstdio>
#include <limits>
#include <map>

namespace tapedeck::protocol {
namespace {

struct Literal {
  const Term* term = nullptr;
  bool negated = false;
};
using Clause = std::vector<Literal>;

constexpr std::size_t most_clauses = 256;

/// The condition as alternatives, each of terms that must all hold; nothing where there are too many.
std::optional<std::vector<Clause>> alternatives(const Condition& condition, bool negated) {
  if (condition.kind == Condition::Kind::term) return std::vector<Clause>{{{&condition.term, negated}}};
  if (condition.kind == Condition::Kind::negation) return alternatives(condition.parts.front(), !negated);
  const bool all = (condition.kind == Condition::Kind::all) != negated;
  std::vector<Clause> clauses;
  if (all) clauses.emplace_back();
  for (const Condition& part : condition.parts) {
    const auto more = alternatives(part, negated);
    if (!more) return std::nullopt;
    if (!all) {
      clauses.insert(clauses.end(), more->begin(), more->end());
    } else {
      std::vector<Clause> products;
      for (const Clause& left : clauses)
        for (const Clause& right : *more) {
          products.push_back(left);
          products.back().insert(products.back().end(), right.begin(), right.end());
        }
      clauses = std::move(products);
    }
    if (clauses.size() > most_clauses) return std::nullopt;
  }
  return clauses;
}

struct Interval {
  double low = -std::numeric_limits<double>::infinity(), high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  bool empty() const { return low > high || (low == high && (low_open || high_open)); }
  void raise(double value, bool open) {
    if (value > low || (value == low && open)) {
      low = value;
      low_open = open;
    }
  }
  void lower(double value, bool open) {
    if (value < high || (value == high && open)) {
      high = value;
      high_open = open;
    }
  }
  void take(Comparison comparison, double value) {
    switch (comparison) {
      case Comparison::less:
        return lower(value, true);
      case Comparison::less_equal:
        return lower(value, false);
      case Comparison::greater:
        return raise(value, true);
      case Comparison::greater_equal:
        return raise(value, false);
      case Comparison::equal:
        raise(value, false);
        return lower(value, false);
      case Comparison::not_equal:
        return;
    }
  }
};

Comparison opposite(Comparison comparison) {
  constexpr std::array<Comparison, 6> opposites{Comparison::greater_equal, Comparison::greater,
                                                Comparison::not_equal,     Comparison::equal,
                                                Comparison::less,          Comparison::less_equal};
  return opposites[static_cast<std::size_t>(comparison)];
}

class ClauseCheck {
 public:
  explicit ClauseCheck(int line) {
    if (line > 0) numbers_[Number::line].take(Comparison::equal, line);
  }

  std::string reason(const Clause& clause) {
    for (const Literal& literal : clause) {
      if (const auto* flag = std::get_if<Flag>(literal.term)) take(*flag, literal.negated);
      if (const auto* number = std::get_if<NumberTerm>(literal.term)) take(*number, literal.negated);
      if (const auto* text = std::get_if<TextTerm>(literal.term); text && !literal.negated) take(*text);
    }
    if (forward_ && !backward_.empty()) return backward_ + " never runs forward.";
    if (vjp_ && playback_) return "A VJP is not a playback.";
    if (vjp_ && not_vjp_) return "It asks for VJPs and for none.";
    for (const auto& [number, interval] : numbers_)
      if (interval.empty())
        return "No " + std::string(number_names()[static_cast<std::size_t>(number)]) +
               number_text(number, interval);
    for (const std::string& name : exact_ops_)
      for (const TextTerm* other : ops_)
        if (!other->finds(FilterPart::op, name))
          return "No op is called both \"" + name + "\" and \"" + other->text + "\".";
    return {};
  }

 private:
  static std::string number_text(Number number, const Interval& interval) {
    if (number == Number::line) return " fits: it is looked at in one line alone.";
    char text[120];
    std::snprintf(text, sizeof(text), " is both %s %g and %s %g.", interval.low_open ? "above" : "at least",
                  interval.low, interval.high_open ? "below" : "at most", interval.high);
    return text;
  }
  void take(Flag flag, bool negated) {
    switch (flag) {
      case Flag::forward:
      case Flag::backward:
        if ((flag == Flag::forward) != negated)
          forward_ = true;
        else
          backward_ = "What is backward";
        return;
      case Flag::vjp:
        (negated ? not_vjp_ : vjp_) = true;
        if (!negated) backward_ = "A VJP";
        return;
      case Flag::playback:
        if (!negated) {
          playback_ = true;
          backward_ = "A playback";
        }
        return;
      case Flag::failed:
      case Flag::bookmarked:
        return;
    }
  }
  void take(const NumberTerm& term, bool negated) {
    if (term.last) {
      if (negated) return;
      numbers_[term.number].take(Comparison::greater_equal, term.value);
      numbers_[term.number].take(Comparison::less_equal, *term.last);
    } else {
      numbers_[term.number].take(negated ? opposite(term.comparison) : term.comparison, term.value);
    }
  }
  void take(const TextTerm& term) {
    if (term.part != FilterPart::op) return;
    ops_.push_back(&term);
    if (term.exact && term.text.find('*') == std::string::npos) exact_ops_.push_back(term.text);
  }

  bool forward_ = false, vjp_ = false, not_vjp_ = false, playback_ = false;
  std::string backward_;  ///< what is backward
  std::map<Number, Interval> numbers_;
  std::vector<const TextTerm*> ops_;
  std::vector<std::string> exact_ops_;
};

}  // namespace

std::string contradiction_in(const Condition& condition, int line) {
  const auto clauses = alternatives(condition, false);
  if (!clauses) return {};
  std::string first;
  for (const Clause& clause : *clauses) {
    const std::string reason = ClauseCheck(line).reason(clause);
    if (reason.empty()) return {};
    if (first.empty()) first = reason;
  }
  return first.empty() ? first : "It can never hold. " + first;
}

}  // namespace tapedeck::protocol
