#include "engine/debug/vjp/bound_formula.h"

#include <algorithm>
#include <array>
#include <set>

namespace tapedeck::debug {
namespace {

using protocol::FormulaNode;
using protocol::FormulaStatement;
using NodeKind = FormulaNode::Kind;
using StatementKind = FormulaStatement::Kind;

/// Letters that mean the same in every formula: constants, indices, the identity, an element of a set.
constexpr std::array<std::string_view, 8> constants = {"π", "e", "I", "i", "j", "k", "s", "p"};

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return result;
}

template <class List>
bool has(const List& list, std::string_view name) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

/// Symbols of values and gradients; functions are those that brackets follow.
struct Mentions {
  std::set<std::string> symbols, functions, gradients;
};

/// The raised T of a transpose and H of an adjoint are not symbols, and the indices are none.
bool is_mark(const FormulaNode& script) {
  return script.parts.size() >= 1 && (script.parts.back().text == "T" || script.parts.back().text == "H");
}

void collect(const FormulaNode& node, Mentions& mentions) {
  if (node.kind == NodeKind::symbol) mentions.symbols.insert(node.text);
  if (node.kind == NodeKind::gradient) mentions.gradients.insert(node.text);
  const bool call = node.kind == NodeKind::row && node.parts.size() == 2 &&
                    node.parts[1].kind == NodeKind::group && node.parts[1].text == "(" &&
                    !node.parts[1].spaced;
  for (std::size_t i = 0; i < node.parts.size(); ++i) {
    const bool script = i == 1 && (node.kind == NodeKind::subscript || node.kind == NodeKind::superscript);
    if (script && (node.kind == NodeKind::subscript || is_mark(node.parts[i]))) continue;
    if (call && i == 0 && node.parts[0].kind == NodeKind::symbol)
      mentions.functions.insert(node.parts[0].text);
    else
      collect(node.parts[i], mentions);
  }
}

class Binder {
 public:
  Binder(const OpDef& op, std::size_t inputs, std::size_t outputs) : op_(op) {
    bound_.inputs.resize(inputs);
    bound_.subjects.resize(inputs);
    bound_.outputs.resize(outputs);
    bound_.reads_output.resize(outputs);
  }

  BoundFormula bind() {
    for (const InputSpec& input : op_.inputs) bound_.names.push_back(input.name);
    for (const AttributeSpec& attribute : op_.attributes) bound_.names.push_back(attribute.name);
    for (const std::string& field : op_.results.fields) bound_.names.push_back(field);
    try {
      bound_.formula = protocol::parse_formula(op_.vjp_formula, bound_.names);
    } catch (const protocol::FormulaError& error) {
      bound_.problems.push_back(error.what());
    }
    bind_inputs();
    for (const FormulaStatement& statement : bound_.formula.statements) collect(statement.right, mentions_);
    bind_outputs();
    note_values();
    check_gradients();
    return std::move(bound_);
  }

 private:
  std::size_t spec_of(std::size_t input) const {
    return op_.inputs.empty() ? 0 : std::min(input, op_.inputs.size() - 1);
  }

  /// By its name, by the formula's naming, or because there is but one.
  std::size_t input_named(const std::string& subject) const {
    for (const auto& statement : bound_.formula.statements)
      if (statement.kind == StatementKind::naming && statement.subject == subject)
        return input_named(statement.input);
    for (std::size_t i = 0; i < op_.inputs.size(); ++i)
      if (op_.inputs[i].name == subject) return i;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i)
      if (lower(op_.inputs[i].name) == lower(subject)) return i;
    return op_.inputs.size();
  }

  void bind_inputs() {
    std::vector<std::string> symbols;
    for (const InputSpec& input : op_.inputs) symbols.push_back(input.name);
    for (const auto& statement : bound_.formula.statements) {
      if (statement.kind != StatementKind::gradient && statement.kind != StatementKind::naming) continue;
      std::size_t place = input_named(statement.subject);
      if (place == op_.inputs.size() && op_.inputs.size() == 1) place = 0;
      if (place == op_.inputs.size()) {
        bound_.problems.push_back("d" + statement.subject + " is the gradient of no input");
        continue;
      }
      symbols[place] = statement.subject;
      if (statement.kind == StatementKind::gradient) with_gradient_.insert(place);
    }
    for (std::size_t i = 0; i < bound_.inputs.size() && !symbols.empty(); ++i) {
      const std::size_t spec = spec_of(i);
      bound_.subjects[i] = bound_.inputs[i] = symbols[spec];
      if (op_.inputs[spec].variadic) bound_.inputs[i] += std::to_string(i - spec);
    }
  }

  bool is_input(const std::string& name) const { return has(bound_.subjects, name); }
  bool is_declared(const std::string& name) const {
    return std::any_of(op_.inputs.begin(), op_.inputs.end(),
                       [&](const InputSpec& input) { return input.name == name; });
  }

  void bind_outputs() {
    auto& outputs = bound_.outputs;
    std::string only;  // what the formula calls the one output
    for (const std::string& name : mentions_.gradients) {
      if (is_input(name)) continue;
      const bool field = std::any_of(op_.results.fields.begin(), op_.results.fields.end(),
                                     [&](const std::string& f) { return lower(f) == lower(name); });
      if (!field && !bound_.helper(name) && op_.results.fields.empty()) only = name;
      if (!field && !bound_.helper(name) && !op_.results.fields.empty() && !part_of_output(name))
        bound_.problems.push_back("d" + name + " is the gradient of no output");
    }
    if (only.empty()) only = "z";
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      if (i < op_.results.fields.size()) {
        outputs[i] = op_.results.fields[i];
        for (const std::string& name : mentions_.gradients)
          if (lower(name) == outputs[i]) outputs[i] = name;
      } else {
        outputs[i] = outputs.size() == 1 ? only : only + std::to_string(i);
      }
    }
  }

  /// L and U are parts of lu.
  bool part_of_output(const std::string& name) const {
    return std::any_of(op_.results.fields.begin(), op_.results.fields.end(), [&](const std::string& field) {
      return name.size() == 1 && field.size() == 2 && field.find(lower(name)) != std::string::npos;
    });
  }

  void note_values() {
    for (const std::string& name : mentions_.symbols) {
      if (is_input(name) || is_declared(name)) continue;
      bool found = bound_.helper(name) != nullptr || part_of_output(name);
      for (std::size_t i = 0; i < bound_.outputs.size(); ++i)
        if (lower(bound_.outputs[i]) == lower(name) || bound_.outputs[i] == name + std::to_string(i))
          bound_.reads_output[i] = found = true;
      for (std::size_t i = 0; i < op_.attributes.size(); ++i)
        if (op_.attributes[i].name == name) {
          bound_.attributes.push_back(i);
          found = true;
        }
      for (const auto& statement : bound_.formula.statements)
        found = found || (statement.kind == StatementKind::naming && statement.subject == name);
      if (found) continue;
      if (name == "n")
        bound_.counts = true;
      else if (!has(constants, name) && !is_greek(name))
        bound_.problems.push_back("'" + name + "' has no meaning");
    }
  }

  /// λ and α of selu are constants of its definition.
  static bool is_greek(const std::string& name) { return static_cast<unsigned char>(name[0]) >= 0x80; }

  void check_gradients() {
    if (!op_.vjp || op_.vjp_formula == "none") return;
    for (std::size_t i = 0; i < op_.inputs.size(); ++i) {
      bool said = with_gradient_.contains(i) || op_.inputs[i].group == '\0';
      for (const auto& statement : bound_.formula.statements)
        said = said || (statement.kind == StatementKind::none_for &&
                        std::any_of(statement.names.begin(), statement.names.end(),
                                    [&](const std::string& name) { return input_named(name) == i; }));
      if (!said) bound_.problems.push_back("there is no formula for the gradient of " + op_.inputs[i].name);
    }
  }

  const OpDef& op_;
  BoundFormula bound_;
  Mentions mentions_;
  std::set<std::size_t> with_gradient_;  ///< places in op_.inputs
};

}  // namespace

const FormulaStatement* BoundFormula::gradient_of(std::size_t input) const {
  if (input >= subjects.size()) return nullptr;
  for (const FormulaStatement& statement : formula.statements)
    if (statement.kind == StatementKind::gradient && statement.subject == subjects[input]) return &statement;
  return nullptr;
}

const FormulaStatement* BoundFormula::helper(const std::string& name) const {
  for (const FormulaStatement& statement : formula.statements)
    if ((statement.kind == StatementKind::helper || statement.kind == StatementKind::explanation) &&
        statement.subject == name)
      return &statement;
  return nullptr;
}

BoundFormula bind_formula(const OpDef& op, std::size_t inputs, std::size_t outputs) {
  return Binder(op, inputs, outputs).bind();
}

BoundFormula bind_call(const OpDef* op, std::size_t inputs, std::size_t outputs) {
  if (op) return bind_formula(*op, inputs, outputs);
  BoundFormula bound;
  const auto numbered = [](const char* letter, std::size_t i, std::size_t count) {
    return count == 1 ? std::string(letter) : letter + std::to_string(i);
  };
  for (std::size_t i = 0; i < inputs; ++i) bound.inputs.push_back(numbered("x", i, inputs));
  for (std::size_t i = 0; i < outputs; ++i) bound.outputs.push_back(numbered("z", i, outputs));
  bound.subjects = bound.inputs;
  bound.reads_output.resize(outputs);
  return bound;
}

}  // namespace tapedeck::debug
