// The place where the engine waits while the user looks.
//
// Every op asks before its kernel. While the gate is shut, each thread that comes to a stop point waits
// there, without the host's lock; one of the waiting records, the oldest, is announced, and steps are given
// to it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "engine/protocol/messages.h"

namespace tapedeck {

using protocol::GateCommand;
using protocol::GateState;

/// What a record that has ended left behind: a gradient that a playback adds nothing more to.
struct GradientStop {
  std::uint64_t source = 0, gradient = 0;  ///< ids of tensors; 0: this is no such stop
  bool rows = false;
  std::uint32_t place = 0, places = 0;  ///< among the playback's results
};

/// A record that comes to the gate, or a line of the host's program.
struct GatePoint {
  std::uint32_t number = 0;     ///< 0: a line
  std::uint32_t location = 0;   ///< from intern_location
  std::uint32_t enclosing = 0;  ///< the innermost playback or custom gradient that it runs inside of; 0: none
  std::uint64_t thread = 0;     ///< of the system that waits; the gate enters it
  GradientStop gradient = {};   ///< of a gradient that is complete `number` is the record that made it so
};

/// Why a record stops whatever the gate does otherwise.
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
  std::uint32_t stepped_over = 0;  ///< where it was stopped until the last step_op; 0 after any other command
  std::uint64_t thread = 0;        ///< pthread_self() of the one that waits before `stopped_before`
  bool stopped_after = false;      ///< that record has ended
  std::vector<std::uint64_t> breakpoints = {};  ///< those that stopped it
  /// Which stop this is: the record's number; of a line and of a complete gradient one above all records'.
  std::uint64_t stop = 0;
  GradientStop gradient = {};  ///< complete, after that record
  bool at_line() const { return state == GateState::stopped && stopped_before == 0; }
};

class Gate {
 public:
  static constexpr std::uint64_t beyond_records = std::uint64_t{1} << 32;

  /// Called, from any thread and without a lock held, when a thread stopped or was let go. It may
  /// still be called for a moment after another one was set.
  void set_listener(std::function<void()> listener);

  /// One relaxed load: false where nothing can stop.
  bool armed() const { return armed_.load(std::memory_order_relaxed); }
  /// A step to another line is under way: the host may tell of its lines.
  bool steps_to_line() const { return left_line_.load(std::memory_order_relaxed) != 0; }
  /// On the thread that makes such a step, the location that it leaves: other lines stop as ops do. Else 0.
  std::uint32_t left_line() const;
  /// Waits where the gate is shut for `point`; returns whether it waited. Throws Interrupted where the user
  /// interrupted; the gate is open then.
  bool pass(const GatePoint& point);
  /// The same, and it is shut for this point, unless nobody attends it.
  bool stop(const GatePoint& point, const BreakStop& why);
  /// A playback or custom gradient ended: a step out may end there.
  void ended(std::uint32_t number);

  void command(GateCommand command);
  /// Without anybody to give commands (no client) the gate never stops. It starts attended.
  void set_attended(bool attended);
  void set_break_at_cell_start(bool on);
  bool break_at_cell_start() const;
  void cell_started();
  void cell_ended();
  GateStatus status() const;

 private:
  enum class Mode { run, stop, other_line, after_record };
  bool must_stop(const GatePoint& point) const;
  void wait(const GatePoint& point, const BreakStop* why);
  std::uint64_t enter(const GatePoint& point, const BreakStop* why);
  void open();
  void step_line();
  void step_out();
  void let_first_go();
  void update_armed();
  void notify();

  std::atomic<bool> armed_{false};
  std::atomic<std::uint32_t> left_line_{0};
  std::atomic<std::uint64_t> stepping_thread_{0};  ///< pthread_self() of who left that line
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> listener_;
  Mode mode_ = Mode::run;
  std::string reason_;
  bool attended_ = true;
  bool break_at_cell_start_ = false;
  bool cell_pending_ = false;    ///< a cell began, and its first stop point has not come yet
  std::uint32_t line_from_ = 0;  ///< other_line: the location to leave
  std::uint32_t after_ = 0;      ///< after_record: which
  std::uint32_t stepped_over_ = 0;
  struct Waiting {
    GatePoint point;
    BreakStop why;
    std::uint64_t ticket = 0;  ///< its own: two threads may stop at one record (writes of variables)
  };
  bool waits(std::uint64_t ticket) const;
  /// In the order in which they came: the one that is shown stays so until it is let go. A thread goes on
  /// when its ticket is no longer here.
  std::deque<Waiting> waiting_;
  std::uint64_t last_ticket_ = 0;
};

}  // namespace tapedeck
