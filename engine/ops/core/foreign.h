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
  std::string name;      ///< empty for a result without one
  std::string type;      ///< without alias annotations: "Tensor", "Tensor?[]", "int[2]", "ScalarType?"
  std::string alias;     ///< the set of aliases it belongs to: "a"; empty: none
  bool written = false;  ///< the op writes into it: "(a!)"
  /// It is written as a whole, and nothing of it is read: by fill_(), copy_(), an `out` argument.
  bool overwritten = false;
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
  /// Its results depend on no tensor's values: zeros_like(), fill_(1), uniform_().
  bool reads_shapes_alone = false;
  /// Nothing wrote what its results hold: empty(), new_empty().
  bool gives_uninitialised = false;
};

/// The row of that schema, registered at its first use. Thread-safe. Throws InvalidArgumentError for a text
/// that is no schema. A second schema of one name gets a number behind it.
const ForeignOp& foreign_op(std::string_view schema);
/// nullptr for an op of the engine's own.
const ForeignOp* foreign_of(const OpDef& op);
/// Whether the op reads the values of that input: not of one that it overwrites, nor of one that only has the
/// shape. True for ops of the engine's own.
bool reads_values_of(const OpDef& op, std::size_t input);
/// Whether nothing wrote what the op's results hold.
bool gives_uninitialised(const OpDef& op);
/// Whether any is there in this process.
bool has_foreign_ops();
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
/// Whether set_foreign_forward() has been called.
bool can_run_foreign();
/// What such an op throws that would draw other random numbers if it ran again.
struct RandomOpError : UnimplementedError {
  using UnimplementedError::UnimplementedError;
};
/// The gradients of such an op's inputs, as the other framework itself computes them; undefined where it has
/// none.
using ForeignGradients = Tensors (*)(const ForeignOp& op, const VjpContext& context);
void set_foreign_gradients(ForeignGradients gradients);
/// Throws UnimplementedError where the other framework is not in this process.
Tensors foreign_gradients(const VjpContext& context);

/// What the other framework's call had beside its declared attributes. They follow these in a record: first
/// the facts' bits, then the lengths of lists of tensors, then the memory (see ForeignMemory).
struct ForeignFacts {
  /// An argument, by its place in the schema, was a number where the schema has a tensor.
  static bool is_number(std::int64_t bits, std::size_t place) {
    return place < most_numbers && (bits >> place & 1) != 0;
  }
  static constexpr std::size_t most_numbers = 30, most_inputs = 30;
  static constexpr std::int64_t number(std::size_t place) {
    return place < most_numbers ? std::int64_t{1} << place : 0;
  }
  /// The record's input requires a gradient; only set where a gradient was possible, and others of its
  /// floating-point inputs require none.
  static constexpr std::int64_t requires_gradient(std::size_t input) {
    return input < most_inputs ? std::int64_t{1} << (most_numbers + input) : 0;
  }
  static constexpr std::int64_t all_requiring = ((std::int64_t{1} << most_inputs) - 1) << most_numbers;
  /// Gradients were off, and an input requires one.
  static constexpr std::int64_t gradients_off = std::int64_t{1} << 60;
  static constexpr std::int64_t inference = std::int64_t{1} << 61;  ///< off by inference_mode
};
/// 0 where none were recorded.
std::int64_t foreign_facts(const OpDef& op, const Attributes& attributes);
/// An input of this record had no record of its own: it was first seen here, after the record `writer` wrote
/// into its memory through another tensor.
struct ForeignMemory {
  std::size_t input = 0;
  std::uint32_t writer = 0;
};
std::vector<ForeignMemory> foreign_memory(const OpDef& op, const Attributes& attributes);

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
