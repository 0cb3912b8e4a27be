// What takes the place of kernels while a graph function is traced.
#pragma once

#include "engine/ops/core/op.h"
#include "engine/ops/core/thread_state.h"

namespace tapedeck {

/// Makes a graph of the calls of the thread that traces.
class Tracer {
 public:
  virtual ~Tracer() = default;
  /// A call that passed its checks becomes a node of the graph. Returns its results: symbolic tensors of the
  /// dtypes and shapes in `context.outputs`. Nothing is computed.
  virtual Tensors call(const OpContext& context) = 0;
  /// Whether the shape rule cannot be asked: shapes of inputs or numbers of attributes are known only when
  /// the graph runs.
  virtual bool is_open(const OpDef& op, std::span<const Tensor> inputs,
                       const Attributes& attributes) const = 0;
  /// Such a call: checks it as far as it is known. `sample` gets attributes of which all is known.
  virtual Tensors call_open(const OpDef& op, std::span<const Tensor> inputs, const Attributes& attributes,
                            Attributes& sample) = 0;
};

/// While it lives, run_op calls `tracer` on this thread instead of kernels; nullptr: runs ops, inside another
/// such scope. Observers hear of none of the calls; tapes get them, as calls on symbolic tensors.
class TracerScope {
 public:
  explicit TracerScope(Tracer* tracer) : before_(detail::thread_state.tracer) { set(tracer); }
  ~TracerScope() { set(before_); }
  TracerScope(const TracerScope&) = delete;

 private:
  static void set(Tracer* tracer) {
    detail::ThreadState& thread = detail::thread_state;
    thread.tracer = tracer;
    const auto others = static_cast<std::uint8_t>(thread.detours & ~detail::tracing_detour);
    thread.detours = static_cast<std::uint8_t>(others | (tracer ? detail::tracing_detour : 0));
  }

  Tracer* const before_;
};

/// The tracer of this thread: nullptr where none is, and inside of a QuietScope, whose ops are the debugger's
/// own.
inline Tracer* current_tracer() {
  const detail::ThreadState& thread = detail::thread_state;
  return thread.quiet == 0 ? thread.tracer : nullptr;
}

}  // namespace tapedeck
