// A value that is no longer held, computed again from the records: its op on its inputs, recursively.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck {

struct ReplayLimits {
  std::size_t ops = 200000;
  std::chrono::milliseconds time{20000};
  std::uint64_t bytes = std::uint64_t{2} << 30;  ///< of recomputed values at one moment
};

/// Why a value cannot be had. `code`: "no_such_tensor", "gone", "too_expensive" (as protocol::Failure has
/// them).
struct ValueError : std::runtime_error {
  ValueError(std::string error_code, const std::string& reason)
      : std::runtime_error(reason), code(std::move(error_code)) {}
  std::string code;
};

struct FoundValue {
  Tensor value;
  bool recomputed = false;
};

/// The value of tensor `id`: held, or recomputed bit for bit. From any thread; nothing of it is recorded.
/// Throws ValueError and Cancelled.
FoundValue find_value(const Recorder& recorder, std::uint64_t id, const ReplayLimits& limits = {},
                      const CancelFlag* cancel = nullptr);

}  // namespace tapedeck
