// Which zeros of a gradient one VJP made, whatever came in: it runs again with other cotangents.
#pragma once

#include <optional>

#include "engine/debug/why/vjp_again.h"
#include "engine/debug/why/zeros_found.h"

namespace tapedeck::debug {

std::uint64_t count_zeros(const Tensor& tensor);

/// A gradient that a VJP gave, and where it is asked about.
struct VjpGradient {
  const RecordView& vjp;
  const PastVjp* call = nullptr;  ///< nullptr: it is not the built-in VJP of an op
  std::size_t slot = 0;           ///< past the last: not known
  std::uint64_t tensor = 0;       ///< as the VJP gave it, before any hook
  std::optional<std::int64_t> place = {};
};

class VjpZeros {
 public:
  VjpZeros(Past& past, WrittenMemory& memory, const VjpGradient& gradient)
      : past_(past), memory_(memory), asked_(gradient) {}

  /// Whether the VJP explains every zero of the gradient. Throws ValueError, Cancelled, and Error where it
  /// cannot run again.
  bool look();
  std::vector<FoundZeros> found;

 private:
  using Change = Tensor (*)(const Tensor&);
  /// The gradient for cotangents that a function changed.
  Tensor with(Change change);
  bool compare(const std::vector<double>& exact);
  std::vector<double> in_wider_numbers() const;
  bool look_at_custom();

  Past& past_;
  WrittenMemory& memory_;
  const VjpGradient asked_;
};

}  // namespace tapedeck::debug
