// Compiled breakpoints, with the ops and lines that can hit each of them, so that an op that concerns none of
// them costs two reads.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "engine/protocol/breakpoints.h"
#include "engine/protocol/conditions/condition.h"
#include "engine/protocol/conditions/log_text.h"
#include "engine/record/breakpoints/break_event.h"
#include "engine/record/trace/cell_runs.h"

namespace tapedeck {

/// The state of a breakpoint; any thread may change it.
struct BreakpointMemory {
  std::atomic<std::uint64_t> hits{0};
  std::atomic<std::uint64_t> without_op{0};   ///< runs of its line in which no op was
  std::atomic<bool> spent{false};             ///< a one-time breakpoint that has stopped
  std::atomic<std::uint64_t> series_seen{0};  ///< newest position of a curve at which it was hit
  std::array<std::atomic<std::uint64_t>, 8>
      tensors_seen{};  ///< at which it stopped, because results are passed on
};

struct CompiledBreakpoint {
  protocol::Breakpoint source;
  protocol::Condition condition;  ///< from its kind and the user's text
  std::uint64_t tensor = 0;       ///< read "#12"
  std::uint32_t forward = 0;      ///< vjp "#12"
  protocol::LogText text;         ///< of logs and points
  bool needs_end = false;         ///< can be decided only after the event has ended
  /// A line breakpoint that does not refer to an op: it stops before the line if the host reports lines.
  bool before_line = false;
  /// Of a line, and its condition or text looks at ops: it is hit by them. Where the host tells of lines, a
  /// log or point is hit by a run without an op, too, unless its condition takes one.
  bool at_ops_of_line = false;
  bool condition_takes_op = false;
  /// Shared by all sets that contain the unchanged breakpoint: an event may begin under an older set and end
  /// under a newer one.
  std::shared_ptr<BreakpointMemory> memory;
};

class BreakpointSet {
 public:
  static constexpr std::size_t most = 62;  ///< that are enabled and have no problem
  using Mask = std::uint64_t;

  /// Reports the problem of each breakpoint, in the same order. Breakpoints unchanged since `before` keep
  /// their counts; new ones consider only points of curves after `series_position`. `runs` outlives the set.
  BreakpointSet(const protocol::SetBreakpoints& wanted, const CellRuns& runs, const BreakpointSet* before,
                std::uint64_t series_position, std::vector<protocol::BreakpointState>& states);

  /// The breakpoints that an operation at this location may hit. A few nanoseconds for a known location. Of a
  /// call of a graph function, which is no op, those of its line.
  Mask candidates(EventKind kind, const OpDef* op, bool custom, bool backward, std::uint32_t location) const {
    const Mask here = of_location(location) & enabled_;
    if (kind == EventKind::call) return here & lines_;
    return here == 0 ? 0 : here & of_kind(kind, op, custom, backward);
  }
  Mask writers() const { return writers_; }
  Mask failures() const { return failures_ & enabled_; }  ///< those that stop at failures
  Mask of_cell(const std::string& cell) const;
  std::size_t size() const { return compiled_.size(); }
  CompiledBreakpoint& at(std::size_t index) const { return *compiled_[index]; }
  /// The label in Ops for records of the cell's current code: the execution that defined it.
  std::string cell_name(const std::string& cell) const;
  /// Drops cached locations: a cell runs again, and its code has a new name.
  void forget_locations();
  /// Of all breakpoints, including those without a bit in the masks.
  std::vector<protocol::BreakpointHits> hits() const;
  std::uint64_t bytes() const;  ///< without texts
  /// Lines that the host must report.
  std::vector<std::pair<std::string, std::uint32_t>> lines() const;

 private:
  static std::shared_ptr<BreakpointMemory> memory_of(const protocol::Breakpoint& breakpoint,
                                                     const BreakpointSet* before,
                                                     std::uint64_t series_position);
  void add(const protocol::Breakpoint& breakpoint, const BreakpointSet* before, std::uint64_t series_position,
           protocol::BreakpointState& state);
  Mask of_op(const OpDef* op, EventKind kind, bool custom, bool backward) const;
  Mask of_kind(EventKind kind, const OpDef* op, bool custom, bool backward) const;
  Mask of_location(std::uint32_t location) const {
    if (location < chunk_size * chunk_count)
      if (const Chunk* chunk = by_location_[location / chunk_size].load(std::memory_order_acquire))
        if (const Mask mask = (*chunk)[location % chunk_size].load(std::memory_order_relaxed)) return mask;
    return look_at_location(location);
  }
  Mask look_at_location(std::uint32_t location) const;
  Mask mask_where(const Mask among,
                  const std::function<protocol::Verdict(const protocol::Condition&)>& look) const;

  static constexpr Mask known = Mask{1} << 63;
  static constexpr std::uint32_t chunk_size = 4096;
  static constexpr std::uint32_t chunk_count = 256;
  using Chunk = std::array<std::atomic<Mask>, chunk_size>;

  std::vector<std::unique_ptr<CompiledBreakpoint>> compiled_;  ///< by their bits
  std::vector<protocol::BreakpointHits> others_;               ///< that are disabled or have a problem
  std::vector<protocol::CellLabel> labels_;
  const CellRuns& runs_;
  Mask enabled_ = 0, writers_ = 0, failures_ = 0, cells_ = 0, lines_ = 0;
  std::vector<Mask> by_op_;  ///< by op, kind and direction
  mutable std::array<std::atomic<Chunk*>, chunk_count> by_location_{};
  mutable std::vector<std::unique_ptr<Chunk>> chunks_;
  mutable std::mutex chunks_mutex_;
};

}  // namespace tapedeck
