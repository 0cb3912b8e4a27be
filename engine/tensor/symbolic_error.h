// The error of reading a tensor that has no elements.
#pragma once

#include "engine/tensor/error.h"

namespace tapedeck {

/// Of a tensor of a graph function that is being traced. A TypeError in Python.
struct SymbolicValueError : FailedPreconditionError {
  using FailedPreconditionError::FailedPreconditionError;
};

}  // namespace tapedeck
