// What tapes are made of, for run_op, playback, and variables.
#pragma once

#include <atomic>
#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/tape/id_map.h"
#include "engine/tape/tape.h"

namespace tapedeck {
namespace detail {

/// The values that a tape knows are numbered in the order in which it met them: watched ones, and outputs.
using Slot = std::int32_t;
constexpr Slot no_slot = -1;

/// A call of a function with a custom gradient; shared by the tapes that recorded it.
struct CustomCall {
  std::string name;
  CustomVjp vjp;
};

/// One op on a tape, with all that its VJP needs.
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

/// A call as it goes on the tapes.
struct FinishedCall {
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
  bool persistent;  ///< changes only while the tape is played many times
  const bool watch_accessed_variables;
  std::atomic<detail::TapeStack*> stack{nullptr};  // of the thread where it is active; nullptr: not active
  int suspended = 0;                               // open StopRecordings over it
  int playing = 0;                                 // playbacks that read the nodes now
  bool used_up = false;
  bool started = false;  ///< once at least

  detail::IdMap slots;                               // tensor id → slot; floating-point tensors only
  std::vector<std::int32_t> producers;               // slot → node, or -1 for a watched tensor
  std::vector<std::unique_ptr<detail::Node>> nodes;  // in the order in which they ran
  std::vector<detail::WatchedVariable> variables;    // in the order of first use
  detail::IdMap variable_positions;                  // variable id → place in `variables`
  std::vector<std::int32_t>
      slot_variables;  // slot → place of a variable that has had the value; -1, or short: none

  /// Tensors that are not of floating point are let pass unwatched.
  detail::Slot watch(const Tensor& tensor);
  void watch(const Variable& variable, const Tensor& value);
  bool watches(const Variable& variable) const { return variable_positions.find(variable.id()) >= 0; }
  /// Active, and no StopRecording over it. A tape that another thread destroyed is no longer active.
  bool records() const { return suspended == 0 && stack.load(std::memory_order_relaxed) != nullptr; }
  bool knows(std::span<const Tensor> inputs) const;
  void record(const detail::FinishedCall& call);
  void clear();
};

namespace detail {

/// What run_op looks at on every call.
struct ThreadState {
  std::uint32_t quiet = 0;       ///< open QuietScopes
  std::uint32_t recording = 0;   ///< active tapes of this thread that are not suspended
  std::uint32_t unobserved = 0;  ///< open UnobservedScopes
  bool floating_scope = false;   ///< a FloatingScope is open (floating.h)
  TapeStack* tapes = nullptr;    ///< nullptr until the thread's first tape
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadState thread_state;

/// The active tapes of one thread, the outermost first.
class TapeStack {
 public:
  static TapeStack& of_this_thread();
  ~TapeStack();

  void push(std::shared_ptr<Tape::State> tape);
  void remove(Tape::State& tape);
  /// Counts again after a change of `suspended`.
  void refresh();

  std::vector<std::shared_ptr<Tape::State>> tapes;
};

/// The innermost tape that would record an op on these inputs, or nullptr.
Tape::State* recording_tape(std::span<const Tensor> inputs);

/// Writes a node on every recording tape that knows one of the inputs.
void write_tapes(const FinishedCall& call);

/// The same values as a tensor of its own, with a new id.
Tensor alias(const Tensor& tensor);

/// Gives every output that is also an input, or an earlier output, an id of its own: ids say who made a
/// tensor.
void make_outputs_distinct(std::span<const Tensor> inputs, std::span<Tensor> outputs);

}  // namespace detail
}  // namespace tapedeck
