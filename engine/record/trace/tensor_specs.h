// Dtype, device and shape of the tensors that records mention, each combination stored once.
#pragma once

#include <cstdint>

#include "engine/tensor/tensor.h"

namespace tapedeck {

struct RecordedSpec {
  DType dtype{};
  Device device;
  Shape shape;
  bool operator==(const RecordedSpec&) const = default;
};

/// Number of the tensor's combination, from 1; the same for equal ones. About 10 ns for one that this thread
/// used recently.
std::uint32_t spec_number(const Tensor& tensor);
std::uint32_t spec_number(const RecordedSpec& spec);
/// The combination of a number that spec_number returned.
RecordedSpec spec_of(std::uint32_t number);

}  // namespace tapedeck
