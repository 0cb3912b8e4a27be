#include "engine/protocol/formula.h"

#include <algorithm>
#include <array>

#include "engine/protocol/formula_tokens.h"

namespace tapedeck::protocol {
namespace {

using detail::FormulaToken;
using Token = FormulaToken::Kind;
using Kind = FormulaNode::Kind;
using Tokens = std::span<const FormulaToken>;

constexpr std::size_t deepest_formula = 32;
/// Functions that are written without brackets: ln x.
constexpr std::array<std::string_view, 6> prefixes = {"ln", "sin", "cos", "sinh", "cosh", "exp"};

bool is(const FormulaToken& token, std::string_view text) {
  return token.text == text && (token.kind == Token::sign || token.kind == Token::name);
}

/// One letter, perhaps with digits: x, A, x1.
bool is_letter_name(std::string_view name) {
  const bool ascii = static_cast<unsigned char>(name[0]) < 0x80;
  if (!ascii) return true;  // a Greek letter
  return std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class FormulaParser {
 public:
  FormulaParser(std::string_view text, std::span<const std::string> names) : text_(text), names_(names) {}

  Formula formula(const std::vector<FormulaToken>& all) {
    Formula result;
    Tokens rest = all;
    while (!rest.empty()) {
      const std::size_t length = statement_length(rest);
      if (length == 0) refuse("there is nothing between two separators", rest[0]);
      add_statement(rest.first(length), result);
      rest = rest.subspan(length);
      if (!rest.empty() && rest[0].kind == Token::sign) rest = rest.subspan(1);  // "with" is none
    }
    return result;
  }

  FormulaNode row(Tokens tokens, std::size_t depth = 0) {
    FormulaNode result;
    std::size_t product = 0;  // where the present product begins
    while (!tokens.empty()) {
      const FormulaToken& token = tokens[0];
      if (is(token, "/") && token.kind == Token::sign) {
        divide(tokens, result, product, depth);
        continue;
      }
      FormulaNode node = factor(tokens, depth);
      const bool multiplies =
          node.kind != Kind::word && (node.kind != Kind::sign || node.text == "·" || node.text == "Σ" ||
                                      node.text == "Π" || node.text == "∘" || node.text == "⋆");
      result.parts.push_back(std::move(node));
      if (!multiplies) product = result.parts.size();
    }
    return result;
  }

 private:
  [[noreturn]] void refuse(const std::string& what, const FormulaToken& where) const {
    throw FormulaError("formula '" + std::string(text_) + "', position " + std::to_string(where.position) +
                       ": " + what);
  }

  bool known(const std::string& name) const {
    return std::find(names_.begin(), names_.end(), name) != names_.end();
  }

  /// Tokens up to the bracket that closes the one they begin with, both included.
  std::size_t group_length(Tokens tokens) const {
    int depth = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      depth += tokens[i].kind == Token::open;
      depth -= tokens[i].kind == Token::close;
      if (depth == 0) return i + 1;
    }
    refuse("a bracket is not closed", tokens[0]);
  }

  /// How many tokens are a gradient's: dx, or d(name); 0: none.
  std::size_t gradient_length(Tokens tokens) const {
    if (tokens[0].kind != Token::name || known(tokens[0].text)) return 0;
    const std::string& name = tokens[0].text;
    if (name == "d" && tokens.size() >= 4 && tokens[1].kind == Token::open && !tokens[1].spaced &&
        tokens[2].kind == Token::name && tokens[3].kind == Token::close)
      return 4;
    return name.size() >= 2 && name[0] == 'd' && is_letter_name(std::string_view(name).substr(1)) &&
                   name[1] != '_' && !(name[1] >= '0' && name[1] <= '9')
               ? 1
               : 0;
  }

  std::string gradient_of(Tokens tokens, std::size_t length) const {
    return length == 4 ? tokens[2].text : tokens[0].text.substr(1);
  }

  /// Behind the name that a statement begins with: its indices.
  std::size_t behind_indices(Tokens tokens, std::size_t at) const {
    while (at < tokens.size() &&
           (tokens[at].kind == Token::lowered || (tokens[at].kind == Token::open && tokens[at].text == "[")))
      at += tokens[at].kind == Token::lowered ? 1 : group_length(tokens.subspan(at));
    return at;
  }

  /// How long the left side of a statement is that these tokens begin with; 0: they begin none.
  std::size_t left_length(Tokens tokens) const {
    if (tokens.empty() || tokens[0].kind != Token::name) return 0;
    const std::size_t gradient = gradient_length(tokens);
    const std::size_t end = behind_indices(tokens, gradient ? gradient : 1);
    const bool ends = end < tokens.size() && (is(tokens[end], "=") || (is(tokens[end], ":") && !gradient));
    // "x = y" in a condition follows no separator, so a name before "=" is one that is explained.
    return ends ? end : 0;
  }

  static bool none_follows(Tokens tokens) {
    return tokens.size() > 2 && is(tokens[0], "none") && is(tokens[1], "for");
  }

  bool begins_statement(Tokens tokens) const {
    return !tokens.empty() && (left_length(tokens) > 0 || none_follows(tokens) || is(tokens[0], "with"));
  }

  std::size_t statement_length(Tokens tokens) const {
    const bool naming = is(tokens[0], "with");
    int depth = 0;
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      depth += tokens[i].kind == Token::open;
      depth -= tokens[i].kind == Token::close;
      if (depth > 0) continue;
      if (is(tokens[i], ";")) return i;
      if (is(tokens[i], ",") && begins_statement(tokens.subspan(i + 1))) return i;
      if (naming && is(tokens[i], ":") && left_length(tokens.subspan(1)) == 0) return i;
      if (i > 0 && is(tokens[i], "with")) return i;
    }
    return tokens.size();
  }

  void add_statement(Tokens tokens, Formula& formula) {
    FormulaStatement statement;
    if (is(tokens[0], "with")) {
      tokens = tokens.subspan(1);
      if (left_length(tokens) == 0) return add_namings(tokens, formula);
    }
    if (none_follows(tokens)) {
      statement.kind = FormulaStatement::Kind::none_for;
      statement.right = row(tokens);
      for (const FormulaToken& token : tokens.subspan(1))
        if (token.kind == Token::name && token.text != "for" && token.text != "and")
          statement.names.push_back(token.text);
    } else if (const std::size_t left = left_length(tokens); left > 0) {
      if (left + 1 == tokens.size()) refuse("nothing follows", tokens[left]);
      const std::size_t gradient = gradient_length(tokens);
      statement.kind = gradient                ? FormulaStatement::Kind::gradient
                       : is(tokens[left], "=") ? FormulaStatement::Kind::helper
                                               : FormulaStatement::Kind::explanation;
      statement.subject = gradient ? gradient_of(tokens, gradient) : tokens[0].text;
      statement.left = row(tokens.first(left));
      statement.right = row(tokens.subspan(left + 1));
    } else {
      statement.right = row(tokens);
    }
    formula.statements.push_back(std::move(statement));
  }

  /// "A matrix, B rhs".
  void add_namings(Tokens tokens, Formula& formula) {
    while (!tokens.empty()) {
      if (tokens.size() < 2 || tokens[0].kind != Token::name || tokens[1].kind != Token::name)
        refuse("a symbol and an input's name must follow 'with'", tokens[0]);
      FormulaStatement statement;
      statement.kind = FormulaStatement::Kind::naming;
      statement.subject = tokens[0].text;
      statement.input = tokens[1].text;
      statement.right = row(tokens.first(2));
      formula.statements.push_back(std::move(statement));
      tokens = tokens.subspan(2);
      if (!tokens.empty() && !is(tokens[0], ",")) refuse("a comma must follow", tokens[0]);
      if (!tokens.empty()) tokens = tokens.subspan(1);
    }
  }

  void divide(Tokens& tokens, FormulaNode& row, std::size_t product, std::size_t depth) {
    const FormulaToken slash = tokens[0];
    tokens = tokens.subspan(1);
    if (row.parts.size() <= product || tokens.empty()) refuse("a fraction lacks a side", slash);
    FormulaNode fraction;
    fraction.kind = Kind::fraction;
    const std::size_t from = slash.spaced ? product : row.parts.size() - 1;
    fraction.spaced = row.parts[from].spaced;
    FormulaNode above;
    above.parts.assign(row.parts.begin() + static_cast<std::ptrdiff_t>(from), row.parts.end());
    row.parts.resize(from);
    fraction.parts.push_back(std::move(above));
    fraction.parts.push_back(factor(tokens, depth));
    row.parts.push_back(std::move(fraction));
  }

  /// A primary with what is raised, lowered or in brackets behind it.
  FormulaNode factor(Tokens& tokens, std::size_t depth) {
    FormulaNode node = primary(tokens, depth);
    const bool scripted = node.kind != Kind::sign || node.text == "Σ" || node.text == "Π" || node.text == "⋆";
    while (scripted && !tokens.empty()) {
      const FormulaToken& next = tokens[0];
      if (next.kind == Token::raised || next.kind == Token::lowered) {
        node = shifted(std::move(node), next.kind, detail::formula_tokens(next.text), depth);
        tokens = tokens.subspan(1);
      } else if (is(next, "^")) {
        tokens = tokens.subspan(1);
        if (tokens.empty() || tokens[0].kind != Token::open) refuse("brackets must follow ^", next);
        const std::size_t length = group_length(tokens);
        const Tokens inside = tokens.subspan(1, length - 2);
        node = shifted(std::move(node), Token::raised, {inside.begin(), inside.end()}, depth);
        tokens = tokens.subspan(length);
      } else if (next.kind == Token::open && !next.spaced && next.text != "|" && next.text != "⌊" &&
                 node.kind != Kind::number) {
        FormulaNode call;
        call.spaced = node.spaced;
        FormulaNode arguments = group(tokens, depth);
        call.parts.push_back(std::move(node));
        call.parts.push_back(std::move(arguments));
        node = std::move(call);
      } else {
        break;
      }
    }
    return node;
  }

  FormulaNode shifted(FormulaNode base, Token kind, const std::vector<FormulaToken>& script,
                      std::size_t depth) {
    FormulaNode node;
    node.kind = kind == Token::raised ? Kind::superscript : Kind::subscript;
    node.spaced = base.spaced;
    node.parts.push_back(std::move(base));
    node.parts.push_back(row(script, depth + 1));
    return node;
  }

  FormulaNode group(Tokens& tokens, std::size_t depth) {
    const std::size_t length = group_length(tokens);
    FormulaNode node;
    node.kind = Kind::group;
    node.text = tokens[0].text;
    node.spaced = tokens[0].spaced;
    node.parts.push_back(row(tokens.subspan(1, length - 2), depth + 1));
    tokens = tokens.subspan(length);
    return node;
  }

  FormulaNode primary(Tokens& tokens, std::size_t depth) {
    const FormulaToken token = tokens[0];
    if (depth > deepest_formula) refuse("it is nested too deeply", token);
    if (token.kind == Token::open) return group(tokens, depth);
    FormulaNode node;
    node.text = token.text;
    node.spaced = token.spaced;
    const std::size_t gradient = gradient_length(tokens);
    if (gradient) {
      node.kind = Kind::gradient;
      node.text = gradient_of(tokens, gradient);
      tokens = tokens.subspan(gradient);
      return node;
    }
    tokens = tokens.subspan(1);
    if (token.kind == Token::number) {
      node.kind = Kind::number;
    } else if (token.kind == Token::name) {
      const bool prefix = std::find(prefixes.begin(), prefixes.end(), token.text) != prefixes.end();
      node.kind = known(token.text) || is_letter_name(token.text) ? Kind::symbol : Kind::word;
      if (prefix && !tokens.empty() && tokens[0].spaced && tokens[0].kind != Token::sign) {
        FormulaNode call;
        call.spaced = token.spaced;
        call.parts.push_back(std::move(node));
        call.parts.push_back(factor(tokens, depth + 1));
        return call;
      }
    } else if (is(token, "√")) {
      if (tokens.empty()) refuse("nothing follows the root", token);
      node.kind = Kind::root;
      node.text.clear();
      node.parts.push_back(factor(tokens, depth + 1));
    } else if (is(token, "∂")) {
      if (tokens.empty()) refuse("nothing follows ∂", token);
      FormulaNode sign = node;
      sign.kind = Kind::sign;
      node.text.clear();
      node.parts = {std::move(sign), factor(tokens, depth + 1)};
    } else {
      node.kind = Kind::sign;
      if (token.kind == Token::raised || token.kind == Token::lowered)
        refuse("a superscript or subscript has no base", token);
    }
    return node;
  }

  std::string_view text_;
  std::span<const std::string> names_;
};

}  // namespace

std::string_view closing_bracket(std::string_view opening) {
  return opening == "(" ? ")" : opening == "[" ? "]" : opening == "⌊" ? "⌋" : "|";
}

Formula parse_formula(std::string_view text, std::span<const std::string> names) {
  if (text == "none") return {};
  const std::vector<FormulaToken> tokens = detail::formula_tokens(text);
  if (tokens.empty()) throw FormulaError("a formula is empty");
  return FormulaParser(text, names).formula(tokens);
}

FormulaNode parse_expression(std::string_view text, std::span<const std::string> names) {
  return FormulaParser(text, names).row(detail::formula_tokens(text));
}

}  // namespace tapedeck::protocol
