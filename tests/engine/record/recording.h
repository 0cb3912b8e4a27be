// Shared by the tests of recorder, gate, replay and debug server.
#pragma once

#include "engine/debug/describe.h"
#include "engine/record/recorder.h"
#include "engine/tape/tape.h"
#include "tests/engine/one_gradient.h"
#include "tests/engine/test_ops.h"

/// A recorder that records while it lives.
struct Recording {
  explicit Recording(const tapedeck::RecorderOptions& options = {}) : recorder(options) {
    test_ops::register_core_ops();
    recorder.set_recording(true);
  }
  tapedeck::protocol::Record at(std::uint32_t number) const {
    return tapedeck::debug::describe(recorder, number, true).value();
  }
  std::uint32_t count() const { return recorder.trace().newest(); }
  tapedeck::Recorder recorder;
};

/// x², whose gradient the "user" wrote: the cotangent times x, twice.
inline tapedeck::Tensor custom_square(const tapedeck::Tensor& x) {
  using namespace tapedeck;
  const Tensors inputs{x};
  return custom_gradient("custom_square", {inputs.data(), inputs.size()}, [&] {
    return CustomResult{{test_ops::multiply(x, x)}, [x](std::span<const Tensor> cotangents) -> Tensors {
                          const Tensor half = test_ops::multiply(cotangents[0], x);
                          return {test_ops::add(half, half)};
                        }};
  })[0];
}

/// A vector of `count` doubles 0.5, 1.5, ….
inline tapedeck::Tensor ramp(std::int64_t count) {
  auto tensor = tapedeck::Tensor::allocate(tapedeck::DType::float64, {count});
  for (std::int64_t i = 0; i < count; ++i) tensor.writable_data<double>()[i] = static_cast<double>(i) + 0.5;
  return tensor;
}
