// The events of breakpoints: an operation that runs, or an assignment to a variable.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "engine/ops/core/observer.h"

namespace tapedeck {

/// An op, VJP, playback or function with a custom gradient, before it runs and after it ends; a call of a
/// graph function, before it runs; or an assignment, where `written` is set and the new value is the output.
/// Or a line of the host's program: its location alone.
struct BreakEvent {
  EventKind kind = EventKind::op;
  const OpDef* op = nullptr;
  std::uint32_t name = 0;  ///< number of the name, if there is no op
  bool custom_gradient = false;
  bool backward = false;
  bool sums_gradients = false;  ///< op: the playback itself runs it
  std::uint16_t depth = 0, thread = 0;
  std::uint32_t number = 0;
  std::uint32_t forward = 0;
  std::uint32_t scope = 0;
  std::uint32_t location = 0;
  std::uint32_t call = 0;       ///< as the program wrote it
  std::uint32_t enclosing = 0;  ///< the innermost playback or custom gradient that it is in
  std::uint64_t place = 0;      ///< finer than the location (last_place)
  std::span<const Tensor> inputs;
  std::span<const TensorSpec> specs;  ///< of the outputs, before it runs
  std::span<const Tensor> outputs;
  bool ended = false;
  const char* error = nullptr;
  bool duration_known = true;  ///< false: a GPU is still working on it
  std::int64_t duration_ns = 0;
  std::uint32_t written = 0;  ///< number of the variable's name
  std::string_view no_op;     ///< of a line that has run without one: this says so
};

}  // namespace tapedeck
