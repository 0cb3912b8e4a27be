// The formulas of VJPs, as the registry has them: "dA = dC·Bᵀ, dB = Aᵀ·dC". Read for two purposes: to know
// which tensor a symbol names, and to typeset them.
//
//   formula     none, or statements between "," and ";"
//   statement   GRADIENT = EXPRESSION     dx = …, d(logits) = …, dxᵢ = …, d(data)[i] = …
//               NAME = EXPRESSION         a helper: S = …, Fᵢⱼ = …, also "with s = …"
//               NAME: words               Φ: lower triangle with half of the diagonal
//               with A matrix, B rhs      what the formula calls the inputs, where not by their names
//               none for NAMES            inputs that have no gradient
//               EXPRESSION                a remark on the statement before: both 0 where y = 0
//   expression  symbols (single letters, x1, and the names that the caller knows), their gradients (dx,
//               d(name)), numbers, words, operators, brackets, ᵀ ᴴ ² ⁻¹ and ^(…), ᵢ ₀, √, Σ, Π
//               "a / b", with spaces, divides the whole product before it; "a/b" the factor alone
#pragma once

#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tapedeck::protocol {

struct FormulaNode {
  enum class Kind : std::uint8_t {
    row,       ///< parts side by side
    symbol,    ///< text: "x", "logits"
    gradient,  ///< of what `text` names
    number,
    word,      ///< prose, or a function's name
    sign,      ///< text: an operator, relation, comma, "Σ"
    group,     ///< text: the opening bracket; one part
    fraction,  ///< two parts
    root,      ///< one part
    superscript,
    subscript  ///< two parts: the base, and the subscript
  };
  Kind kind = Kind::row;
  std::string text;
  std::vector<FormulaNode> parts;
  /// There is room before it in the text: words are separated, a sign is a product's or between two terms.
  bool spaced = false;
};

struct FormulaStatement {
  enum class Kind : std::uint8_t { gradient, helper, explanation, naming, none_for, remark };
  Kind kind = Kind::remark;
  /// What it is the gradient of; the helper's or the explained name; the symbol that an input is called by.
  std::string subject;
  std::string input;               ///< naming: the input
  std::vector<std::string> names;  ///< none_for: the inputs
  FormulaNode left, right;
};

struct Formula {
  std::vector<FormulaStatement> statements;  ///< none: there is no gradient
};

/// Names what is wrong, and where.
struct FormulaError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// `names`: words that are symbols, not prose (inputs, outputs, attributes). Throws FormulaError.
Formula parse_formula(std::string_view text, std::span<const std::string> names = {});

/// An expression alone, as "dC[2,7]·B[7,3]" is. Throws FormulaError.
FormulaNode parse_expression(std::string_view text, std::span<const std::string> names = {});

/// The bracket that closes "(", "[", "|" or "⌊".
std::string_view closing_bracket(std::string_view opening);

}  // namespace tapedeck::protocol
