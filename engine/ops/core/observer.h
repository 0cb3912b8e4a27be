// What run_op, custom gradients and playback tell whoever listens: the recorder, or a test.
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
  vjp        ///< one VJP of a playback; its ops come between begin and end
};

struct Event {
  EventKind kind = EventKind::op;
  const OpDef* op = nullptr;  ///< op: the op; vjp: the forward op (nullptr for a custom gradient)
  std::string_view name;      ///< op->name, or the name of the user's function; "gradient" for a playback
  std::span<const Tensor> inputs;  ///< op, custom: inputs; vjp: cotangents of the outputs; playback: targets
  const Attributes* attributes = nullptr;
  std::span<const TensorSpec> outputs;  ///< op: what will come out; empty where values decide
  std::uint64_t forward_record = 0;     ///< vjp: number of the record whose VJP this is
  std::uint64_t tape =
      0;  ///< id of the innermost tape that will record it (op, custom), or is played (playback, vjp)
  bool custom_gradient = false;  ///< vjp: the user wrote it
  /// playback: ids of what gradients are asked for, a variable's present value for the variable.
  std::span<const std::uint64_t> sources = {};
  std::span<const bool> wanted;  ///< vjp: which inputs' gradients somebody waits for
  Device device;                 ///< op: which works on it; the host waits for none but itself
};

/// A gradient to which a playback adds nothing more.
struct FinishedGradient {
  std::uint64_t source = 0;    ///< id of the tensor that it is for; of a variable its present value's
  std::uint64_t gradient = 0;  ///< id of the gradient; of rows their values'
  bool rows = false;           ///< only some rows of the source have a gradient
  std::uint64_t record = 0;    ///< the VJP that gave the last part of it; 0: none did
  std::uint32_t place = 0;     ///< among the playback's results, from 0
  std::uint32_t places = 0;    ///< how many those are
};

/// All functions are called on the thread that runs the op, from several threads at once.
class Observer {
 public:
  virtual ~Observer() = default;
  /// Before the work, after the checks. May wait (the gate); throws Interrupted to abandon the op. Returns
  /// the record's number, which the tape keeps; 0 where nobody keeps records.
  virtual std::uint64_t begin(const Event& event) = 0;
  /// After the work. `outputs`: op, custom: results; vjp: gradients of the inputs (undefined ones included);
  /// playback: gradients of the sources. `error`: nullptr, or the text of what the work threw (outputs empty
  /// then).
  virtual void end(std::uint64_t record, std::span<const Tensor> outputs, const char* error) = 0;
  /// The checks refused a call of an op, which therefore neither begins nor ends; `error` says why. May wait
  /// (a breakpoint).
  virtual void refused(const Event& event, const char* error) { (void)event, (void)error; }
  /// A tensor that no op made: it came from Python, or is a variable's new value (then `name` is the
  /// variable's).
  virtual void leaf(const Tensor& tensor, std::string_view name) = 0;
  /// After leaf(): the variable of this id now has the value `tensor`, which was made of `value`. Tensors
  /// with ids above `since` up to value's that this thread made are the assignment's own work (assign_add).
  /// May wait (a breakpoint).
  virtual void assigned(const Tensor& tensor, const Tensor& value, std::uint64_t variable,
                        std::uint64_t since) = 0;
  /// Whether finished() has anybody to tell: while the program goes step by step. Finding the moment costs
  /// time.
  virtual bool attends_gradients() const { return false; }
  /// A playback of this thread is at work, and the gradient is one of its results. May wait (the gate);
  /// throws Interrupted to abandon the playback.
  virtual void finished(const FinishedGradient& gradient) { (void)gradient; }
  /// The host language reads the tensor's elements.
  virtual void left(const Tensor& tensor) = 0;

  /// An update op of this thread is about to write over what the variables of these ids have. True: nobody
  /// who looks on needs it any more, what was held of it alone has been let go, and the op's begin() does not
  /// wait.
  virtual bool gives_up(std::span<const std::uint64_t> variables) {
    (void)variables;
    return false;
  }

  // ---- when memory is let go
  /// A variable of that id is there no longer.
  virtual void variable_gone(std::uint64_t variable) { (void)variable; }
  /// Another tape than the innermost keeps the record, too.
  virtual void taped(std::uint64_t record, std::uint64_t tape) { (void)record, (void)tape; }
  /// The playback that begins lets each op of the tape go when it has played it, and then all of them.
  virtual void tape_used_up(std::uint64_t tape) { (void)tape; }
  /// The tape lets go all that it kept.
  virtual void tape_emptied(std::uint64_t tape) { (void)tape; }
};

namespace detail {
/// Whom run_op tells: the first of those in front (front_observer.h), else that of set_observer.
extern std::atomic<Observer*> observer;
}  // namespace detail

/// nullptr: nobody listens. The caller keeps the observer alive until no op runs that began under it.
void set_observer(Observer* observer);
/// The observer of this thread: nullptr also where a QuietScope is open, and while a graph is traced.
Observer* current_observer();

/// While it lives, ops of this thread are not observed, but taped, even where a QuietScope is open around it:
/// derivatives of what was recorded.
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
