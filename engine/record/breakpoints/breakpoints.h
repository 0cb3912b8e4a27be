// Decides for every op whether the user's program stops; one read if there are no breakpoints.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "engine/record/breakpoints/breakpoint_set.h"
#include "engine/record/breakpoints/gate.h"
#include "engine/record/trace/series.h"
#include "engine/record/values/values.h"

namespace tapedeck {

/// Per-thread state between events.
struct BreakThread {
  struct Pass {
    std::uint64_t first_place = 0;  ///< where the line's current pass began
    std::uint32_t enclosing = 0;
    bool hit = false;
    /// Ops that were met on the line, less those of runs that began later and have ended: of a function that
    /// calls itself.
    std::uint64_t ops = 0;
  };
  const BreakpointSet* set = nullptr;
  std::uint32_t last_location = 0;
  std::vector<Pass> passes;  ///< of line breakpoints, by their bits
};

/// Breakpoints to evaluate when the event ends.
struct BreakWait {
  const BreakpointSet* set = nullptr;
  BreakpointSet::Mask mask = 0;
};

/// A run of a line, from its begin to its end: what hears that no op was on it.
struct LineRun {
  struct Waiting {
    std::size_t breakpoint = 0;
    std::uint64_t ops = 0;              ///< that were met when it began
    std::uint64_t series_position = 0;  ///< of the curve that its condition looked at
    bool holds = false;
  };
  const BreakpointSet* set = nullptr;
  std::uint32_t location = 0;
  std::vector<Waiting> waiting;

  bool empty() const { return waiting.empty(); }
};

class Breakpoints {
 public:
  Breakpoints(const Values& values, const TensorTable& tensors, SeriesStore& series, const CellRuns& runs)
      : values_(values), tensors_(tensors), series_(series), runs_(runs) {}

  std::vector<protocol::BreakpointState> set(const protocol::SetBreakpoints& wanted);
  bool any() const { return set_.load(std::memory_order_acquire) != nullptr; }
  /// Whether an event that begins may hit a breakpoint; if not, the other functions need not be called.
  bool concern(BreakThread& thread, EventKind kind, const OpDef* op, bool custom, bool backward,
               std::uint32_t location) const {
    const BreakpointSet* set = set_.load(std::memory_order_acquire);
    if (!set) return false;
    if (set->candidates(kind, op, custom, backward, location) != 0 ||
        cells_pending_.load(std::memory_order_relaxed) != 0)
      return true;
    if (is_on_line(kind)) thread.last_location = location;
    return false;
  }
  /// A call of a graph function has ended: what comes next on the line that called continues its pass.
  static void call_ended(BreakThread& thread, std::uint32_t location) { thread.last_location = location; }
  /// Whether failed calls need a record.
  bool watches_failures() const;
  std::vector<protocol::BreakpointHits> hits() const;
  std::uint64_t bytes() const;
  /// (cell, line) of the breakpoints that stop before a line, whatever it runs.
  std::vector<std::pair<std::string, std::uint32_t>> lines() const;
  /// Changes whenever lines() may have changed.
  std::uint64_t lines_version() const { return lines_version_.load(std::memory_order_acquire); }
  /// The recorder knows the run: from now on `cell:` in conditions refers to its execution.
  void cell_started(const std::string& cell);
  /// Ends the wait of a cell breakpoint if no op ran in the cell.
  void cell_ended() { cells_pending_.store(0); }

  /// To be called before the event runs: counts, logs, and returns a stop if there is one. `wait`: for
  /// after().
  std::optional<BreakStop> before(BreakThread& thread, const BreakEvent& event, BreakWait& wait);
  /// To be called after the event has ended.
  std::optional<BreakStop> after(const BreakEvent& event, const BreakWait& wait);
  /// For a call that the checks reject: nothing ran, so only breakpoints on failures apply, in after().
  BreakWait refused(const BreakEvent& event) const;
  /// The thread was stopped at an event, and the user may have set breakpoints meanwhile: one on that very
  /// line counts from the line's next pass on.
  void stood(BreakThread& thread, std::uint32_t location, std::uint32_t enclosing, std::uint64_t place);
  /// The host is about to run a line in lines(). `run` is to be given to left_line().
  std::optional<BreakStop> at_line(BreakThread& thread, const BreakEvent& event, LineRun& run);
  /// It has run the line; without an op where none was met meanwhile.
  void left_line(BreakThread& thread, const BreakEvent& event, const LineRun& run);
  /// A variable got a value.
  std::optional<BreakStop> assigned(const BreakEvent& event);

 private:
  /// Whether such an event belongs to a pass of its line. Parts of calls are no events here.
  static bool is_on_line(EventKind kind) {
    return kind == EventKind::op || kind == EventKind::vjp || kind == EventKind::call;
  }
  std::vector<protocol::BreakpointState> set_here(const protocol::SetBreakpoints& wanted);

  const Values& values_;
  const TensorTable& tensors_;
  SeriesStore& series_;
  const CellRuns& runs_;
  std::atomic<BreakpointSet*> set_{nullptr};
  std::atomic<BreakpointSet::Mask> cells_pending_{0};
  std::atomic<std::uint64_t> lines_version_{0};
  mutable std::mutex mutex_;
  /// All sets, the current one last. None is freed, because a thread may still read an older one. One per
  /// change by the user, about 50 kB, most of it the tables by op and by line.
  std::vector<std::unique_ptr<BreakpointSet>> sets_;
};

}  // namespace tapedeck
