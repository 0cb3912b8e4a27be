// A value that is no longer held, computed again from the records: its op on its inputs, recursively.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

#include "engine/record/cancel.h"
#include "engine/record/recorder.h"

namespace tapedeck {

struct ReplayLimits {
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

/// Told now and then (at most 10 times a second) while a replay goes on: ops that ran again, and how many
/// have to; `total` 0: they are still being counted.
using ReplayProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// The record's op on these inputs: where it ran; on the CPU where the recorder replays there, or that GPU is
/// not in this machine. Nothing of it is recorded.
Tensors run_again(const Recorder& recorder, const RecordView& record, std::span<const Tensor> inputs,
                  const Attributes& attributes);

/// What the record's op makes of these inputs, as far as it announces it (OpDef::shape_of_values); throws
/// ValueError where it takes more than `most_bytes`, and what the op's checks throw.
TensorSpecs check_result_size(const RecordView& record, std::span<const Tensor> inputs,
                              const Attributes& attributes, std::uint64_t most_bytes);
/// Of a trace file, before an op of it runs: throws ValueError where it would take more than `most_bytes` for
/// its results, or make something else than the file says.
void check_announced(const Recorder& recorder, const RecordView& record, std::span<const Tensor> inputs,
                     std::uint64_t most_bytes);

/// The value of tensor `id`: held, or recomputed bit for bit, however long that takes; values on the way to
/// it are kept for a while. From any thread; nothing of it is recorded. Throws ValueError and Cancelled.
FoundValue find_value(Recorder& recorder, std::uint64_t id, const ReplayLimits& limits = {},
                      const CancelFlag* cancel = nullptr, const ReplayProgress& progress = {});

}  // namespace tapedeck
