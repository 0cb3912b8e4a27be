// Calls of ops by their names and their attributes' names, as Python makes them.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "engine/ops/core/run_op.h"
#include "engine/ops/random/random_state.h"

namespace tapedeck::testing {

struct NamedAttribute {
  std::string_view name;
  Attribute value;
};

inline const OpDef& op_called(std::string_view name) {
  if (const OpDef* op = Registry::instance().find(name)) return *op;
  throw std::logic_error("there is no op " + std::string(name));
}

/// All outputs of a call. Attributes that are not named have the row's fallback.
inline Tensors outputs_of(std::string_view name, const Tensors& inputs,
                          std::initializer_list<NamedAttribute> attributes = {}) {
  const OpDef& op = op_called(name);
  std::vector<Attribute> values;
  for (const AttributeSpec& spec : op.attributes) values.push_back(spec.fallback);
  std::vector<bool> given(values.size());
  for (const NamedAttribute& attribute : attributes) {
    const auto spec = std::find_if(op.attributes.begin(), op.attributes.end(),
                                   [&](const AttributeSpec& each) { return each.name == attribute.name; });
    if (spec == op.attributes.end())
      throw std::logic_error(op.name + " has no attribute " + std::string(attribute.name));
    const auto place = static_cast<std::size_t>(spec - op.attributes.begin());
    values[place] = attribute.value;
    given[place] = true;
  }
  for (std::size_t i = 0; i < values.size(); ++i)
    if (op.attributes[i].required && !given[i])
      throw std::logic_error(op.name + " needs the attribute " + op.attributes[i].name);
  resolve_random(op, values, inputs);
  return run_op(op, inputs, Attributes(std::move(values)));
}

/// The first output.
inline Tensor called(std::string_view name, const Tensors& inputs,
                     std::initializer_list<NamedAttribute> attributes = {}) {
  return outputs_of(name, inputs, attributes)[0];
}

}  // namespace tapedeck::testing
