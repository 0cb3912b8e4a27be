// The error of a failed device: neither the caller's fault nor a lack of memory.
#pragma once

#include "engine/tensor/error.h"

namespace tapedeck {

struct InternalError : Error {  ///< a RuntimeError in Python
  using Error::Error;
};

}  // namespace tapedeck
