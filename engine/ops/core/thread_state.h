// The thread-local state that run_op reads on every call.
#pragma once

#include <cstdint>
#include <span>

#include "engine/ops/core/op.h"

namespace tapedeck {
class Tracer;
}

namespace tapedeck::detail {

/// A successful call of an op.
struct FinishedCall {
  const OpDef& op;
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  std::span<const Tensor> outputs;
  std::uint64_t record = 0;
};

/// Records calls for playback: a thread's tapes.
class CallKeeper {
 public:
  /// The id of the innermost tape that would record a call on these inputs; 0: none.
  virtual std::uint64_t keeper_of(std::span<const Tensor> inputs) const = 0;
  virtual void keep(const FinishedCall& call) = 0;

 protected:
  ~CallKeeper() = default;
};

/// Reasons not to run a call as it is given. One byte holds them all, so that run_op tests once.
enum Detour : std::uint8_t {
  floating_detour = 1,  ///< a FloatingScope is open (floating.h)
  tracing_detour = 2    ///< a TracerScope is open (tracer.h)
};

struct ThreadState {
  std::uint32_t quiet = 0;               ///< open QuietScopes
  std::uint32_t recording = 0;           ///< active tapes of this thread that are not suspended
  std::uint32_t unobserved = 0;          ///< open UnobservedScopes
  std::uint8_t detours = 0;              ///< Detours that run_op takes
  std::int8_t copy_policy = -1;          ///< CopyPolicy of placement.h; below 0: that of the process
  std::optional<Device> device;          ///< the innermost `tf.device`
  std::optional<Device> default_device;  ///< of an open DefaultDeviceScope
  CallKeeper* tapes = nullptr;           ///< nullptr until the thread's first tape
  Tracer* tracer = nullptr;              ///< of the innermost open TracerScope (tracer.h)
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadState thread_state;

}  // namespace tapedeck::detail
