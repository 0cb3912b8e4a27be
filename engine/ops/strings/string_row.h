// Registry rows of ops on strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/core/checks.h"
#include "engine/tensor/strings.h"

namespace tapedeck::ops {

/// Throws TypeMismatchError, such as "string_length: input is int32; needs string".
void require_string(const OpContext& context, std::size_t input);

/// The input as a list of the output's shape, to which it broadcasts.
std::vector<std::string_view> spread_strings(const OpContext& context, std::size_t input);

/// The parts that differ between ops that map each string to one: `function` gets the bytes and the call.
struct StringText {
  std::string name;
  std::vector<std::string> python_names;
  std::string doc;  ///< what it does; arguments, then its own "Errors: …", if any
  std::vector<AttributeSpec> attributes = {};
};
OpDef string_row(StringText text, ShapeRule shape_rule, Forward forward);

/// string, the shape of the input.
TensorSpecs string_shape(const OpContext& context);

template <class Function>
Tensors map_strings(const OpContext& context, Function&& function) {
  std::vector<std::string> results;
  const std::vector<std::string_view> values = strings_of(context.inputs[0]);
  results.reserve(values.size());
  for (const std::string_view value : values) results.push_back(function(value));
  return one(string_tensor(context.outputs[0].shape, results));
}

}  // namespace tapedeck::ops
