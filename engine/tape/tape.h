// The gradient tape, and its playback.
//
// A tape belongs to the thread that opened it. While it is active, run_op writes every op one of whose inputs
// the tape watches (directly, or as the output of an op on the tape). Tapes nest; playing one back runs ops
// that the outer ones record, which gives gradients of any order.
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

/// Whether tapes follow values of that dtype: floating ones, and whole numbers where set_integer_gradients
/// said so, for the whole process. TensorFlow 1 gave those gradients, too.
bool has_gradients(DType dtype);
void set_integer_gradients(bool given);

/// Inside of an UnobservedScope a tape that was made outside of it can be played, and stays as it is;
/// whatever would change it throws FailedPreconditionError.
class Tape {
 public:
  explicit Tape(bool persistent = false, bool watch_accessed_variables = true);
  ~Tape();
  Tape(const Tape&) = delete;

  /// Push on this thread's stack. A tape that was used up begins anew. Throws FailedPreconditionError where
  /// it is active already.
  void start();
  void stop();  ///< Take off the stack. Throws FailedPreconditionError where it is not active on this thread.
  bool active() const;
  void watch(const Tensor& tensor);
  void watch(const Variable& variable);
  /// The variable's value as a target: watched as if it had been read while the tape was active.
  Tensor as_target(const Variable& variable);
  /// Forget everything recorded; watched tensors stay forgotten too.
  void reset();

  /// Gradients of the sum of `targets` (weighted by `output_gradients` where given, one per target, undefined
  /// for ones) with respect to `sources`. Undefined, or zeros, where a source is not connected. A tape that
  /// is not persistent gives its records up: the second call throws FailedPreconditionError whose text says
  /// "persistent".
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
  /// A gradient of some rows of a variable: values[i] belongs to row indices[i]; rows may be there several
  /// times.
  struct RowGradient {
    Tensor values, indices;
  };
  /// The same; a variable that nothing but gathers of its rows used has its gradient, with no place in what
  /// is returned, in `rows`, one for each source.
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

  /// Between the two a tape that is not persistent can be played many times, as a Jacobian needs; the second
  /// uses it up. begin_many throws FailedPreconditionError where the tape was used up before.
  void begin_many();
  void end_many();

  /// Variables read or watched while it was active, in order of first use.
  std::vector<Variable> watched_variables() const;
  std::uint64_t id() const;  ///< unique in the process

  /// The custom VJPs that nothing but this tape holds; none while it is active or played. For a garbage
  /// collector of the host language, which has to see what a VJP holds.
  void visit_own_vjps(const std::function<void(const CustomVjp&)>& visit) const;

  struct State;  ///< defined in tape_state.h, for run_op and playback

 private:
  friend class StopRecording;
  Tensors played(const GradientCall& call);
  std::shared_ptr<State> state_;
  bool many_ = false;  ///< between begin_many and end_many of a tape that is not persistent
};

/// While it lives, the tapes that are active on this thread now record nothing (custom gradients,
/// assignments); a tape that is started meanwhile records.
class StopRecording {
 public:
  StopRecording();
  /// One tape alone (tape.stop_recording). Throws FailedPreconditionError where it is not active on this
  /// thread.
  explicit StopRecording(Tape& tape);
  ~StopRecording();
  StopRecording(const StopRecording&) = delete;

 private:
  std::vector<std::shared_ptr<Tape::State>> suspended_;
};

/// True where some active tape of this thread would record an op on these inputs.
bool is_taped(std::span<const Tensor> inputs);

/// Runs `function` (which returns its outputs and its VJP) as one op named `name`: playback calls the VJP
/// instead of those of the ops inside. These are on the tape only where a higher derivative may need them:
/// where other tapes record too, or a persistent one does. The outputs are fresh tensors (identity) where the
/// function returned an input or another tensor that was there before. The VJP returns one gradient per
/// input, undefined where there is none; and after those one per variable that the function used and has
/// gradients for, in the order of `variables`.
struct CustomResult {
  Tensors outputs;
  CustomVjp vjp;
  std::vector<Variable> variables = {};
};
Tensors custom_gradient(const std::string& name, std::span<const Tensor> inputs,
                        const std::function<CustomResult()>& function);

}  // namespace tapedeck
