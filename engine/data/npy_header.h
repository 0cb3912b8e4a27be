// One array in NumPy's .npy format, versions 1 to 3.
#pragma once

#include <string>
#include <string_view>

#include "engine/tensor/tensor.h"

namespace tapedeck::data {

/// `subject` begins every error: "FILE: member "a": ". Throws DataLossError, UnimplementedError,
/// ResourceExhaustedError.
Tensor tensor_of_npy(std::string_view bytes, const std::string& subject);

}  // namespace tapedeck::data
