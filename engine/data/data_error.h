// What reading data throws besides the engine's own errors.
#pragma once

#include "engine/tensor/error.h"

namespace tapedeck::data {

/// What was read is damaged: a checksum that does not fit, a file that ends too early. TensorFlow's class of
/// the same name in Python.
struct DataLossError : Error {
  using Error::Error;
};

}  // namespace tapedeck::data
