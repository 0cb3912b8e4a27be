// What is neither the caller's fault nor a lack of memory: a device that failed.
#pragma once

#include "engine/tensor/error.h"

namespace tapedeck {

struct InternalError : Error {  ///< a RuntimeError in Python
  using Error::Error;
};

}  // namespace tapedeck
