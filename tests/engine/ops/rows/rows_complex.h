// Test rows of ops on complex numbers. Their values are compared in tests/python/tensor/test_complex.py and
// test_signal.py.
#pragma once

#include "engine/ops/elementwise/complex.h"
#include "tests/engine/ops/rows/row_makers.h"

namespace tapedeck::testing {

inline Tensor random_complex(Random& random, const Shape& shape) {
  Shape pairs = shape;
  pairs.push_back(2);
  return ops::from_pairs(random_tensor(random, pairs, 0.5, 2.0));
}

inline Row complex_row(const std::string& op, const std::string& test,
                       const std::vector<Attribute>& attributes = {}) {
  const auto call = [=](const Shape& shape) {
    return [=](Random& random) { return Call{{random_complex(random, shape)}, attributes}; };
  };
  return {.op = op,
          .calls = {call({2, 3, 2}), call({1, 2, 5})},
          .reference = {},
          .tested_in = "tests/python/" + test};
}

inline Rows complex_rows() {
  Row made{.op = "complex", .calls = {}, .reference = {}, .tested_in = "tests/python/tensor/test_complex.py"};
  made.calls = {[](Random& random) {
    return Call{{random_tensor(random, {2, 3}), random_tensor(random, {3})}};
  }};
  Row transform = complex_row("fft", "test_signal.py", {std::int64_t{2}, false});
  for (const MakeCall& call : complex_row("fft", "test_signal.py", {std::int64_t{1}, true}).calls)
    transform.calls.push_back(call);
  Row real_transform{
      .op = "rfft", .calls = {}, .reference = {}, .tested_in = "tests/python/math/test_signal.py"};
  for (const Shape& shape : {Shape{2, 6}, Shape{3, 1, 5}, Shape{1}, Shape{2}, Shape{2, 2, 8}})
    real_transform.calls.push_back([=](Random& random) { return Call{{random_tensor(random, shape)}}; });
  return {made,
          transform,
          real_transform,
          complex_row("real", "test_complex.py"),
          complex_row("imag", "test_complex.py"),
          complex_row("angle", "test_complex.py"),
          complex_row("conj", "test_complex.py")};
}

}  // namespace tapedeck::testing
