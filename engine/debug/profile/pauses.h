// Time in which nothing ran because the program waited for its user: at the gate, or for the next cell.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace tapedeck::debug {

/// [from, to) in nanoseconds.
struct Interval {
  std::int64_t from = 0, to = 0;
  bool operator==(const Interval&) const = default;
};

/// Intervals in order, which do not overlap, and how much of any time they take.
class Intervals {
 public:
  /// One after all others; what overlaps the last one is cut off.
  void add(Interval interval);
  void set_last_end(std::int64_t to) { all_.back().to = to; }
  const std::vector<Interval>& all() const { return all_; }
  /// The first one that ends after `time`.
  std::vector<Interval>::const_iterator from(std::int64_t time) const;
  std::int64_t within(std::int64_t from, std::int64_t to) const;
  /// When that which began at `start`, and took `duration` beside the intervals, ended.
  std::int64_t end_of(std::int64_t start, std::int64_t duration) const;

 private:
  std::vector<Interval> all_;
};

struct Pauses {
  std::map<std::uint16_t, Intervals> gate;        ///< by thread
  Intervals cells;                                ///< while no cell runs, or nothing is recorded
  std::map<std::uint16_t, std::int64_t> waiting;  ///< since when threads are at the gate that are there now
  const Intervals& at_gate(std::uint16_t thread) const;
  /// How far what the thread runs has come: to `now`, or to where it waits.
  std::int64_t reached(std::uint16_t thread, std::int64_t now) const;
  /// How long the thread was at the gate in [from, to), with a wait that lasts.
  std::int64_t gate_within(std::uint16_t thread, std::int64_t from, std::int64_t to) const;
};

}  // namespace tapedeck::debug
