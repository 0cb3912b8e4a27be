// Why tensors that records mention have no value here: those of another framework whose dtype, layout or
// device the engine lacks.
#pragma once

#include <cstdint>
#include <string>

namespace tapedeck {

/// Of the newest hundred thousand such tensors. Thread-safe.
void note_missing_value(std::uint64_t tensor, const std::string& reason);
/// Empty where none was noted.
std::string why_missing(std::uint64_t tensor);

}  // namespace tapedeck
