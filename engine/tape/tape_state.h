// The representation of tapes, for playback and variables.
#pragma once

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/ops/core/thread_state.h"
#include "engine/tape/id_map.h"
#include "engine/tape/tape.h"

namespace tapedeck {
namespace detail {

/// The index of a value on a tape, in the order in which the tape first saw them: watched values, and
/// outputs.
using Slot = std::int32_t;
constexpr Slot no_slot = -1;

/// What a SummingVjp gets. Its call's outputs are those of several ops, which may depend on each other.
struct SummingRequest {
  std::span<const Tensor> cotangents;  ///< of the outputs; undefined where none arrived
  std::span<const Tensor> sums;        ///< of each input: what has arrived at it so far; undefined: nothing
  std::span<const bool> wanted;        ///< of each input
  std::span<const bool> is_source;     ///< of each output: whether all that arrives at it is wanted, too
  bool is_last = false;                ///< the call goes on no tape any more: what it keeps may go
};
/// Adds to the sums in the order in which the VJPs of the ops inside would: sums of floating-point numbers
/// depend on it. Returns the new sums of the inputs, then the cotangents of the outputs that are sources with
/// what the ops inside add; undefined where nothing arrived or nothing is wanted.
using SummingVjp = std::function<Tensors(const SummingRequest&)>;

/// A call of a function with a custom gradient, or of a graph; shared by the tapes that recorded it. No two
/// of a graph's inputs that a tape knows are the same tensor.
struct CustomCall {
  std::string name;
  CustomVjp vjp;
  SummingVjp summing_vjp = {};  ///< of a graph, in place of `vjp`
};

/// One op on a tape, with everything its VJP needs.
struct Node {
  const OpDef* op = nullptr;                 // nullptr for a custom gradient
  std::shared_ptr<const CustomCall> custom;  // else empty
  Attributes attributes;
  Tensors inputs, outputs;
  boost::container::small_vector<Slot, 4> input_slots;  // no_slot where the tape does not know the input
  Slot first_output = no_slot;                          // the others follow
  std::uint64_t record = 0;

  static void* operator new(std::size_t bytes);
  static void operator delete(void* node, std::size_t bytes) noexcept;
};

/// A call to be recorded on tapes.
struct TapedCall {
  const OpDef* op = nullptr;                 // nullptr for a custom gradient
  std::shared_ptr<const CustomCall> custom;  // else empty
  std::span<const Tensor> inputs;
  const Attributes& attributes;
  std::span<const Tensor> outputs;
  std::uint64_t record = 0;
};

struct WatchedVariable {
  Variable variable;
  boost::container::small_vector<Slot, 2> slots;  // one for every value that was seen
};

class TapeStack;

}  // namespace detail

struct Tape::State {
  explicit State(bool is_persistent, bool watches_accessed_variables);
  ~State();

  const std::uint64_t id;
  bool persistent;  ///< changes only between begin_many and end_many
  const bool watch_accessed_variables;
  std::atomic<detail::TapeStack*> stack{nullptr};  // of the thread where it is active; nullptr: not active
  int suspended = 0;                               // open StopRecordings over it
  int playing = 0;                                 // playbacks that read the nodes now
  bool used_up = false;
  bool started = false;   ///< at least once
  const bool of_program;  ///< not made by code that the debugger runs

  /// Whether this is the program's tape, used by code that the debugger runs at a stop: it must not change.
  bool is_borrowed() const;

  detail::IdMap slots;                               // tensor id → slot; floating-point tensors only
  std::vector<std::int32_t> producers;               // slot → node, or -1 for a watched tensor
  std::vector<std::unique_ptr<detail::Node>> nodes;  // in the order in which they ran
  std::vector<detail::WatchedVariable> variables;    // in the order of first use
  detail::IdMap variable_positions;                  // variable id → place in `variables`
  std::vector<std::int32_t>
      slot_variables;  // slot → place of a variable that has had the value; -1, or short: none

  /// Ignores tensors whose dtype has no gradients.
  detail::Slot watch(const Tensor& tensor);
  void watch(const Variable& variable, const Tensor& value);
  bool watches(const Variable& variable) const { return variable_positions.find(variable.id()) >= 0; }
  /// Active and not suspended by a StopRecording. A tape that another thread destroyed is no longer active.
  bool records() const { return suspended == 0 && stack.load(std::memory_order_relaxed) != nullptr; }
  bool knows(std::span<const Tensor> inputs) const;
  void record(const detail::TapedCall& call);
  void clear();
};

namespace detail {

/// The active tapes of one thread, the outermost first.
class TapeStack : public CallKeeper {
 public:
  static TapeStack& of_this_thread();
  static TapeStack* if_any();  ///< this thread's; nullptr before its first tape
  ~TapeStack();

  std::uint64_t keeper_of(std::span<const Tensor> inputs) const override;
  void keep(const FinishedCall& call) override;
  /// The innermost tape that would record a call on these inputs, or nullptr.
  Tape::State* innermost_for(std::span<const Tensor> inputs) const;
  /// Appends a node to every recording tape that has one of the inputs.
  void write(const TapedCall& call);

  void push(std::shared_ptr<Tape::State> tape);
  void remove(Tape::State& tape);
  /// Recounts after a change of `suspended`.
  void refresh();

  std::vector<std::shared_ptr<Tape::State>> tapes;
};

/// The innermost tape that would record a call on these inputs now, or nullptr.
Tape::State* recording_tape(std::span<const Tensor> inputs);

}  // namespace detail
}  // namespace tapedeck
