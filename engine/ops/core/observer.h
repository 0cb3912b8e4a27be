// The interface through which run_op, custom gradients and playback report to an observer: the recorder, or a
// test.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include "engine/ops/core/op.h"

namespace tapedeck {

enum class EventKind : std::uint8_t {
  op,        ///< one op
  custom,    ///< the forward pass of a function with a custom gradient; its ops come between begin and end
  playback,  ///< one run of a tape backwards; its VJPs come between begin and end
  vjp,       ///< one VJP of a playback; its ops come between begin and end
  call       ///< a call of a graph function, or a part of one; what it runs comes between begin and end
};

struct Event {
  EventKind kind = EventKind::op;
  const OpDef* op = nullptr;  ///< op: the op; vjp: the forward op (nullptr for a custom gradient)
  std::string_view name;      ///< op->name, or the name of the user's function; "gradient" for a playback
  std::span<const Tensor> inputs;  ///< op, custom: inputs; vjp: cotangents of the outputs; playback: targets
  const Attributes* attributes = nullptr;
  std::span<const TensorSpec> outputs;  ///< op: the expected outputs; empty if they depend on values
  std::uint64_t forward_record = 0;     ///< vjp: number of the record whose VJP this is
  std::uint64_t tape =
      0;  ///< id of the innermost tape that will record it (op, custom), or of the played one (playback, vjp)
  bool custom_gradient = false;  ///< vjp: written by the user
  /// call: a part of one: a side of a branch, a loop, an iteration.
  bool part = false;
  bool backward = false;  ///< call: what it runs is a gradient that the function's trace made
  /// playback: ids of the sources; for a variable that of its current value.
  std::span<const std::uint64_t> sources = {};
  std::span<const bool> wanted;  ///< vjp: which inputs' gradients are wanted
  Device device;                 ///< op: where it runs; the host waits only for itself
};

/// A gradient to which a playback adds nothing more.
struct FinishedGradient {
  std::uint64_t source = 0;    ///< id of the source tensor; for a variable that of its current value
  std::uint64_t gradient = 0;  ///< id of the gradient; for rows that of their values
  bool rows = false;           ///< only some rows of the source have a gradient
  std::uint64_t record = 0;    ///< the VJP that gave the last part of it; 0: none
  std::uint32_t place = 0;     ///< among the playback's results, from 0
  std::uint32_t places = 0;    ///< the number of results
};

/// Functions are called on the threads that run the ops, concurrently.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before the work, after the checks. May wait (the gate); throws Interrupted to abandon the op. Returns
  /// the record's number, which the tape keeps; 0 if no records are kept.
  virtual std::uint64_t begin(const Event& event) = 0;
  /// After the work. `outputs`: op, custom: results; vjp: gradients of the inputs (undefined ones included);
  /// playback: gradients of the sources. `error`: nullptr, or the message of the work's exception (outputs
  /// are then empty).
  virtual void end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) = 0;
  /// The checks rejected a call of an op, which therefore neither begins nor ends; `error` says why. May wait
  /// (a breakpoint).
  virtual void refused(const Event& event, const char* error) { (void)event, (void)error; }
  /// A tensor that no op made: it came from Python, or is a variable's new value (then `name` is the
  /// variable's).
  virtual void leaf(const Tensor& tensor, std::string_view name) = 0;
  /// After leaf(): the variable with this id now has the value `tensor`, made from `value`. Tensors of this
  /// thread with ids above `since` up to that of `value` belong to the assignment itself (assign_add). May
  /// wait (a breakpoint).
  virtual void assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                        std::uint64_t since) = 0;
  /// Whether finished() is to be called, as while the program is stepped. Detecting finished gradients costs
  /// time.
  virtual bool attends_gradients() const { return false; }
  /// One of the results of this thread's running playback is complete. May wait (the gate); throws
  /// Interrupted to abandon the playback.
  virtual void finished(const FinishedGradient& gradient) { (void)gradient; }
  /// The host language reads the tensor's elements.
  virtual void left(const Tensor& tensor) = 0;

  /// An update op of this thread is about to overwrite the values of these variables. Returns true if no
  /// observer needs them: it has then released its own references, and the op's begin() does not wait.
  virtual bool gives_up(std::span<const std::uint64_t> variables) {
    (void)variables;
    return false;
  }

  // ---- when memory is released
  /// The variable with that id was destroyed.
  virtual void variable_gone(std::uint64_t variable) { (void)variable; }
  /// A tape other than the innermost keeps the record, too.
  virtual void taped(std::uint64_t record, std::uint64_t tape) { (void)record, (void)tape; }
  /// The playback that begins releases each op of the tape after playing it, and at its end the rest.
  virtual void tape_used_up(std::uint64_t tape) { (void)tape; }
  /// The tape released everything that it kept.
  virtual void tape_emptied(std::uint64_t tape) { (void)tape; }
};

namespace detail {
/// The observer that run_op calls: the first front observer (front_observer.h), else that of set_observer.
extern std::atomic<Observer*> observer;
}  // namespace detail

/// nullptr: no observer. The caller keeps the observer alive until all ops that began under it have ended.
void set_observer(Observer* observer);
/// This thread's observer; nullptr inside a QuietScope, and while a graph is traced.
Observer* current_observer();

/// While it lives, ops of this thread are taped but not observed, even inside a QuietScope: for derivatives
/// of recorded ops.
class UnobservedScope {
 public:
  UnobservedScope();
  ~UnobservedScope();
  UnobservedScope(const UnobservedScope&) = delete;

 private:
  std::uint32_t quiet_;
};

/// While it lives, ops of this thread are neither observed nor taped (replay, statistics).
class QuietScope {
 public:
  QuietScope();
  ~QuietScope();
  QuietScope(const QuietScope&) = delete;
};

}  // namespace tapedeck
