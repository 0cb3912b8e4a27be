#include "engine/debug/vjp/formula_values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numbers>
#include <span>

namespace tapedeck::debug {
namespace {

using protocol::FormulaNode;
using Kind = FormulaNode::Kind;
using FormulaParts = std::span<const FormulaNode>;

/// Thrown by what is not arithmetic.
struct NoNumber {};

double sigmoid(double x) {
  return 1 / (1 + std::exp(-x));
}

double call(const std::string& function, double x) {
  static const std::map<std::string, double (*)(double)> functions = {
      {"sin", [](double v) { return std::sin(v); }},
      {"cos", [](double v) { return std::cos(v); }},
      {"sinh", [](double v) { return std::sinh(v); }},
      {"cosh", [](double v) { return std::cosh(v); }},
      {"ln", [](double v) { return std::log(v); }},
      {"exp", [](double v) { return std::exp(v); }},
      {"sigmoid", sigmoid},
      {"σ", sigmoid},
      {"softplus", [](double v) { return std::max(v, 0.0) + std::log1p(std::exp(-std::abs(v))); }},
      {"sign", [](double v) { return double((v > 0) - (v < 0)); }}};
  const auto found = functions.find(function);
  if (found == functions.end()) throw NoNumber();
  return found->second(x);
}

bool is_sign(const FormulaNode& node, std::string_view text) {
  return node.kind == Kind::sign && node.text == text;
}
bool is_word(const FormulaNode& node, std::string_view text) {
  return node.kind == Kind::word && node.text == text;
}

class Evaluator {
 public:
  Evaluator(const BoundFormula& formula, const SymbolValue& value) : formula_(formula), value_(value) {}

  double row(FormulaParts parts) {
    const auto where =
        std::find_if(parts.begin(), parts.end(), [](const auto& part) { return is_word(part, "where"); });
    if (where == parts.end()) return with_exception(parts);
    const FormulaParts before(parts.begin(), where), after(where + 1, parts.end());
    const auto comma =
        std::find_if(after.begin(), after.end(), [](const auto& part) { return is_sign(part, ","); });
    const bool holds = condition(FormulaParts(after.begin(), comma));
    // "a, but b where c"
    for (std::size_t i = 0; i + 1 < before.size(); ++i)
      if (is_sign(before[i], ",") && is_word(before[i + 1], "but"))
        return holds ? sum(before.subspan(i + 2)) : sum(before.first(i));
    if (comma == after.end() || comma + 1 == after.end() || !is_word(comma[1], "else")) throw NoNumber();
    return holds ? sum(before) : sum(FormulaParts(comma + 2, after.end()));
  }

 private:
  /// "a (b where c)".
  double with_exception(FormulaParts parts) {
    if (parts.size() > 1 && parts.back().kind == Kind::group && parts.back().spaced) {
      const FormulaParts inside = parts.back().parts[0].parts;
      const auto where =
          std::find_if(inside.begin(), inside.end(), [](const auto& part) { return is_word(part, "where"); });
      if (where != inside.end()) {
        if (condition(FormulaParts(where + 1, inside.end()))) return sum(FormulaParts(inside.begin(), where));
        return sum(parts.first(parts.size() - 1));
      }
    }
    return sum(parts);
  }

  bool condition(FormulaParts parts) {
    if (parts.size() == 1) return factor(parts[0]) != 0;
    bool holds = true, compared = false;
    std::size_t start = 0;
    double left = 0;
    std::string relation;
    const auto compare = [&](double right) {
      if (relation == "<") holds = holds && left < right;
      if (relation == ">") holds = holds && left > right;
      if (relation == "≤") holds = holds && left <= right;
      if (relation == "≥") holds = holds && left >= right;
      if (relation == "=") holds = holds && left == right;
      if (relation == "≠") holds = holds && left != right;
    };
    for (std::size_t i = 0; i <= parts.size(); ++i) {
      const bool relates = i < parts.size() && parts[i].kind == Kind::sign &&
                           (parts[i].text == "<" || parts[i].text == ">" || parts[i].text == "≤" ||
                            parts[i].text == "≥" || parts[i].text == "=" || parts[i].text == "≠");
      if (!relates && i < parts.size()) continue;
      const double right = sum(parts.subspan(start, i - start));
      if (!relation.empty()) compare(right), compared = true;
      left = right;
      relation = relates ? parts[i].text : "";
      start = i + 1;
    }
    if (!compared) throw NoNumber();
    return holds;
  }

  double sum(FormulaParts parts) {
    if (parts.empty()) throw NoNumber();
    double total = 0;
    std::size_t start = 0;
    double sign = 1;
    if (is_sign(parts[0], "−")) sign = -1, start = 1;
    for (std::size_t i = start; i <= parts.size(); ++i) {
      const bool adds = i < parts.size() && (is_sign(parts[i], "+") || is_sign(parts[i], "−"));
      if (!adds && i < parts.size()) continue;
      total += sign * product(parts.subspan(start, i - start));
      if (adds) sign = parts[i].text == "+" ? 1 : -1;
      start = i + 1;
    }
    return total;
  }

  double product(FormulaParts parts) {
    if (parts.empty()) throw NoNumber();
    double total = 1;
    for (const FormulaNode& part : parts) {
      if (is_sign(part, "·")) continue;
      total *= factor(part);
    }
    return total;
  }

  double factor(const FormulaNode& node) {
    switch (node.kind) {
      case Kind::number:
        return node.text == "½" ? 0.5 : std::stod(node.text);
      case Kind::symbol:
      case Kind::gradient:
        return symbol(node);
      case Kind::group:
        if (node.text == "[") throw NoNumber();
        if (node.text == "|") return std::abs(sum(node.parts[0].parts));
        if (node.text == "⌊") return std::floor(sum(node.parts[0].parts));
        return row(node.parts[0].parts);
      case Kind::fraction:
        return sum(node.parts[0].parts) / factor(node.parts[1]);
      case Kind::root:
        return std::sqrt(factor(node.parts[0]));
      case Kind::superscript:
        return power(node);
      case Kind::row:
        return function(node);
      default:
        throw NoNumber();
    }
  }

  double symbol(const FormulaNode& node) {
    const bool gradient = node.kind == Kind::gradient;
    if (const auto value = value_(node.text, gradient)) return *value;
    if (gradient) throw NoNumber();
    if (node.text == "π") return std::numbers::pi;
    if (node.text == "e") return std::numbers::e;
    const auto* helper = formula_.helper(node.text);
    if (!helper || helper->kind != protocol::FormulaStatement::Kind::helper || depth_ > 8) throw NoNumber();
    ++depth_;
    const double result = row(helper->right.parts);
    --depth_;
    return result;
  }

  double power(const FormulaNode& node) {
    const FormulaParts script = node.parts[1].parts;
    if (script.size() == 1 && (script[0].text == "T" || script[0].text == "H")) throw NoNumber();
    return std::pow(factor(node.parts[0]), sum(script));
  }

  /// A function and its argument; or what has no brackets around it.
  double function(const FormulaNode& node) {
    if (node.parts.size() != 2) return row(node.parts);
    const FormulaNode &name = node.parts[0], &argument = node.parts[1];
    if (name.kind != Kind::word && name.kind != Kind::symbol) throw NoNumber();
    return call(name.text, argument.kind == Kind::group ? sum(argument.parts[0].parts) : factor(argument));
  }

  const BoundFormula& formula_;
  const SymbolValue& value_;
  int depth_ = 0;
};

bool stands_close(const FormulaNode& node) {
  return is_sign(node, "·") || is_sign(node, "∘");
}

std::string row_text(const FormulaNode& row, const SymbolText& text) {
  std::string result;
  for (std::size_t i = 0; i < row.parts.size(); ++i) {
    const FormulaNode& part = row.parts[i];
    if (i > 0 && part.spaced && !stands_close(part)) result += ' ';
    result += to_text(part, text);
  }
  return result;
}

std::string script_text(const FormulaNode& node, const SymbolText& text) {
  static const std::map<std::string, std::string> raised = {
      {"T", "ᵀ"}, {"H", "ᴴ"}, {"2", "²"}, {"3", "³"}, {"−1", "⁻¹"}};
  static const std::map<std::string, std::string> lowered = {{"i", "ᵢ"}, {"j", "ⱼ"}, {"k", "ₖ"}};
  const std::string base = to_text(node.parts[0], text), script = row_text(node.parts[1], text);
  const auto& known = node.kind == Kind::superscript ? raised : lowered;
  if (const auto found = known.find(script); found != known.end()) return base + found->second;
  return node.kind == Kind::superscript ? base + "^(" + script + ")" : base;
}

}  // namespace

std::optional<double> evaluate(const FormulaNode& expression, const BoundFormula& formula,
                               const SymbolValue& value) {
  try {
    return Evaluator(formula, value).row(expression.parts);
  } catch (const NoNumber&) {
    return std::nullopt;
  }
}

std::string to_text(const FormulaNode& node, const SymbolText& text) {
  switch (node.kind) {
    case Kind::symbol:
    case Kind::gradient: {
      const std::string own = node.kind == Kind::symbol ? node.text
                              : node.text.size() == 1   ? "d" + node.text
                                                        : "d(" + node.text + ")";
      const std::string other = text(node.text, node.kind == Kind::gradient);
      return other.empty() ? own : other;
    }
    case Kind::number:
    case Kind::word:
    case Kind::sign:
      return node.text;
    case Kind::group:
      return node.text + row_text(node.parts[0], text) + std::string(protocol::closing_bracket(node.text));
    case Kind::fraction: {
      const bool product = node.parts[0].parts.size() > 1;
      return row_text(node.parts[0], text) + (product ? " / " : "/") + to_text(node.parts[1], text);
    }
    case Kind::root:
      return "√" + to_text(node.parts[0], text);
    case Kind::superscript:
    case Kind::subscript:
      return script_text(node, text);
    case Kind::row:
      break;
  }
  return row_text(node, text);
}

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Inf" : "(−Inf)";
  constexpr int past_the_digits = 5;  // "1.562|5": a point and four digits
  char digits[64];
  std::snprintf(digits, sizeof digits, "%.40e", std::abs(value));
  const std::string_view rest(digits + past_the_digits);
  const bool halfway = rest.starts_with('5') && rest.find_first_not_of('0', 1) == rest.find('e');
  // The window rounds halves up, the C library to even; the same number is beside this one.
  const double shown = halfway ? std::nextafter(std::abs(value), HUGE_VAL) : std::abs(value);
  std::snprintf(digits, sizeof digits, "%.4g", shown);
  return std::signbit(value) && value != 0 ? "(−" + std::string(digits) + ")" : digits;
}

}  // namespace tapedeck::debug
