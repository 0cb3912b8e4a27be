// An error of reading data, besides the engine's own.
#pragma once

#include "engine/tensor/error.h"

namespace tapedeck::data {

/// The data is damaged: a wrong checksum, a truncated file. In Python TensorFlow's class of the same name.
struct DataLossError : Error {
  using Error::Error;
};

}  // namespace tapedeck::data
