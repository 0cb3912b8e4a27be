// Describes a tensor in terms that the user knows; ids of tensors mean nothing to the user.
#pragma once

#include <cstdint>
#include <string>

#include "engine/record/recorder.h"

namespace tapedeck {

/// "W (float32 (784, 196))", "the output of matmul, op 217 (float32 (2, 3))", "output 2 of svd, op 5 (…)",
/// "a constant (float32 (3,))"; "a tensor that no record mentions".
std::string tensor_text(const Recorder& recorder, std::uint64_t id);

}  // namespace tapedeck
