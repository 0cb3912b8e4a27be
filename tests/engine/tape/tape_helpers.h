// Shared by the tests of tapes.
#pragma once

#include <array>

#include "engine/tape/tape.h"
#include "tests/engine/one_gradient.h"
#include "tests/engine/test_ops.h"

namespace test_ops {

inline Tensor watched(Tape& tape, double value) {
  Tensor x = scalar(value);
  tape.watch(x);
  return x;
}

inline Tensor cube(const Tensor& x) {
  return multiply(multiply(x, x), x);
}

}  // namespace test_ops
