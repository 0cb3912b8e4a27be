// Attributes of ops as JSON (README.md).
#pragma once

#include "engine/ops/core/op.h"
#include "engine/saved_model/weights.h"

namespace tapedeck::saved_model {

Json attribute_json(const Attribute& attribute);

/// Throws what fail_at() does for a value that such an attribute cannot have.
Attribute read_attribute(const Json& json, const AttributeSpec& spec, const std::string& place);

}  // namespace tapedeck::saved_model
