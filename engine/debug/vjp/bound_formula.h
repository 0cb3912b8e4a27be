// Which tensor or attribute each symbol of a VJP's formula names.
#pragma once

#include <string>
#include <vector>

#include "engine/ops/core/op.h"
#include "engine/protocol/formula.h"

namespace tapedeck::debug {

/// A gradient's symbol means one thing in all formulas: dx, dy, d(logits) are gradients of inputs; dz, dC and
/// d(mean) are cotangents, named after the outputs. The output of an op that gives it no name is z; of
/// matrices a capital letter.
struct BoundFormula {
  protocol::Formula formula;
  std::vector<std::string> names;       ///< words that are symbols
  std::vector<std::string> inputs;      ///< by input of the call: its symbol; x0, x1, … of a list
  std::vector<std::string> subjects;    ///< by input of the call: what the formula calls it, x
  std::vector<std::string> outputs;     ///< by output of the call: its symbol
  std::vector<bool> reads_output;       ///< by output: the formula names its value
  std::vector<std::size_t> attributes;  ///< that the formula names
  bool counts = false;                  ///< it has an n that it does not explain
  /// What is not right with it, for the test of the registry: symbols without a meaning, floating-point
  /// inputs without a gradient and without "none for".
  std::vector<std::string> problems;

  /// The statement of this input's gradient; nullptr: none.
  const protocol::FormulaStatement* gradient_of(std::size_t input) const;
  /// The statement that explains a helper; nullptr: none.
  const protocol::FormulaStatement* helper(const std::string& name) const;
};

/// `inputs`, `outputs`: how many the call has (a list of tensors counts each). A formula that cannot be read
/// has no statements, and that problem.
BoundFormula bind_formula(const OpDef& op, std::size_t inputs, std::size_t outputs);
/// The same; without an op, which is a function with a custom gradient: symbols alone, x (or x0, x1, …) and
/// z (or z0, z1, …).
BoundFormula bind_call(const OpDef* op, std::size_t inputs, std::size_t outputs);

}  // namespace tapedeck::debug
