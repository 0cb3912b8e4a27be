// A tracer that knows variables.
#pragma once

#include "engine/ops/core/tracer.h"
#include "engine/tape/variable.h"

namespace tapedeck {

class VariableTracer : public Tracer {
 public:
  /// The variable's value at this point of the function: symbolic, the same tensor until something is
  /// assigned.
  virtual Tensor read(const Variable& variable) = 0;
  /// From this point of the function on, the variable has that value, whose dtype and shape were checked.
  virtual void assign(const Variable& variable, const Tensor& value) = 0;
};

/// The one of this thread; nullptr where it traces nothing.
inline VariableTracer* current_variable_tracer() {
  Tracer* tracer = current_tracer();
  return tracer ? dynamic_cast<VariableTracer*>(tracer) : nullptr;
}

}  // namespace tapedeck
