// The gradient tape, and its playback.
//
// A tape belongs to the thread that opened it. While it is active, run_op records on it every op with an
// input that the tape watches (directly, or as the output of an op on the tape). Tapes nest; playback of one
// runs ops that the outer ones record, which gives gradients of any order.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ops/core/op.h"
#include "engine/tape/variable.h"

namespace tapedeck {

/// Gradients of the inputs from gradients of the outputs (undefined where none arrived).
using CustomVjp = std::function<Tensors(std::span<const Tensor> cotangents)>;

enum class Unconnected : std::uint8_t { none, zero };

/// Whether tapes follow values of that dtype: floating-point and complex ones, and integers after
/// set_integer_gradients, for the whole process. TensorFlow 1 gave integer gradients, too.
bool has_gradients(DType dtype);
void set_integer_gradients(bool given);

/// Inside an UnobservedScope, a tape that was made outside it can be played back but not changed; operations
/// that would change it throw FailedPreconditionError.
class Tape {
 public:
  explicit Tape(bool persistent = false, bool watch_accessed_variables = true);
  ~Tape();
  Tape(const Tape&) = delete;

  /// Pushes the tape on this thread's stack. A used-up tape starts empty. Throws FailedPreconditionError if
  /// it is already active.
  void start();
  void stop();  ///< Pops it. Throws FailedPreconditionError if it is not active on this thread.
  bool active() const;
  void watch(const Tensor& tensor);
  void watch(const Variable& variable);
  /// The variable's value as a target: watched as if it had been read while the tape was active.
  Tensor as_target(const Variable& variable);
  /// Clears everything recorded, including the watched tensors.
  void reset();

  /// Gradients of the sum of `targets` (weighted by `output_gradients` where given, one per target, undefined
  /// for ones) with respect to `sources`. Undefined, or zeros, for a source that is not connected. A
  /// non-persistent tape releases its records: a second call throws a FailedPreconditionError whose text
  /// mentions "persistent".
  Tensors gradient(std::span<const Tensor> targets, std::span<const Tensor> sources,
                   std::span<const Tensor> output_gradients = {},
                   Unconnected unconnected = Unconnected::none);
  /// The same with respect to variables: sums over every value the tape saw the variable hold.
  Tensors gradient(std::span<const Tensor> targets, std::span<const Variable> sources,
                   std::span<const Tensor> output_gradients = {},
                   Unconnected unconnected = Unconnected::none);
  /// Sources of both kinds mixed, in order.
  struct Source {
    Tensor tensor;                     ///< either this
    std::optional<Variable> variable;  ///< or this
  };
  Tensors gradient(std::span<const Tensor> targets, std::span<const Source> sources,
                   std::span<const Tensor> output_gradients, Unconnected unconnected);
  /// A gradient of some rows of a variable: values[i] belongs to row indices[i]; a row may occur several
  /// times.
  struct RowGradient {
    Tensor values, indices;
  };
  /// The same, but a variable that only gathers of its rows used gets its gradient in `rows` (one entry per
  /// source) instead of in the result.
  Tensors gradient(std::span<const Tensor> targets, std::span<const Source> sources,
                   std::span<const Tensor> output_gradients, Unconnected unconnected,
                   std::vector<RowGradient>& rows);

  /// The arguments of the above together.
  struct GradientCall {
    std::uint64_t tape = 0;  ///< its id
    std::span<const Tensor> targets;
    std::span<const Source> sources;
    std::span<const Tensor> output_gradients;
    Unconnected unconnected = Unconnected::none;
    std::vector<RowGradient>* rows = nullptr;  ///< one for each source, where they are wanted
  };

  /// Takes every tape off this thread's stack.
  static void stop_all_here();

  /// Between these two calls a non-persistent tape can be played back many times, as a Jacobian needs;
  /// end_many uses it up. begin_many throws FailedPreconditionError if the tape is used up.
  void begin_many();
  void end_many();
  /// For who pauses it with a StopRecording: where a graph function is traced, its runs pause their tape
  /// here, or resume it. Throws FailedPreconditionError where the tape was started outside of the function.
  void trace_pause(bool pauses);

  /// Variables read or watched while the tape was active, in order of first use.
  std::vector<Variable> watched_variables() const;
  std::uint64_t id() const;  ///< unique in the process

  /// Visits the custom VJPs that only this tape owns; none while it is active or played back. For the host
  /// language's garbage collector, which must see the references that a VJP holds.
  void visit_own_vjps(const std::function<void(const CustomVjp&)>& visit) const;

  struct State;  ///< defined in tape_state.h, for run_op and playback

 private:
  friend class StopRecording;
  Tensors played(const GradientCall& call);
  std::shared_ptr<State> state_;
  bool many_ = false;  ///< between begin_many and end_many of a tape that is not persistent
};

/// While it lives, the tapes active on this thread at its construction record nothing (custom gradients,
/// assignments); tapes started later do record.
class StopRecording {
 public:
  StopRecording();
  /// Suspends one tape only (tape.stop_recording). Throws FailedPreconditionError if it is not active on this
  /// thread.
  explicit StopRecording(Tape& tape);
  ~StopRecording();
  StopRecording(const StopRecording&) = delete;

 private:
  std::vector<std::shared_ptr<Tape::State>> suspended_;
};

/// Whether an active tape of this thread would record an op on these inputs.
bool is_taped(std::span<const Tensor> inputs);

/// Runs `function` (which returns its outputs and its VJP) as one op named `name`: playback calls this VJP
/// instead of those of the ops inside. The inner ops are on the tape only if a higher derivative may need
/// them: if other tapes record too, or a persistent one does. An output that is an input or another existing
/// tensor is replaced by a new tensor (identity). The VJP returns one gradient per input, undefined for none,
/// followed by one per variable that the function used and has gradients for, in the order of `variables`.
struct CustomResult {
  Tensors outputs;
  CustomVjp vjp;
  std::vector<Variable> variables = {};
};
Tensors custom_gradient(const std::string& name, std::span<const Tensor> inputs,
                        const std::function<CustomResult()>& function);

}  // namespace tapedeck
