// Ops of another framework (PyTorch) as rows of the registry, made from the text of their schemas:
// "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)". Such a row describes
// an op that ran; it has no shape rule of its own, no VJP, and runs only where the framework's host is (see
// set_foreign_forward).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/core/op.h"

namespace tapedeck {

/// An argument or a result, as the schema writes it.
struct ForeignValue {
  std::string name;        ///< empty for a result without one
  std::string type;        ///< without alias annotations: "Tensor", "Tensor?[]", "int[2]", "ScalarType?"
  std::string alias;       ///< the set of aliases it belongs to: "a"; empty: none
  bool written = false;    ///< the op writes into it: "(a!)"
  bool is_tensor = false;  ///< a tensor, an optional one, or a list of them
  bool is_list = false;    ///< of tensors
  /// Position in OpDef::inputs or OpDef::attributes.
  std::size_t place = 0;
  bool has_default = false;
  bool by_name = false;  ///< after the "*": given by name alone
};

struct ForeignOp {
  const OpDef* row = nullptr;
  std::string schema;
  std::vector<ForeignValue> arguments, results;
  /// The op of the registry that computes the same, for formulas and facts; nullptr: there is none.
  const OpDef* counterpart = nullptr;
  /// Whether it writes into one of its arguments.
  bool writes = false;
};

/// The row of that schema, registered at its first use. Thread-safe. Throws InvalidArgumentError for a text
/// that is no schema. A second schema of one name gets a number behind it.
const ForeignOp& foreign_op(std::string_view schema);
/// nullptr for an op of the engine's own.
const ForeignOp* foreign_of(const OpDef& op);
/// Cheap enough for every op.
bool is_foreign(const OpDef& op);
/// Of ops that a playback runs by itself, in no VJP: whether a step stops at it. Sums of gradients are such,
/// and in PyTorch's graphs the arrival of a gradient at its variable.
bool is_stop_of_playback(const OpDef& op);
/// "aten.add_.Tensor"; without the overload's name where it is the default one: "aten.mm".
std::string foreign_name(std::string_view qualified_name);

/// Runs such an op again. Only a process with the other framework can.
using ForeignForward = Tensors (*)(const ForeignOp& op, const OpContext& context);
void set_foreign_forward(ForeignForward forward);

/// The op of the registry that computes what ATen's op of that base name ("add", "add_", "_softmax") does,
/// with the names of its arguments that are the row's inputs, in the row's order.
struct Counterpart {
  const char* aten;
  const char* op;
  const char* inputs;  ///< "self other"
};
const Counterpart* counterpart_of(std::string_view aten_name);
/// For tests.
std::vector<Counterpart> all_counterparts();

}  // namespace tapedeck
