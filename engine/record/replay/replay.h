// Recomputes a value that is no longer held from the records: its op on its inputs, recursively.
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

/// Why a value is unavailable. `code`: "no_such_tensor", "gone", "too_expensive" (as in protocol::Failure).
struct ValueError : std::runtime_error {
  ValueError(std::string error_code, const std::string& reason)
      : std::runtime_error(reason), code(std::move(error_code)) {}
  std::string code;
};

struct FoundValue {
  Tensor value;
  bool recomputed = false;
};

/// Progress of a replay, at most 10 times a second: ops that ran again, and how many must; `total` 0: they
/// are still being counted.
using ReplayProgress = std::function<void(std::uint64_t done, std::uint64_t total)>;

/// Runs the record's op on these inputs, unrecorded: on the device where it ran, or on the CPU if the
/// recorder replays there or this machine lacks that GPU.
Tensors run_again(const Recorder& recorder, const RecordView& record, std::span<const Tensor> inputs,
                  const Attributes& attributes);

/// The specs of what the record's op returns for these inputs, as far as it can say (OpDef::shape_of_values);
/// throws ValueError if they take more than `most_bytes`, and what the op's checks throw.
TensorSpecs check_result_size(const RecordView& record, std::span<const Tensor> inputs,
                              const Attributes& attributes, std::uint64_t most_bytes);
/// To be called before an op of a trace file runs: throws ValueError if its results would take more than
/// `most_bytes`, or differ from what the file says.
void check_announced(const Recorder& recorder, const RecordView& record, std::span<const Tensor> inputs,
                     std::uint64_t most_bytes);

/// The value of tensor `id`: held, or recomputed bit for bit, however long that takes; intermediate values
/// are kept for a while. Callable from any thread; records nothing. Throws ValueError and Cancelled.
FoundValue find_value(Recorder& recorder, std::uint64_t id, const ReplayLimits& limits = {},
                      const CancelFlag* cancel = nullptr, const ReplayProgress& progress = {});

}  // namespace tapedeck
