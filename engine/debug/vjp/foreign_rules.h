// What ATen's ops compute, in ops of the registry: a tape of it gives their gradients by Tapedeck's formulas,
// with the arguments of the call.
#pragma once

#include "engine/debug/vjp/foreign_arguments.h"

namespace tapedeck::debug {

struct ForeignResult {
  /// Of the op's results the first ones: those that a gradient can come to.
  Tensors outputs;
  /// With the schema's names; empty: that of the counterpart in the registry.
  std::string formula = {};
};

/// The result of the call, from its inputs. Throws NoFormula where an argument is set that the rule lacks.
using ForeignRule = ForeignResult (*)(const ForeignArguments& call);

struct NamedRule {
  const char* aten;  ///< the op's base name, without the "_" of one that writes
  ForeignRule rule;
};

/// By family, in rules_FAMILY.cpp.
std::span<const NamedRule> elementwise_rules();
std::span<const NamedRule> array_rules();
std::span<const NamedRule> reduction_rules();
std::span<const NamedRule> neural_rules();
std::span<const NamedRule> loss_rules();

/// nullptr: none; the op may have a counterpart with the same inputs and no other arguments.
ForeignRule rule_of(const ForeignOp& op);

/// An op of the registry; attributes that are not named have their defaults.
Tensors call_row(const char* op, std::span<const Tensor> inputs,
                 std::initializer_list<std::pair<const char*, Attribute>> attributes = {});
Tensor call_row1(const char* op, std::initializer_list<Tensor> inputs,
                 std::initializer_list<std::pair<const char*, Attribute>> attributes = {});

}  // namespace tapedeck::debug
