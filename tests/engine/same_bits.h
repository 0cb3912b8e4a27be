// Whether tensors have the same dtype, shape and bits: NaN equals itself, and -0 is not 0.
#pragma once

#include <cstring>

#include "engine/tensor/strings.h"
#include "engine/tensor/tensor.h"

/// Undefined tensors equal each other only. Strings are compared by what they say.
inline bool same_bits(const tapedeck::Tensor& a, const tapedeck::Tensor& b) {
  if (!a || !b) return !a && !b;
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  if (a.dtype() == tapedeck::DType::string) return strings_of(a) == strings_of(b);
  const tapedeck::Tensor x = a.make_contiguous(), y = b.make_contiguous();
  return x.bytes() == 0 || std::memcmp(x.raw(), y.raw(), x.bytes()) == 0;
}

inline bool same_bits(const tapedeck::Tensors& a, const tapedeck::Tensors& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_bits(a[i], b[i])) return false;
  return true;
}
