// The profile's index of the records: lanes, sums of every few thousand records, steps. Incremental: a trace
// is read once.
//
// A span takes in the records that begin in it. Whole blocks of records in it were summed up before; those at
// its two ends are passed over again, so an answer is exact and takes a few milliseconds.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>

#include "engine/debug/profile/events.h"
#include "engine/debug/profile/lane.h"
#include "engine/debug/profile/pauses.h"
#include "engine/debug/profile/step_times.h"
#include "engine/debug/profile/sums.h"

namespace tapedeck::debug {

class ProfileIndex {
 public:
  explicit ProfileIndex(ProfileEvents& events) : events_(events), next_(1) {}

  /// Goes on until `until`, or until the records up to `newest` are there.
  void advance(std::chrono::steady_clock::time_point until, std::uint32_t newest);
  std::uint32_t indexed() const { return next_ - 1; }  ///< the newest record that was passed over

  /// Reports an update of that step: a record that was passed or is yet to be.
  void add_update(std::uint32_t step, std::uint32_t record);
  /// What came before that playback is of no step.
  void cut_steps(std::uint32_t playback);

  /// Reported in order: what lies before a record must be reported before the record is passed.
  Pauses& pauses() { return pauses_; }
  const Pauses& pauses() const { return pauses_; }

  std::int64_t first() const { return first_; }  ///< begin of the oldest record that is kept
  std::int64_t last() const { return last_; }    ///< the latest end so far, or begin of what runs

  using LaneKey = std::pair<std::uint16_t, std::uint16_t>;  ///< thread, depth
  const std::map<LaneKey, Lane>& lanes() const { return lanes_; }
  /// Records that have not ended, as boxes up to `now`.
  std::vector<std::pair<LaneKey, LaneBox>> open(std::int64_t now) const;
  LaneBox box_of(std::uint32_t record);
  std::vector<LaneBox> boxes(const LaneKey& lane, std::int64_t from, std::int64_t to, double pixel);

  /// What GPUs did of a thread's work, when they did it: its ops in their order, as far as the times are
  /// known.
  using DeviceLaneKey = std::pair<std::uint8_t, std::uint16_t>;  ///< ProfileClass::gpu, thread
  const std::map<DeviceLaneKey, Lane>& device_lanes() const { return device_lanes_; }
  LaneBox device_box_of(std::uint32_t record);  ///< count 0: not known
  std::vector<LaneBox> device_boxes(const DeviceLaneKey& lane, std::int64_t from, std::int64_t to,
                                    double pixel);

  Sums sums(std::int64_t from, std::int64_t to);
  const std::deque<StepTime>& steps() const { return steps_.all(); }

 private:
  static constexpr std::uint32_t block_size = 8192;
  struct Block {
    std::int64_t least = INT64_MAX, most = INT64_MIN;  ///< begins of its records
    Sums sums;
  };
  /// An inner record, and how much of its time records inside took.
  struct Inner {
    std::uint32_t number = 0;
    std::int64_t children = 0;
  };
  struct Parent {
    std::uint32_t number = 0, kind = 0;
  };
  struct Open {
    ProfileEvent event;
    Parent parent;
  };
  struct Thread {
    std::vector<Parent> path;         ///< the record begun last, at each depth
    std::optional<ProfileEvent> top;  ///< the last record that nothing runs around
  };

  void take(const ProfileEvent& event);
  void end(const ProfileEvent& event, const Parent& parent);
  /// Looks again at open records of a thread from that depth on: of another one beginning there they are
  /// over.
  void look_again(std::optional<std::uint16_t> thread, std::uint16_t depth);
  void add_gap(const ProfileEvent& before, const ProfileEvent* after);
  void forget();
  void look_at_late();
  Block* block_of(std::uint32_t number);
  Inner* inner_of(std::uint32_t number);
  void add_open_tails(std::int64_t from, std::int64_t to, Sums& into);
  void pass(std::uint32_t first, std::uint32_t last, std::int64_t from, std::int64_t to, Sums& into);
  void pass_gaps(std::uint32_t first, std::uint32_t last, std::int64_t from, std::int64_t to, Sums& into);
  LaneBox boxed(const ProfileEvent& event) const;

  ProfileEvents& events_;
  std::uint32_t next_;
  Pauses pauses_;
  std::int64_t first_ = 0, last_ = 0;
  std::map<LaneKey, Lane> lanes_;
  std::map<DeviceLaneKey, Lane> device_lanes_;
  std::vector<std::uint32_t>
      late_;  ///< records whose GPU has not reported yet, in the order in which they ended
  std::deque<Block> blocks_;
  std::uint32_t first_block_ = 0;
  std::deque<Inner> inner_;
  std::vector<Open> open_;
  std::map<std::uint16_t, Thread> threads_;
  StepTimes steps_;
};

/// Python after `before` on its thread: a piece up to `after`, or up to the cell's end and from a cell's
/// begin, where time between cells lies in between. `after` nullptr: nothing has followed.
struct GapPiece {
  GapKey key;
  std::int64_t length = 0;
  bool before_cell_end = false;  ///< it belongs to `before`; else to `after`
};
std::vector<GapPiece> gap_pieces(const ProfileEvent& before, const ProfileEvent* after,
                                 const ProfileClasses& classes, const Pauses& pauses);

}  // namespace tapedeck::debug
