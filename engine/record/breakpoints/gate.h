// The place where the engine waits while the user looks.
//
// Every op passes it before its kernel. While the gate is shut, each thread that reaches a stop point waits
// there, without the host's lock; the oldest of the waiting records is announced, and receives the steps.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

using protocol::GateCommand;
using protocol::GateState;

/// A stop after a record: a gradient to which the playback adds nothing more.
struct GradientStop {
  std::uint64_t source = 0, gradient = 0;  ///< ids of tensors; 0: this is no such stop
  bool rows = false;
  std::uint32_t place = 0, places = 0;  ///< among the playback's results
};

/// A record that reaches the gate, or a line of the host's program.
struct GatePoint {
  std::uint32_t number = 0;     ///< 0: a line
  std::uint32_t location = 0;   ///< from intern_location: where a step by lines is
  std::uint32_t enclosing = 0;  ///< the innermost playback, custom gradient or call around it; 0: none
  std::uint64_t thread = 0;     ///< the waiting system thread; set by the gate
  GradientStop gradient = {};   ///< for a complete gradient `number` is the record that completed it
  bool call = false;            ///< of a graph function: a step goes over what it runs
};

/// A reason to stop regardless of the gate's state.
struct BreakStop {
  std::vector<std::uint64_t> breakpoints;
  std::string reason;  ///< "breakpoint 2: nan(out), 3 of 7,840 elements"
  bool after = false;  ///< the record has ended
};

struct GateStatus {
  GateState state = GateState::open;
  std::uint32_t stopped_before = 0;
  std::uint32_t location = 0;
  std::string reason;              ///< "step", "pause", "cell start", "step out"
  std::uint32_t stepped_over = 0;  ///< the stop before the last step_op; 0 after any other command
  std::uint64_t thread = 0;        ///< pthread_self() of the thread that waits before `stopped_before`
  bool stopped_after = false;      ///< that record has ended
  std::vector<std::uint64_t> breakpoints = {};  ///< that stopped it
  /// Which stop this is: the record's number; of a line and of a complete gradient one above all records'.
  std::uint64_t stop = 0;
  GradientStop gradient = {};     ///< complete, after that record
  std::string stepped_call = {};  ///< "f ran, 12 ops", where the last step went over or out of a call
  bool at_line() const { return state == GateState::stopped && stopped_before == 0; }
};

class Gate {
 public:
  static constexpr std::uint64_t beyond_records = std::uint64_t{1} << 32;

  /// The callback for threads that stop or continue; called on any thread, without a lock held. A replaced
  /// callback may still be called for a moment.
  void set_listener(std::function<void()> listener);

  /// Whether something can stop; one relaxed load.
  bool armed() const { return armed_.load(std::memory_order_relaxed); }
  /// Whether a step to another line is in progress, so that the host must report lines.
  bool steps_to_line() const { return left_line_.load(std::memory_order_relaxed) != 0; }
  /// On the thread that makes such a step: the location that it leaves; other lines then stop as ops do. Else
  /// 0.
  std::uint32_t left_line() const;
  /// Waits if the gate is shut for `point`; returns whether it waited. Throws Interrupted if the user
  /// interrupted, which opens the gate, or if the process is being ended (GateCommand::end).
  bool pass(const GatePoint& point);
  /// The same, but the gate is always shut for this point if it is attended.
  bool stop(const GatePoint& point, const BreakStop& why);
  /// A playback, custom gradient or call has ended: a step out of it, or over it, may end there. `said`: of a
  /// call what ran, for the status; asked for only if a step ends there.
  void ended(std::uint32_t number, const std::function<std::string()>& said);

  /// For an evaluation at that stop, or between two cells: until release(), threads that may go on stay where
  /// they are, and no cell begins; an evaluation puts random state back, which a running program draws from.
  /// After `longest_hold` they go on all the same. False: the program is elsewhere by now. One at a time.
  bool hold(std::optional<std::uint64_t> stop);
  /// Before the evaluation puts back what it changed: from here on the hold lasts until release(). False: the
  /// program has gone on, and its own changes would be undone.
  bool settle();
  void release();
  static constexpr std::chrono::seconds longest_hold{3};

  void command(GateCommand command);
  /// Unattended, i.e. without a client to give commands, the gate never stops. It starts attended. After
  /// GateCommand::end a thread that waits does not go on by this.
  void set_attended(bool attended);
  void set_break_at_cell_start(bool on);
  bool break_at_cell_start() const;
  /// Waits for an evaluation that holds the gate.
  void cell_started();
  void cell_ended();
  GateStatus status() const;

 private:
  enum class Mode { run, stop, other_line, after_record };
  bool must_stop(const GatePoint& point) const;
  void wait(const GatePoint& point, const BreakStop* why);
  void check_interrupt_here(std::unique_lock<std::mutex>& lock);
  void wait_for_evaluation(std::unique_lock<std::mutex>& lock, bool checks_interrupts);
  std::uint64_t enter(const GatePoint& point, const BreakStop* why);
  void open();
  void end();
  void step_op();
  void step_line();
  void step_out();
  void run_until_ended(std::uint32_t record, const char* reason);
  void let_first_go();
  void update_armed();
  void notify();

  std::atomic<bool> armed_{false};
  std::atomic<std::uint32_t> left_line_{0};
  std::atomic<std::uint64_t> stepping_thread_{0};  ///< pthread_self() of the thread that left that line
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> listener_;
  Mode mode_ = Mode::run;
  std::string reason_;
  bool attended_ = true;
  bool ending_ = false;  ///< the process: nothing stops any more, and what waits is interrupted
  bool break_at_cell_start_ = false;
  bool cell_pending_ = false;  ///< a cell has begun and not reached its first stop point
  bool cell_runs_ = false;
  bool held_ = false, settling_ = false;  ///< evaluations that hold the gate
  std::uint32_t line_from_ = 0;           ///< other_line: the location to leave
  std::uint32_t after_ = 0;               ///< after_record: which one
  std::string reason_after_;              ///< what the stop behind it is then
  std::string stepped_call_;
  std::uint32_t stepped_over_ = 0;
  struct Waiting {
    GatePoint point;
    BreakStop why;
    std::uint64_t ticket = 0;  ///< unique: two threads may stop at one record (writes of variables)
  };
  bool waits(std::uint64_t ticket) const;
  /// As GateStatus::stop.
  static std::uint64_t stop_of(const Waiting& one);
  /// In order of arrival: the one that is shown stays shown until it continues. A thread continues when its
  /// ticket is no longer here.
  std::deque<Waiting> waiting_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace tapedeck
