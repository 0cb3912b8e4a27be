// A VJP's formula with numbers put in: its value, and its text.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/debug/vjp/bound_formula.h"

namespace tapedeck::debug {

/// The number that a symbol (`gradient`: the gradient of what it names) has; nothing: none.
using SymbolValue = std::function<std::optional<double>(const std::string& symbol, bool gradient)>;

/// The expression's value; nothing where it has a symbol without one, prose, or what is not arithmetic on
/// numbers (sums, transposes). Conditions: "a where x > 0, else b", "a, but b where x = 0", "a (b where
/// x = 0)".
std::optional<double> evaluate(const protocol::FormulaNode& expression, const BoundFormula& formula,
                               const SymbolValue& value);

/// The text that replaces a symbol; empty: its own.
using SymbolText = std::function<std::string(const std::string& symbol, bool gradient)>;

/// The expression as text that parse_expression reads again.
std::string to_text(const protocol::FormulaNode& expression, const SymbolText& text);

/// A number as the formulas have it: four digits, a negative one in brackets.
std::string number_text(double value);

}  // namespace tapedeck::debug
